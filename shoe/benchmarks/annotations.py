"""What an annotation file says, in its own words, and how that becomes a table in the words of a class list.

Every form of ground truth is read into :class:`Annotations`; what holds for all of them is checked once, here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.checks import triplet_name
from shoe.benchmarks.classes import HoiClasses
from shoe.core.arrays import Indices
from shoe.core.errors import InputError, near, quote
from shoe.core.interactions import Interactions


@dataclass(frozen=True, slots=True)
class Annotations:
    """The triplets of one file, in file order; n triplets, m images.

    Attributes:
        form: the kind of file, in words.
        images: m names.
        image: (n,) index into ``images``, ascending.
        human_boxes, object_boxes: (n, 4) numbers as the file has them.
        verbs, objects: the words that the file means by its numbers.
        verb, object: (n,) indices into ``verbs`` and ``objects``.
        coordinates: (m,) ``Coordinates`` of each image.
        sizes: (m, 2) width and height, if the file says.
        left_out: names of images that could not be used.
    """

    form: str
    images: Sequence[str]
    image: Indices
    human_boxes: NDArray[np.float64]
    object_boxes: NDArray[np.float64]
    verbs: Sequence[str]
    objects: Sequence[str]
    verb: Indices
    object: Indices
    coordinates: NDArray[np.uint8]
    sizes: Indices | None = None
    left_out: tuple[str, ...] = ()


def in_words_of(classes: HoiClasses, annotations: Annotations, path: str | Path) -> Interactions:
    """Turn what a file says into a valid table whose vocabularies are those of a class list.

    Raises:
        InputError: for a word, or a pair of words, that is no class of the dataset, and for what
            :meth:`Interactions.from_columns` refuses.
    """
    a = annotations
    verb = _renumbered("verb", a.verb, a.verbs, classes.verbs, a, path)
    object_ = _renumbered("object", a.object, a.objects, classes.objects, a, path)
    foreign = classes.of[verb, object_] < 0
    if foreign.any():
        row = int(np.argmax(foreign))
        found = f"{quote(classes.verbs[verb[row]])} with {quote(classes.objects[object_[row]])}"
        expected = f"one of the {len(classes)} classes of {classes.name}"
        raise InputError(path, record=triplet_name((a.images, a.image), row), found=found, expected=expected)
    return Interactions.from_columns(
        images=a.images,
        image=a.image,
        human_boxes=a.human_boxes,
        object_boxes=a.object_boxes,
        verb=verb,
        object=object_,
        verbs=classes.verbs,
        objects=classes.objects,
        sizes=a.sizes,
        coordinates=a.coordinates,
        source=path,
    )


def _renumbered(
    part: str, index: Indices, words: Sequence[str], known: Sequence[str], a: Annotations, path: str | Path
) -> Indices:
    """Move indices from the file's words to the class list's; only words that occur have to be known."""
    if tuple(words) == tuple(known):
        return index
    position = {word: i for i, word in enumerate(known)}
    table = np.array([position.get(word, -1) for word in words], np.int64)
    moved = table[index] if len(index) else index
    bad = moved < 0
    if bad.any():
        row = int(np.argmax(bad))
        word = words[index[row]]
        alike = near(word, known)
        raise InputError(
            path,
            record=triplet_name((a.images, a.image), row),
            field=part,
            found=quote(word),
            expected=f"one of the dataset's {len(known)} {part}s",
            hint=f"did you mean {alike[0]}?" if alike else None,
        )
    return moved
