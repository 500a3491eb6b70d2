"""The one table of the project: human-object interactions as columns.

Ground truth and predictions are the same type. Rows are triplets (human box, object box, verb, object, score), grouped
by image; words are interned into two vocabularies. Everything downstream indexes arrays; nothing holds a triplet as a
Python object. Validation happens once, where a table is built from columns; code inside trusts what it is given.
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

# The rules that the columns of a table obey, each broken one answered with one clear line.
#
# Arguments of all functions: ``source`` is the file's name and ``field`` the column's, for messages, and ``name`` names
# a
# row in them. All raise an ``InputError`` for the first row that breaks a rule.

# Beyond any picture, and small enough that areas and their sums keep the digits that matter.
_LARGEST = 1e9


def check_names(source: str | Path, field: str, names: Sequence[str]) -> None:
    """Names are a list of distinct, valid text."""
    if isinstance(names, str):
        raise InputError(source, field=field, found=f"text ({quote(names)})", expected="a list of names")
    if not hasattr(names, "__getitem__"):  # a set has no order, and an iterator ends after one look
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
    """Return whole numbers from 0 to ``limit`` - 1 as one column, of ``rows`` rows where their number is known."""
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
    """Return integers or floats of a shape; no numbers at all make an empty table of it."""
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
    """Return (images, 2) widths and heights in whole pixels; 0, 0 where unknown."""
    array = check_numbers(source, "sizes", values, (images, 2))
    bad: Mask = ~((array >= 0) & (array <= _LARGEST) & (array == np.rint(array))).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        found = f"{array[row, 0]:g} x {array[row, 1]:g}"
        raise InputError(source, record=row, field="sizes", found=found, expected="width and height in pixels")
    return array.astype(np.int32)


def check_scores(source: str | Path, scores: Floats, name: Callable[[int], str]) -> None:
    """(n,) scores are finite."""
    bad = ~np.isfinite(scores)
    if bad.any():
        row = int(np.argmax(bad))
        found = str(scores[row])
        raise InputError(source, record=name(row), field="score", found=found, expected="a finite number")


def check_boxes(source: str | Path, field: str, boxes: Floats, pixels: Mask, name: Callable[[int], str]) -> None:
    """(n, 4) boxes are finite, and their corners x1, y1, x2, y2 in order.

    ``pixels`` tells, (n,) or (1,), whether a box holds pixel indices, so that it may be one pixel wide: x1 = x2.
    """
    x1, y1, x2, y2 = boxes.T
    wide, high = x1 < x2, y1 < y2
    if pixels.any():
        wide |= (x1 == x2) & pixels
        high |= (y1 == y2) & pixels
    # A comparison with NaN is false, so that NaN fails each of these.
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
    """Triplets of many images, grouped by image in the order of ``images``; n triplets, m images.

    Attributes:
        images: m distinct image names, in file order; an image without triplets is listed too.
        sizes: (m, 2) int32 width and height in pixels; 0, 0 where the file does not say.
        coordinates: (m,) uint8 ``Coordinates`` of the image's boxes.
        offsets: (m + 1,) int64; the triplets of image i are rows offsets[i] to offsets[i + 1].
        human_boxes, object_boxes: (n, 4) float64 x1, y1, x2, y2 as the file has them.
        verb, object: (n,) int32 indices into ``verbs`` and ``objects``.
        score: (n,) float64 confidence; 1 for ground truth and for predictions that have none.
        verbs, objects: the vocabularies: words as the file (or its class list) has them.
        roles: what is said by person, where a file says it so; those of all its images, whatever is selected.
        notes: what the reader of a file noted, for reports; no part of what the table holds.
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
        """(n,) ``Coordinates`` of each triplet; (1,) when all images share one, which broadcasts."""
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
        """Build a valid table from columns in any row order; rows of one image keep their order.

        Arrays that have the table's types and order already become its own without a copy: who writes into one later
        changes the table. :meth:`shoe.Metric.update` copies.

        >>> table = Interactions.from_columns(
        ...     images=["a.jpg"], image=[0], human_boxes=[[0, 0, 9, 20]], object_boxes=[[3, 5, 30, 40]],
        ...     verb=[0], object=[0], verbs=["riding"], objects=["horse"], score=[0.9],
        ... )
        >>> len(table), table.offsets.tolist()
        (1, [0, 1])

        Args:
            image: (n,) index of each row's image.
            human_boxes: (n, 4) finite numbers with x1 < x2 and y1 < y2 (<= where coordinates count pixels).
            object_boxes: as ``human_boxes``.
            verb: (n,) indices into ``verbs``.
            object: (n,) indices into ``objects``.
            score: (n,) finite numbers; 1 everywhere if absent.
            sizes: (m, 2) width and height; unknown if absent.
            coordinates: one kind for all images, or (m,) kinds.
            source: the file's name, for error messages.

        Raises:
            InputError: naming the first record that breaks a rule.
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
        """Keep some triplets (a mask, or ascending row indices); all images stay listed."""
        chosen = np.flatnonzero(rows) if rows.dtype == np.bool_ else rows.astype(np.int64, copy=False)
        return replace(self._reordered(chosen), offsets=np.searchsorted(chosen, self.offsets))

    def select_images(self, keep: NDArray[np.bool_] | NDArray[np.integer]) -> Interactions:
        """Keep some images (a mask, or ascending indices) and their triplets."""
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
        """Tell whether two tables hold the same numbers and words in the same order, to the bit."""
        fields = self.__dataclass_fields__.keys() - {"notes", "roles"}
        return all(
            np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
            for a, b in ((getattr(self, name), getattr(other, name)) for name in fields)
        )


def concatenate(parts: Sequence[Interactions]) -> Interactions:
    """Join tables: images and words in order of first appearance; rows of an image in the order of the parts.

    What readers noted of the parts is put together, once for parts of one reading.

    Raises:
        InputError: when two parts give one image different sizes or coordinates, or some say nothing by person.
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
    """Find names among distinct known ones: as they stand, else without folder and ending, else in any letters.

    >>> image_index(["images/a.png", "B.JPEG"], ["a.jpg", "b.jpg"]).tolist()
    [0, 1]

    Returns:
        (n,) index into ``known``; -1 for a name that is none of them, or that could be several.
    """
    exact = {name: i for i, name in enumerate(known)}
    if all(name in exact for name in names):
        return np.array([exact[name] for name in names], np.int32)
    stems = [_stem(name) for name in known]
    by_stem = _once(stems)
    by_letters = _once([stem.casefold() for stem in stems])
    found = [exact.get(name, by_stem.get(stem := _stem(name), by_letters.get(stem.casefold(), -1))) for name in names]
    return np.array(found, np.int32)


def _once(names: Sequence[str]) -> dict[str, int]:
    times = Counter(names)
    return {name: i for i, name in enumerate(names) if times[name] == 1}


def _stem(name: str) -> str:
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] if "." in base[1:] else base
