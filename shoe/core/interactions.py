"""Table of human-object interactions, for ground truth and predictions.

Rows are triplets (human box, object box, verb, object, score), grouped by image; verbs and objects are indices into two
vocabularies. A table is validated once, when it is built from columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from shoe.core.arrays import Floats, Ints, Mask
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, flag, quote
from shoe.core.roles import RolePredictions

# Validation of columns. All functions raise InputError for the first invalid row. In its message, ``source`` is the
# file name, ``field`` the name of the column, and ``name(row)`` the name of a row.

# Larger than any image, and small enough that areas and their sums are precise.
_LARGEST = 1e9


def check_names(source: str | Path, field: str, names: Sequence[str]) -> None:
    """Raise InputError unless names are a list of distinct, valid text."""
    if isinstance(names, str):
        raise InputError(source, field=field, found=f"text ({quote(names)})", expected="a list of names")
    if not hasattr(names, "__getitem__"):  # a set has no order, and an iterator can be read only once
        raise InputError(source, field=field, found=f"a {type(names).__name__}", expected="a list of names")
    try:
        "\n".join(names).encode()
    except (TypeError, UnicodeEncodeError) as error:
        found = "a name that is no text" if isinstance(error, TypeError) else "a name that is no valid Unicode"
        raise InputError(source, field=field, found=found, expected="names") from None
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
    """Return integers from 0 to ``limit`` - 1 as a column; if ``rows`` is given, it is the required length."""
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise InputError(source, field=field, found=f"values of type {array.dtype}", expected="whole numbers")
    column = array.reshape(-1) if array.size else np.zeros(0, np.int64)
    if rows is not None and len(column) != rows:
        raise InputError(source, field=field, found=f"{len(column)} rows", expected=f"{rows}, one per triplet")
    if len(column) and (column.min() < 0 or column.max() >= limit):
        row = int(np.argmax((column < 0) | (column >= limit)))
        expected = f"0 to {limit - 1}" if limit else "none, as there is nothing to point to"
        record = name(row) if name else row
        raise InputError(source, record=record, field=field, found=f"index {column[row]}", expected=expected)
    return column


def check_numbers(source: str | Path, field: str, values: ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return numbers as an array of a shape; an empty array of any shape is accepted for 0 rows."""
    try:
        array = np.asarray(values)
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
    """Return (images, 2) widths and heights in whole pixels; 0, 0 if unknown."""
    array = check_numbers(source, "sizes", values, (images, 2))
    bad: Mask = ~((array >= 0) & (array <= _LARGEST) & (array == np.rint(array))).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        found = f"{array[row, 0]:g} x {array[row, 1]:g}"
        raise InputError(source, record=row, field="sizes", found=found, expected="width and height in pixels")
    return array.astype(np.int32)


def check_scores(source: str | Path, scores: Floats, name: Callable[[int], str]) -> None:
    """Raise InputError unless (n,) scores are finite."""
    bad = ~np.isfinite(scores)
    if bad.any():
        row = int(np.argmax(bad))
        found = str(scores[row])
        raise InputError(source, record=name(row), field="score", found=found, expected="a finite number")


def check_boxes(source: str | Path, field: str, boxes: Floats, pixels: Mask, name: Callable[[int], str]) -> None:
    """Raise InputError unless (n, 4) boxes are finite with x1 < x2 and y1 < y2.

    ``pixels`` is (n,) or (1,): whether a box consists of pixel indices, in which case x1 = x2 and y1 = y2 are valid.
    """
    x1, y1, x2, y2 = boxes.T
    wide, high = x1 < x2, y1 < y2
    if pixels.any():
        wide |= (x1 == x2) & pixels
        high |= (y1 == y2) & pixels
    # Comparisons with NaN are false, so NaN is refused, too.
    bad = ~(wide & high & (x1 >= -_LARGEST) & (y1 >= -_LARGEST) & (x2 <= _LARGEST) & (y2 <= _LARGEST))
    if bad.any():
        row = int(np.argmax(bad))
        numbers = ", ".join(f"{x:g}" for x in boxes[row])
        raise InputError(
            source,
            record=name(row),
            field=field,
            found=f"[{numbers}]",
            expected="finite x1, y1, x2, y2 with x1 < x2 and y1 < y2",
            hint=f"another box convention? name it with {flag('boxes')}" if np.isfinite(boxes[row]).all() else None,
        )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Interactions:
    """Table of n triplets on m images, grouped by image in the order of ``images``.

    Attributes:
        images: m distinct image names, in file order; images without triplets are included.
        sizes: (m, 2) int32 width and height in pixels; 0, 0 if unknown.
        coordinates: (m,) uint8 ``Coordinates`` of the image's boxes.
        offsets: (m + 1,) int64; the triplets of image i are rows offsets[i] to offsets[i + 1].
        human_boxes, object_boxes: (n, 4) float64 x1, y1, x2, y2 as in the file.
        verb, object: (n,) int32 indices into ``verbs`` and ``objects``.
        score: (n,) float64 confidence; 1 for ground truth and for predictions without scores.
        verbs, objects: vocabularies: words as in the file or its class list.
        roles: predictions by person if the file has them; always of all images of the file, also after a selection.
        notes: notes of the file reader, for reports; not compared by :meth:`equals`.
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

    def __repr__(self) -> str:
        words = f"{len(self.verbs):,} verbs, {len(self.objects):,} objects"
        return f"<Interactions: {len(self):,} triplets on {len(self.images):,} images, {words}>"

    def __len__(self) -> int:
        return len(self.verb)

    @property
    def image(self) -> Ints:
        """(n,) index of each triplet's image, ascending."""
        return np.repeat(np.arange(len(self.images), dtype=np.int32), np.diff(self.offsets))

    @property
    def triplet_coordinates(self) -> NDArray[np.uint8]:
        """(n,) ``Coordinates`` of each triplet; (1,) if they are the same for all images."""
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
        source: str | Path = "interactions",
    ) -> Interactions:
        """Return a validated table of columns in any row order; rows of the same image stay in order.

        Arrays that already have the types and the order of the table are not copied: later changes of such an array
        change the table. :meth:`shoe.Metric.update` copies.

        >>> table = Interactions.from_columns(
        ...     images=["a.jpg"], image=[0], human_boxes=[[0, 0, 9, 20]], object_boxes=[[3, 5, 30, 40]],
        ...     verb=[0], object=[0], verbs=["riding"], objects=["horse"], score=[0.9],
        ... )
        >>> len(table), table.offsets.tolist()
        (1, [0, 1])

        Args:
            image: (n,) index of each row's image.
            human_boxes: (n, 4) finite numbers with x1 < x2 and y1 < y2 (<= if coordinates are pixel indices).
            object_boxes: as ``human_boxes``.
            verb: (n,) indices into ``verbs``.
            object: (n,) indices into ``objects``.
            verbs: vocabulary of verbs.
            objects: vocabulary of objects.
            score: (n,) finite numbers; 1 if absent.
            sizes: (m, 2) width and height; unknown if absent.
            coordinates: one kind for all images, or (m,) kinds.
            source: file name for error messages.

        Raises:
            InputError: for the first invalid row.
        """
        for field, names in (("images", images), ("verbs", verbs), ("objects", objects)):
            check_names(source, field, names)
        m = len(images)
        image_of = check_integers(source, "image", image, m).astype(np.int64, copy=False)
        n = len(image_of)

        def name(row: int) -> str:
            return f"record {row} ({quote(images[image_of[row]])})"

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
        )
        pixels = kinds != Coordinates.CONTINUOUS
        in_pixels = pixels[image_of] if len(kinds) == m and pixels.any() else pixels[:1]
        check_boxes(source, "human box", table.human_boxes, in_pixels, name)
        check_boxes(source, "object box", table.object_boxes, in_pixels, name)
        check_scores(source, table.score, name)
        return table if grouped else table._reordered(np.argsort(image_of, kind="stable"))

    def _reordered(self, order: NDArray[np.integer]) -> Interactions:
        fields = ("human_boxes", "object_boxes", "verb", "object", "score")
        return replace(self, **{name: getattr(self, name)[order] for name in fields})

    def select(self, rows: NDArray[np.bool_] | NDArray[np.integer]) -> Interactions:
        """Return the table of some triplets (a mask, or ascending row indices) with all images."""
        chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64, copy=False)
        return replace(self._reordered(chosen), offsets=np.searchsorted(chosen, self.offsets))

    def select_images(self, keep: NDArray[np.bool_] | NDArray[np.integer]) -> Interactions:
        """Return the table of some images (a mask, or ascending indices) and their triplets."""
        chosen = np.flatnonzero(keep) if keep.dtype == np.bool_ else keep
        mask = np.zeros(len(self.images), bool)
        mask[chosen] = True
        table = self.select(np.repeat(mask, np.diff(self.offsets)))
        counts = np.diff(table.offsets)[chosen]
        return replace(
            table,
            images=tuple(self.images[i] for i in chosen),
            sizes=self.sizes[chosen],
            coordinates=self.coordinates[chosen],
            offsets=np.concatenate([[0], np.cumsum(counts)]),
        )

    def equals(self, other: Interactions) -> bool:
        """Return whether two tables are equal to the bit, apart from ``notes`` and ``roles``."""
        fields = self.__dataclass_fields__.keys() - {"notes", "roles"}
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
            for a, b in ((getattr(self, name), getattr(other, name)) for name in fields)
        )


def concatenate(parts: Sequence[Interactions]) -> Interactions:
    """Return one table of several: images and words in order of first appearance, rows of an image in order of parts.

    Notes are merged; the same notes of several parts are included once.

    Raises:
        InputError: if two parts have different sizes or coordinates for the same image, or if only some of the parts
            with triplets have predictions by person.
    """
    images, verbs, objects = (
        {name: i for i, name in enumerate(dict.fromkeys(name for part in parts for name in getattr(part, field)))}
        for field in ("images", "verbs", "objects")
    )
    sizes = np.zeros((len(images), 2), np.int32)
    coordinates = np.full(len(images), -1)
    for part in parts:
        at = _renumbered(part.images, images)
        known = sizes[at].any(axis=1) & part.sizes.any(axis=1)
        differs = known & (sizes[at] != part.sizes).any(axis=1)
        differs |= (coordinates[at] >= 0) & (coordinates[at] != part.coordinates)
        if differs.any():
            name, found = part.images[int(np.argmax(differs))], "two sizes or kinds of coordinates"
            raise InputError("concatenate", record=quote(name), found=found, expected="one for an image")
        sizes[at] = np.maximum(sizes[at], part.sizes)
        coordinates[at] = part.coordinates

    def joined(arrays: list[NDArray[np.generic]]) -> ArrayLike:
        return np.concatenate(arrays) if arrays else []

    notes = list({id(part.notes): part.notes for part in parts if part.notes is not None}.values())
    table = Interactions.from_columns(
        images=list(images),
        image=joined([_renumbered(part.images, images)[part.image] for part in parts]),
        human_boxes=joined([part.human_boxes for part in parts]),
        object_boxes=joined([part.object_boxes for part in parts]),
        verb=joined([_renumbered(part.verbs, verbs)[part.verb] for part in parts]),
        object=joined([_renumbered(part.objects, objects)[part.object] for part in parts]),
        score=joined([part.score for part in parts]),
        sizes=sizes,
        coordinates=coordinates,
        verbs=list(verbs),
        objects=list(objects),
        source="concatenate",
    )
    by_person = [part.roles for part in parts if part.roles is not None]
    if by_person and any(part.roles is None and len(part) for part in parts):
        found = "tables that say something by person, and others"
        raise InputError("concatenate", found=found, expected="all of one kind")
    if by_person:
        table = replace(table, roles=RolePredictions.joined(by_person))
    return replace(table, notes=notes[0].joined(notes[1:])) if notes else table


def _renumbered(names: Sequence[str], index: dict[str, int]) -> Ints:
    return np.array([index[name] for name in names], np.int32)


def image_index(names: Sequence[str], known: Sequence[str]) -> Ints:
    """Return the (n,) index of each name in distinct ``known`` names; -1 if there is no match or several.

    Names match if they are equal, else without folder and extension, else also regardless of case.

    >>> image_index(["images/a.png", "B.JPEG"], ["a.jpg", "b.jpg"]).tolist()
    [0, 1]
    """
    exact = {name: i for i, name in enumerate(known)}
    if all(name in exact for name in names):
        return np.array([exact[name] for name in names], np.int32)
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
