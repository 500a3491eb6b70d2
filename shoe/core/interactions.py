"""Table of human-object interactions (ground truth or predictions), and the columns from which readers build it.

Rows are triplets (human box, object box, verb, object, score), grouped by image. Verbs and objects are stored as
indices into two vocabularies. A table is validated once, when it is built from columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field as dataclass_field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoe.core.arrays import Floats, Indices, Ints, Mask, first_true, mask_of
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, OptionError, pluralize, quote, unknown_name
from shoe.core.roles import RolePredictions, RoleTruth

# Validation of columns. All functions raise InputError for the first invalid row. In its message, ``source`` is the
# file name, ``field`` the name of the column, and ``name(row)`` the name of a row.

_LARGEST = 1e9  # larger than any image, and small enough that areas and their sums are precise


def plain_array(values: Any, source: str | Path = "array", field: str | None = None) -> Any:
    """Return a torch tensor in a form that NumPy reads (CPU, no graph, no bfloat16); other values are unchanged.

    Raises InputError, with ``source`` and ``field`` in the message, for a NumPy masked array with masked values.
    """
    if np.ma.is_masked(values):
        found, hint = pluralize(int(np.ma.getmaskarray(values).sum()), "masked value"), "leave masked rows out"
        raise InputError(source, field=field, found=found, expected="values without a mask", hint=hint)
    if not all(hasattr(values, name) for name in ("detach", "cpu", "float")):
        return values
    values = values.detach().cpu()
    return values.float() if str(values.dtype).endswith("bfloat16") else values


def check_names(source: str | Path, field: str, names: Sequence[str]) -> None:
    """Raise InputError unless ``names`` is a list (or other sequence) of distinct texts that are valid Unicode."""
    if isinstance(names, str):
        raise InputError(source, field=field, found=f"text ({quote(names)})", expected="a list of names")
    if not hasattr(names, "__getitem__"):  # a set has no order, and an iterator can be read only once
        raise InputError(source, field=field, found=f"a {type(names).__name__}", expected="a list of names")
    try:
        "\n".join(names).encode()
    except (TypeError, UnicodeEncodeError) as error:
        found = "a name that is not text" if isinstance(error, TypeError) else "a name that is not valid Unicode"
        raise InputError(source, field=field, found=found, expected="names as text") from None
    if len(set(names)) != len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise InputError(source, field=field, found=f"{quote(twice)} twice", expected="distinct names")


def check_integers(
    source: str | Path,
    field: str,
    values: ArrayLike,
    limit: int,
    rows: int | None = None,
    name: Callable[[int], str] | None = None,
) -> NDArray[np.integer]:
    """Return ``values`` as a one-dimensional integer array; InputError unless all are 0 to ``limit`` - 1.

    If ``rows`` is given, the array must have this length. The callback ``name`` returns a row's name for the message.
    """
    array = np.asarray(plain_array(values, source, field))
    if array.size and array.dtype.kind not in "iu":
        raise InputError(source, field=field, found=f"values of type {array.dtype}", expected="whole numbers")
    column = array.reshape(-1) if array.size else np.zeros(0, np.int64)
    if rows is not None and len(column) != rows:
        raise InputError(source, field=field, found=f"{len(column)} rows", expected=f"{rows}, one per triplet")
    if (row := first_true((column < 0) | (column >= limit))) is not None:
        expected = f"0 to {limit - 1}" if limit else "no indices, because the list they refer to is empty"
        record = name(row) if name else row
        raise InputError(source, record=record, field=field, found=f"index {column[row]}", expected=expected)
    return column


def check_numbers(source: str | Path, field: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return numbers, NaN included, as a float64 array; InputError unless they have the shape, or are no rows."""
    try:
        array = np.asarray(plain_array(values, source, field))
    except ValueError:
        raise InputError(source, field=field, found="rows of different lengths", expected=f"shape {shape}") from None
    if array.size and array.dtype.kind not in "iuf":
        raise InputError(source, field=field, found=f"values of type {array.dtype}", expected="numbers")
    if array.size == 0 and shape[0] == 0:
        return np.zeros(shape)
    if array.shape != shape:
        raise InputError(source, field=field, found=f"shape {array.shape}", expected=f"shape {shape}")
    return array.astype(np.float64, copy=False)


def check_sizes(source: str | Path, values: ArrayLike, images: int) -> Ints:
    """Return (images, 2) widths and heights as int32; InputError unless all are whole numbers 0 (unknown) to 1e9."""
    array = check_numbers(source, "sizes", values, (images, 2))
    valid = (array >= 0) & (array <= _LARGEST) & (array == np.rint(array))
    if (row := first_true(~valid.all(axis=1))) is not None:
        found = f"{array[row, 0]:g} x {array[row, 1]:g}"
        raise InputError(source, record=row, field="sizes", found=found, expected="width and height in whole pixels")
    return array.astype(np.int32)


def check_scores(source: str | Path, scores: Floats, name: Callable[[int], str]) -> None:
    """Raise InputError unless (n,) scores are finite; the callback ``name`` returns a row's name for the message."""
    if (row := first_true(~np.isfinite(scores))) is not None:
        raise InputError(source, record=name(row), field="score", found=str(scores[row]), expected="a finite number")


BAD_BOXES = ("refuse", "drop", "count")  # raise an error, leave bad predictions out, or keep them
FAR = -float(1 << 20)  # no image reaches it; single precision stores the 2**23 integers below it exactly


def check_bad_boxes(name: str) -> None:
    """Raise OptionError unless ``name`` is "refuse", "drop" or "count", a rule for predictions with bad boxes."""
    if name not in BAD_BOXES:
        raise unknown_name("rule for bad boxes", name, BAD_BOXES)


def apply_bad_boxes(
    rule: str, human: Floats, target: Floats, no_score: Mask, pixels: Mask
) -> tuple[int, Mask, Floats, Floats]:
    """Apply the rule "drop" (leave out) or "count" (keep) to bad predictions, which have an invalid box or score.

    ``no_score`` is the (n,) mask of invalid scores, ``pixels`` the (n,) or (1,) mask of boxes in pixel indices. Return
    the number of bad predictions, the (n,) mask of predictions to keep, and the (n, 4) human and object boxes. With
    "count", invalid boxes are replaced by boxes that overlap no other box, so that the prediction matches nothing.
    """
    invalid = ~(valid_boxes(human, pixels) & valid_boxes(target, pixels))
    bad = invalid | no_score
    if rule == "count" and invalid.any():
        left = FAR - 2 * np.arange(int(invalid.sum()))[:, None]
        human, target = human.copy(), target.copy()
        human[invalid] = target[invalid] = left + np.array([-1, 0, 0, 1])
    return int(bad.sum()), ~bad if rule == "drop" else np.ones(len(bad), bool), human, target


def valid_boxes(boxes: Floats, pixels: Mask) -> Mask:
    """Return the (n,) mask of boxes with x1 < x2 and y1 < y2 (<= if marked in ``pixels``), within -1e9 to 1e9."""
    x1, y1, x2, y2 = boxes.T
    wide, high = x1 < x2, y1 < y2
    if pixels.any():
        wide |= (x1 == x2) & pixels
        high |= (y1 == y2) & pixels
    # Comparisons with NaN are false, so NaN is invalid, too.
    return np.asarray(wide & high & (x1 >= -_LARGEST) & (y1 >= -_LARGEST) & (x2 <= _LARGEST) & (y2 <= _LARGEST))


def check_boxes(source: str | Path, field: str, boxes: Floats, pixels: Mask, name: Callable[[int], str]) -> None:
    """Raise InputError unless (n, 4) boxes are within -1e9..1e9 with x1 < x2 and y1 < y2.

    ``pixels`` is the (n,) or (1,) mask of boxes in pixel indices, for which x1 = x2 and y1 = y2 are also valid. The
    callback ``name`` returns the name of a row for the message.
    """
    if (row := first_true(~valid_boxes(boxes, pixels))) is not None:
        found, expected = ", ".join(f"{x:g}" for x in boxes[row]), "finite x1, y1, x2, y2 with x1 < x2 and y1 < y2"
        hint = "if the numbers have another meaning, such as x, y, width and height, convert them first"
        more = {"hint": hint} if np.isfinite(boxes[row]).all() else {}
        raise InputError(source, record=name(row), field=field, found=f"[{found}]", expected=expected, **more)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Interactions:
    """Table of n triplets on m images, grouped by image in the order of ``images``.

    Attributes:
        images: m distinct image names, in file order; images without triplets are included.
        sizes: (m, 2) int32 width and height in pixels; 0, 0 if unknown.
        coordinates: (m,) uint8 ``Coordinates`` of the image's boxes.
        offsets: (m + 1,) int64; the triplets of image i are rows offsets[i] to offsets[i + 1] - 1.
        human_boxes, object_boxes: (n, 4) float64 x1, y1, x2, y2 as in the file.
        verb, object: (n,) int32 indices into ``verbs`` and ``objects``.
        score: (n,) float64 confidence; 1 for ground truth and for predictions without scores.
        verbs, objects: vocabularies: words as in the file or its class list.
        roles: predictions per person if the file contains them, else None; :meth:`select_images` does not change them.
        notes: notes of the file reader, for reports; not compared by :meth:`equals`.
        bad: {rule: number of predictions with an invalid box or score}, with the rule "drop" or "count" that was
            applied; {} if there was no such rule. Not compared by :meth:`equals`.
        unscored: number of triplets without a score, if the table was made without scores or joined from such tables;
            :meth:`select` does not change it. Not compared by :meth:`equals`.
    """

    images: tuple[str, ...]
    sizes: Ints
    coordinates: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    human_boxes: Floats
    object_boxes: Floats
    verb: Ints
    object: Ints
    score: Floats
    verbs: tuple[str, ...]
    objects: tuple[str, ...]
    notes: Any = None
    roles: RolePredictions | None = None
    bad: dict[str, int] = dataclass_field(default_factory=dict)
    unscored: int = 0

    def __repr__(self) -> str:
        words = f"{len(self.verbs):,} verbs, {len(self.objects):,} objects"
        return f"<Interactions: {len(self):,} triplets on {len(self.images):,} images, {words}>"

    def __len__(self) -> int:
        return len(self.verb)

    @property
    def by_person(self) -> RolePredictions | None:
        """Predictions per person (``roles``) if the table has no triplets; None if it has triplets."""
        return None if len(self) else self.roles

    @property
    def image(self) -> Ints:
        """(n,) index of each triplet's image, ascending."""
        return np.repeat(np.arange(len(self.images), dtype=np.int32), np.diff(self.offsets))

    @property
    def triplet_coordinates(self) -> NDArray[np.uint8]:
        """(n,) ``Coordinates`` of each triplet's boxes; only (1,) if all images have the same."""
        if len(self.coordinates) and (self.coordinates == self.coordinates[0]).all():
            return self.coordinates[:1]
        return self.coordinates[self.image]

    @classmethod
    def from_columns(
        cls,
        *,
        images: Sequence[str],
        image: ArrayLike,
        human_boxes: ArrayLike,
        object_boxes: ArrayLike,
        verb: ArrayLike,
        object: ArrayLike,  # noqa: A002 - the field's word
        verbs: Sequence[str],
        objects: Sequence[str],
        score: ArrayLike | None = None,
        sizes: ArrayLike | None = None,
        coordinates: Coordinates | ArrayLike = Coordinates.CONTINUOUS,
        bad_boxes: str = "refuse",
        source: str | Path = "interactions",
    ) -> Interactions:
        """Return a validated table from columns with rows in any order; rows of the same image keep their order.

        Arrays that already have the types and the order of the table are not copied: later changes of such an array
        change the table. :meth:`shoe.Metric.update` copies.

        >>> table = Interactions.from_columns(
        ...     images=["a.jpg"], image=[0], human_boxes=[[0, 0, 9, 20]], object_boxes=[[3, 5, 30, 40]],
        ...     verb=[0], object=[0], verbs=["riding"], objects=["horse"], score=[0.9],
        ... )
        >>> len(table), table.offsets.tolist()
        (1, [0, 1])

        Args:
            images: m distinct image names.
            image: (n,) index of each row's image in ``images``.
            human_boxes, object_boxes: (n, 4) finite x1, y1, x2, y2 with x1 < x2 and y1 < y2 (<= for pixel indices).
            verb, object: (n,) indices into ``verbs`` and ``objects``.
            verbs, objects: vocabularies of distinct words.
            score: (n,) finite confidences; 1 if None.
            sizes: (m, 2) width and height in pixels; unknown if None.
            coordinates: :class:`Coordinates` of all images, or (m,) ``Coordinates`` of each image.
            bad_boxes: what to do with predictions that have an invalid box or a score that is not finite: "refuse"
                raises an error, "drop" leaves them out, "count" keeps them. Under "count", a prediction with an
                invalid box matches nothing, and a prediction with an invalid score ranks last.
            source: file name for error messages.

        Raises:
            InputError: for the first invalid row.
            OptionError: for an unknown value of ``bad_boxes``.
        """
        check_bad_boxes(bad_boxes)
        for field, names in (("images", images), ("verbs", verbs), ("objects", objects)):
            check_names(source, field, names)
        m = len(images)
        image_of = check_integers(source, "image", image, m).astype(np.int64, copy=False)
        n = len(image_of)

        def name(row: int) -> str:
            return f"record {row + 1} ({quote(images[image_of[row]])})"

        kinds = check_integers(source, "coordinates", coordinates, len(Coordinates)).astype(np.uint8, copy=False)
        if len(kinds) not in (1, m):
            raise InputError(source, field="coordinates", found=f"{len(kinds)} values", expected=f"{m}, one per image")
        grouped = not (image_of[1:] < image_of[:-1]).any()
        table = cls(
            images=tuple(images),
            sizes=np.zeros((m, 2), np.int32) if sizes is None else check_sizes(source, sizes, m),
            coordinates=np.broadcast_to(kinds, (m,)).copy(),
            offsets=np.searchsorted(image_of if grouped else np.sort(image_of), np.arange(m + 1)),
            human_boxes=check_numbers(source, "human_boxes", human_boxes, (n, 4)),
            object_boxes=check_numbers(source, "object_boxes", object_boxes, (n, 4)),
            verb=check_integers(source, "verb", verb, len(verbs), n, name).astype(np.int32, copy=False),
            object=check_integers(source, "object", object, len(objects), n, name).astype(np.int32, copy=False),
            score=np.ones(n) if score is None else check_numbers(source, "score", score, (n,)),
            verbs=tuple(verbs),
            objects=tuple(objects),
            unscored=n if score is None else 0,
        )
        pixels = kinds != Coordinates.CONTINUOUS
        in_pixels = pixels[image_of] if len(kinds) == m and pixels.any() else pixels[:1]
        if bad_boxes != "refuse":
            return table._without_bad(bad_boxes, image_of, in_pixels)
        check_boxes(source, "human box", table.human_boxes, in_pixels, name)
        check_boxes(source, "object box", table.object_boxes, in_pixels, name)
        check_scores(source, table.score, name)
        return table if grouped else table._reordered(np.argsort(image_of, kind="stable"))

    def _without_bad(self, rule: str, image: NDArray[np.int64], pixels: Mask) -> Interactions:
        """Group the rows by image and apply the rule "drop" or "count"; ``image``, ``pixels``: a value per row."""
        invalid = ~np.isfinite(self.score)
        count, keep, human, target = apply_bad_boxes(rule, self.human_boxes, self.object_boxes, invalid, pixels)
        # Semantic scores need scores in 0..1. Among negative scores such as logits, 0 would not be the last.
        last = np.finfo(np.float32).min if (self.score[~invalid] < 0).any() else 0.0
        score, order = np.where(invalid, last, self.score), np.argsort(image, kind="stable")
        table = replace(self, human_boxes=human, object_boxes=target, score=score, bad={rule: count})
        return table._reordered(order).select(keep[order])

    def _reordered(self, order: NDArray[np.integer]) -> Interactions:
        fields = ("human_boxes", "object_boxes", "verb", "object", "score")
        return replace(self, **{name: getattr(self, name).take(order, axis=0) for name in fields})

    def select(self, rows: ArrayLike) -> Interactions:
        """Return the table with only the triplets ``rows`` (a mask, or ascending row indices) and with all images.

        Raises OptionError for a mask of another length, and for indices out of range or not in ascending order.
        """
        chosen = _checked_indices("select", rows, len(self))
        return replace(self._reordered(chosen), offsets=np.searchsorted(chosen, self.offsets))

    def select_images(self, keep: ArrayLike) -> Interactions:
        """Return the table with only the images ``keep`` (a mask, or ascending image indices) and their triplets.

        Raises OptionError as :meth:`select` does, and for an image that occurs twice.
        """
        chosen = _checked_indices("select_images", keep, len(self.images), step=1)
        table = self.select(np.repeat(mask_of(chosen, len(self.images)), np.diff(self.offsets)))
        return replace(
            table,
            images=tuple(self.images[i] for i in chosen),
            sizes=self.sizes[chosen],
            coordinates=self.coordinates[chosen],
            offsets=np.concatenate([[0], np.cumsum(np.diff(table.offsets)[chosen])]),
        )

    def equals(self, other: Interactions) -> bool:
        """Return whether two tables are exactly equal; ``notes``, ``roles``, ``bad``, ``unscored`` are not compared."""
        fields = self.__dataclass_fields__.keys() - {"notes", "roles", "bad", "unscored"}
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
            for a, b in ((getattr(self, name), getattr(other, name)) for name in fields)
        )


def _checked_indices(source: str, rows: ArrayLike, number: int, step: int = 0) -> Indices:
    """Return the indices of a mask of ``number`` values, or indices that each rise by at least ``step``."""
    array = np.asarray(plain_array(rows, source))
    if array.shape == (number,) and array.dtype == np.bool_:
        return np.flatnonzero(array)
    found = f"{array.dtype} values of shape {array.shape}"
    if array.ndim == 1 and (array.dtype.kind in "iu" or not len(array)):
        chosen = array.astype(np.int64, copy=False)
        if not len(array) or (chosen[0] >= 0 and chosen[-1] < number and (np.diff(chosen) >= step).all()):
            return chosen
        found = "indices that are repeated, out of range or in another order"
    expected = f"a mask of {number:,} values, or ascending indices from 0 to {number - 1:,}, as numpy.sort returns them"
    raise OptionError(f"{source}: found {found}, expected {expected}")


def concatenate(parts: Sequence[Interactions]) -> Interactions:
    """Return one table with the triplets of all ``parts``.

    Images and words are in the order of first appearance, the triplets of an image in the order of the parts. Notes are
    merged. If some parts have scores, the triplets of parts without scores rank below all others.

    Raises:
        InputError: if two parts have different sizes or coordinates for the same image, or if only some of the parts
            with triplets have predictions per person.
    """
    images, verbs, objects = (
        {name: i for i, name in enumerate(dict.fromkeys(name for part in parts for name in getattr(part, field)))}
        for field in ("images", "verbs", "objects")
    )
    sizes = np.zeros((len(images), 2), np.int32)
    coordinates = np.full(len(images), -1)
    for part in parts:
        at = _renumbered(part.images, images)
        differs = sizes[at].any(axis=1) & part.sizes.any(axis=1) & (sizes[at] != part.sizes).any(axis=1)
        differs |= (coordinates[at] >= 0) & (coordinates[at] != part.coordinates)
        if (i := first_true(differs)) is not None:
            name, found = quote(part.images[i]), "two different sizes or box coordinates"
            raise InputError("concatenate", record=name, found=found, expected="the same values in all tables")
        sizes[at] = np.maximum(sizes[at], part.sizes)
        coordinates[at] = part.coordinates

    def joined(arrays: list[NDArray[np.generic]]) -> ArrayLike:
        return np.concatenate(arrays) if arrays else []

    unscored = [part.unscored > 0 and bool((part.score == 1).all()) for part in parts]
    lowest = min((p.score.min(initial=np.inf) for p, no in zip(parts, unscored, strict=True) if not no), default=np.inf)
    below = lowest - abs(lowest) / 2 or np.nextafter(0, -1) if any(unscored) and np.isfinite(lowest) else 1.0
    scores = [np.full(len(p), below) if no else p.score for p, no in zip(parts, unscored, strict=True)]
    notes = list({id(part.notes): part.notes for part in parts if part.notes is not None}.values())
    table = Interactions.from_columns(
        images=list(images),
        image=joined([_renumbered(part.images, images)[part.image] for part in parts]),
        human_boxes=joined([part.human_boxes for part in parts]),
        object_boxes=joined([part.object_boxes for part in parts]),
        verb=joined([_renumbered(part.verbs, verbs)[part.verb] for part in parts]),
        object=joined([_renumbered(part.objects, objects)[part.object] for part in parts]),
        score=joined(scores),
        sizes=sizes,
        coordinates=coordinates,
        verbs=list(verbs),
        objects=list(objects),
        source="concatenate",
    )
    table = replace(table, unscored=sum(len(part) for part, no in zip(parts, unscored, strict=True) if no))
    for rule in {rule for part in parts for rule in part.bad}:
        table.bad[rule] = sum(part.bad.get(rule, 0) for part in parts)
    by_person = [part.roles for part in parts if part.roles is not None]
    if by_person and any(part.roles is None and len(part) for part in parts):
        found = "tables with and without predictions per person"
        raise InputError("concatenate", found=found, expected="predictions per person in all tables or in no table")
    if by_person:
        table = replace(table, roles=RolePredictions.concatenate(by_person))
    return replace(table, notes=notes[0].merge(notes[1:])) if notes else table


def _renumbered(names: Sequence[str], index: dict[str, int]) -> Ints:
    return np.array([index[name] for name in names], np.int32)


def image_index(names: Sequence[str], known: Sequence[str]) -> Ints:
    """Return the (n,) index in ``known`` of each image name; -1 if no known name matches, or several match.

    Three comparisons are tried in order: of whole names, without folder and extension, and then also ignoring case.

    >>> image_index(["images/a.png", "B.JPEG"], ["a.jpg", "b.jpg"]).tolist()
    [0, 1]
    """
    exact = dict(zip(known, range(len(known)), strict=True))
    if None not in (found := list(map(exact.get, names))):
        return np.array(found, np.int32)
    stems = [_stem(name) for name in known]
    by_stem = _index_of_unique(stems)
    by_folded = _index_of_unique([stem.casefold() for stem in stems])
    index = [exact.get(name, by_stem.get(stem := _stem(name), by_folded.get(stem.casefold(), -1))) for name in names]
    return np.array(index, np.int32)


def _index_of_unique(names: Sequence[str]) -> dict[str, int]:
    times = Counter(names)
    return {name: i for i, name in enumerate(names) if times[name] == 1}


def _stem(name: str) -> str:
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] if "." in base[1:] else base


_COLUMNS = (
    *("images", "image", "human_boxes", "object_boxes", "verbs", "objects", "verb", "object"),
    *("score", "sizes", "coordinates"),
)
"""Fields that :class:`Rows` and :class:`Interactions` share."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The n triplets of a file with m images, as columns in file order, not validated yet."""

    images: Sequence[str]
    image: Indices  # (n,) index into ``images``
    # human_boxes, object_boxes: (n, 4) box coordinates as in the file, in any box convention.
    human_boxes: Floats
    object_boxes: Floats
    # verbs, objects: vocabularies of words; if the file has class IDs, the names of the classes.
    verbs: Sequence[str]
    objects: Sequence[str]
    verb: Indices
    object: Indices
    score: Floats | None = None  # (n,) confidence, NaN if missing; None if the file has no scores
    sizes: Floats | None = None  # (m, 2) width and height of the images in pixels; None if unknown
    # (m,) ``Coordinates`` of each image, or one value for all images.
    coordinates: NDArray[np.uint8] | Coordinates = Coordinates.CONTINUOUS
    # (n,) mask of triplets from text that a model wrote, whose boxes may have no area; None if there are none.
    loose: Mask | None = None
    # Callback that returns the name of a triplet's record for messages, given its row index.
    place: Callable[[int], str] | None = None
    left_out: tuple[str, ...] = ()  # names of images that could not be used
    numbers: Indices | None = None  # (m,) IDs by which prediction files refer to images; None if they use names
    # Names of the box conventions (values of ``--boxes``) that the file states; empty if it states none, so that
    # the convention of the format holds.
    conventions: Sequence[str] = ()
    convention: Indices | None = None  # (n,) index into ``conventions`` of each triplet
    # Indices into ``conventions`` that ``--boxes`` does not replace, such as that of location tokens.
    fixed: Collection[int] = ()
    annotated: RoleTruth | None = None  # ground truth per person for the same images, or None
    detected: RolePredictions | None = None  # predictions per person, or None

    @classmethod
    def from_table(cls, table: Interactions) -> Self:
        """Return the columns of a table; other fields, also the predictions per person, have their default values."""
        return cls(**{name: getattr(table, name) for name in _COLUMNS})

    def table(self, source: str | Path) -> Interactions:
        """Return the columns as a validated table; InputError for invalid rows. Boxes must be x1, y1, x2, y2."""
        table = Interactions.from_columns(**{name: getattr(self, name) for name in _COLUMNS}, source=source)
        return table if self.detected is None else replace(table, roles=self.detected)
