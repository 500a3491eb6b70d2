"""From the rows of a reader to a valid table: image sizes, box convention, scale of scores, long words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, flag, many, quote, unknown_name
from shoe.core.interactions import Interactions, check_boxes, check_scores, image_index
from shoe.core.rows import Rows
from shoe.predictions.boxes.check import examine_boxes
from shoe.predictions.boxes.conventions import Convention, Conventions, ordered, valid_conventions
from shoe.predictions.source import Sizes, Source

# Scores that are no confidences in 0..1, as logits and log-probabilities: the ways to bring them there.
#
# Each keeps the order of the scores (a sigmoid up to the precision of floats), so strict figures stay as they are;
# SHOE-mF1 and the miss rates, where they take a threshold of scores, depend on the way.


def _sigmoid(score: Floats) -> Floats:
    return np.exp(-np.logaddexp(0, -score))


def _min_max(score: Floats) -> Floats:
    width = np.ptp(score)
    return (score - score.min()) / width if width else np.ones(len(score))


def _rank(score: Floats) -> Floats:
    """The share of scores that are not higher; equal scores stay equal."""
    return np.searchsorted(np.sort(score), score, "right") / len(score)


SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sigmoid": _sigmoid,
    "percent": lambda score: score / 100,
    "minmax": _min_max,
    "rank": _rank,
}
"""Name of a way, and what makes (n,) finite scores, n > 0, values in 0..1 (of percent: where they are percent)."""


def check_scores_name(name: str | None) -> None:
    """Refuse what is no way to bring scores to 0..1.

    Raises:
        OptionError: naming those there are.
    """
    if name is not None and name not in SCORES:
        raise unknown_name("way to take scores", name, SCORES)


def two_scales(score: Floats) -> tuple[int, int] | None:
    """Count the scores in 0..1 and those above where the latter are of another scale, as percent or ratings.

    Logits and sums of scores lie on both sides of 1 as well, but between 1 and 10 they are not whole.

    >>> import numpy as np
    >>> two_scales(np.array([0.9, 95, 0.8])), two_scales(np.array([0.9, 1.7, 12.5]))
    ((2, 1), None)
    """
    above = score[score > 1]
    parts = (score > 0) & (score < 1)
    if not len(above) or not parts.any() or score.min() < 0 or ((above < 10) & (above != np.rint(above))).any():
        return None
    return len(score) - len(above), len(above)


def rescaled(table: Interactions, name: str, given: Mask) -> Interactions:
    """Bring scores to 0..1.

    >>> import numpy as np
    >>> from shoe.demo import PREDICTIONS
    >>> from shoe.predictions import read_predictions
    >>> table = read_predictions(PREDICTIONS["detector"], scores="rank")
    >>> float(table.score.max()), bool((table.score > 0).all())
    (1.0, True)

    Args:
        table: n predictions.
        name: a name in :data:`SCORES`.
        given: (n,) whether a score was given; others stay.
    """
    if not given.any():
        return table
    score = table.score.copy()
    score[given] = SCORES[name](score[given])
    return replace(table, score=score)


# Why rows make no valid table: the first box or score that is wrong, and what would make all boxes valid.

_FEW = 0.25  # below this share, boxes without area are mistakes of the file, and not another convention
_OF_BEST = 1 / 3  # above this share of the hits of the best convention, some boxes are as another one


def explain(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise the error of rows that make no valid table, if it is one of their boxes or scores.

    Raises:
        InputError: naming the first box without area, else the first number that is not finite or too large.
    """
    _explain_boxes(rows, source, conventions)
    name = partial(place_of, rows)
    pixels = np.full(1, rows.coordinates != Coordinates.CONTINUOUS)
    check_boxes(source.path, "human box", rows.human_boxes, pixels, name)
    check_boxes(source.path, "object box", rows.object_boxes, pixels, name)
    check_scores(source.path, np.asarray(rows.score), name)


def place_of(rows: Rows, row: int) -> str:
    """Name a triplet in a message: its record in the file where it has one of its own, and its image."""
    record = f"triplet {row}" if rows.place is None else rows.place(row)
    return f"{record} (image {quote(rows.images[rows.image[row]])})"


def _explain_boxes(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise the error of the first box without area, with what would make all boxes valid; return if all have one."""
    boxes = np.concatenate([rows.human_boxes, rows.object_boxes])
    if not np.isfinite(boxes).all():
        return
    flat = ~ordered(boxes, conventions.coordinates)
    if not flat.any():
        return
    first = int(np.argmax(flat))
    row, part = first % len(rows.verb), "human box" if first < len(rows.verb) else "object box"
    count = int(flat.sum())
    hint = f"{count:,} of {len(boxes):,} boxes {'is' if count == 1 else 'are'} so"
    if count >= _FEW * len(boxes):
        hint += _fitting(rows, source, conventions) or _with_area(boxes, conventions)
    numbers = ", ".join(f"{x:g}" for x in boxes[first])
    raise InputError(
        source.path,
        record=place_of(rows, row),
        field=part,
        found=f"[{numbers}]",
        expected=f"x1 < x2 and y1 < y2, with boxes as {conventions.at(row)}",
        hint=hint,
    )


def _fitting(rows: Rows, source: Source, conventions: Conventions) -> str:
    """Name the convention under which boxes fit the ground truth far better than under that applied; "" if none does.

    Where many fit under either, none fits all.

    Some boxes are without area, so that no checked table takes them.
    """
    if source.truth is None:
        return ""
    order, nothing = np.argsort(rows.image, kind="stable"), np.zeros(len(rows.verb), np.int32)
    table = Interactions(
        images=tuple(rows.images),
        sizes=np.clip(np.nan_to_num(np.asarray(rows.sizes)), 0, 1e9).astype(np.int32),
        coordinates=np.full(len(rows.images), conventions.coordinates, np.uint8),
        offsets=np.searchsorted(rows.image[order], np.arange(len(rows.images) + 1)),
        human_boxes=rows.human_boxes[order],
        object_boxes=rows.object_boxes[order],
        verb=nothing,
        object=nothing,
        score=np.nan_to_num(np.asarray(rows.score)[order]),
        verbs=("",),
        objects=("",),
    )
    report = examine_boxes(table, source.truth, conventions.select(order))
    for group in report.groups:
        applied, best = group.fits[0], group.best
        if best is not applied and applied.hits > max(best.hits, 9 * group.chance) * _OF_BEST:
            each = f"{applied.hits:.0%} overlap an annotated box as {applied.convention}, {best.hits:.0%} would as "
            return f"; the file seems to mix conventions: {each}{best.convention}"
        if better := group.better:
            fits = f"{better.hits:.0%} overlap an annotated box as {better.convention}"
            return f"; {fits}: name it with {report.flag(better)}"
    return ""


def _with_area(boxes: Floats, conventions: Conventions) -> str:
    """Name the conventions under which all boxes of a file that names none have an area; "" if there is none."""
    names = valid_conventions(boxes) if conventions.kinds == (Convention(),) else []
    return f"; all have an area as {' or as '.join(names)}: name it with {flag('boxes')}" if names else ""


_LONGEST_WORD = 200
_LONGEST_NAME = 1000
_OPPOSITE = [2, 3, 0, 1]
_SURE = 40  # boxes: as many are not all of such a kind by chance


def to_table(rows: Rows, source: Source, usual: Convention, named: str | None = None) -> Interactions:
    """Return the valid table of a file's rows, and note what that took.

    Args:
        rows: triplets as their file has them.
        source: the file.
        usual: box convention of its format.
        named: that which the user named, if any.

    Raises:
        InputError: for what :meth:`Interactions.from_columns` refuses, and for missing image sizes.
    """
    notes = source.notes
    for name in rows.images:
        if not 0 < len(name) <= _LONGEST_NAME:
            found = f"a name of {len(name):,} characters"
            raise InputError(source.path, field="image", found=found, expected=f"1 to {_LONGEST_NAME:,} characters")
    rows = replace(rows, sizes=_sizes(rows, source.sizes))
    rows, conventions = _without_sizeless(rows, source, Conventions.of_rows(rows, usual, named))
    rows = _in_pixels(rows, source, conventions)
    rows, conventions = _without_flat_boxes(rows, source, conventions)
    rows, absent = _with_scores(rows, source)
    verbs, verb = _clipped(rows.verbs, rows.verb, source)
    objects, object_ = _clipped(rows.objects, rows.object, source)
    rows = replace(rows, verb=verb, object=object_, verbs=verbs, objects=objects)
    try:
        table = rows.table(source.path)
    except InputError:
        explain(rows, source, conventions)
        raise
    order = np.argsort(rows.image, kind="stable")
    table = _in_one_scale(table, notes.scores_as, absent[order])
    notes.conventions = conventions.select(order)
    notes.boxes_of = conventions.counts(len(table))
    notes.boxes, notes.images, notes.triplets = "; ".join(notes.boxes_of), len(table.images), len(table)
    return table


def _sizes(rows: Rows, known: Sizes | None) -> Floats:
    """(m, 2) sizes from the file, else from elsewhere, else 0."""
    given = np.zeros((len(rows.images), 2)) if rows.sizes is None else rows.sizes
    if not known:
        return given
    sizes = np.array([*known.values(), (0, 0)], np.float64)
    other = sizes[image_index(rows.images, list(known))]  # -1, an unknown image, is the last row
    return np.where((given > 0).all(axis=1, keepdims=True), given, other)


def _without_sizeless(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Leave out triplets whose boxes need the size of an image that has none, unless none has one."""
    unknown = conventions.need_sizes(len(rows.image)) & ~(np.asarray(rows.sizes)[rows.image] > 0).all(axis=1)
    if not unknown.any():
        return rows, conventions
    row = int(np.argmax(unknown))
    name, count = quote(rows.images[rows.image[row]]), len(np.unique(rows.image[unknown]))
    if source.sizes and not unknown.all():
        source.notes.add("sizeless", count=int(unknown.sum()), of=count, first=name)
        return _kept(rows, ~unknown), conventions.select(~unknown)
    if source.sizes:
        raise InputError(
            source.path,
            field="image",
            found=name,
            expected=f"names of images whose size is known, as {quote(next(iter(source.sizes)))}",
            hint=f"{count:,} of {many(len(rows.images), 'image')} {'has' if count == 1 else 'have'} no size, which "
            f"boxes as {conventions.at(row)} need",
        )
    raise InputError(
        source.path,
        record=f"image {name}",
        found="no width and height",
        expected=f"the image's size, which boxes as {conventions.at(row)} need",
        hint="give --ground-truth (Python: truth=...), or width and height in the file",
    )


def _in_pixels(rows: Rows, source: Source, conventions: Conventions) -> Rows:
    """Convert boxes to x1, y1, x2, y2 in pixels, also where all of many have their lower right corner first."""
    human, target = conventions.converted(rows.human_boxes, rows.object_boxes, np.asarray(rows.sizes)[rows.image])
    both = np.concatenate([human, target])
    if len(both) >= _SURE and (both[:, 2:] < both[:, :2]).all():
        source.notes.add("reversed")
        human, target = human[:, _OPPOSITE], target[:, _OPPOSITE]
    return replace(rows, human_boxes=human, object_boxes=target, coordinates=conventions.coordinates)


def _without_flat_boxes(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Leave out triplets of raw replies whose box has no area, unless so many that the convention must be wrong."""
    if rows.loose is None:
        return rows, conventions
    valid = ordered(rows.human_boxes, conventions.coordinates) & ordered(rows.object_boxes, conventions.coordinates)
    flat = ~valid & rows.loose
    if not flat.any() or 2 * flat.sum() > len(flat):
        return rows, conventions
    source.notes.add("flat_boxes", count=int(flat.sum()), first=place_of(rows, int(np.argmax(flat))))
    return replace(_kept(rows, ~flat), loose=None), conventions.select(~flat)


def _kept(rows: Rows, keep: Mask) -> Rows:
    """Some of the rows, (n,) True; their images stay."""
    place, kept = rows.place, np.flatnonzero(keep)
    columns = {name: getattr(rows, name)[keep] for name in ("image", "human_boxes", "object_boxes", "verb", "object")}
    return replace(
        rows,
        **columns,
        score=None if rows.score is None else rows.score[keep],
        loose=None if rows.loose is None else rows.loose[keep],
        place=None if place is None else lambda row: place(int(kept[row])),
    )


def _with_scores(rows: Rows, source: Source) -> tuple[Rows, Mask]:
    """Give triplets without a score a 1, and tell (n,) which these are."""
    score = np.full(len(rows.verb), np.nan) if rows.score is None else rows.score
    absent = np.isnan(score)
    if rows.loose is None and source.notes.count("scores_unread") and absent.all():
        found = f"no number in any of {many(len(absent), 'triplet')}"
        raise InputError(source.path, field="score", found=found, expected="finite numbers, or no scores at all")
    source.notes.scores_defaulted = int(absent.sum())
    if scales := two_scales(score[~absent]):
        source.notes.add("two_scales", count=scales[1], of=scales[0])
    return replace(rows, score=np.where(absent, 1.0, score)), absent


def _in_one_scale(table: Interactions, scores_as: str, absent: Mask) -> Interactions:
    """Bring the scores to 0..1 in the way that is named, and those that are (n,) absent below all others."""
    if scores_as:
        table = rescaled(table, scores_as, ~absent)
    if absent.any() and not absent.all():
        # Nothing says that they are sure: a 1 would rank them above all that have a score. A 0 would tie with misses.
        lowest = table.score[~absent].min()
        table = replace(table, score=np.where(absent, lowest - abs(lowest) / 2, table.score))
    return table


def _clipped(words: Sequence[str], index: Indices, source: Source) -> tuple[list[str], Indices]:
    """Cut words to a length that a report can show; words that become equal become one."""
    if max(map(len, words), default=0) <= _LONGEST_WORD:
        return list(words), index
    source.notes.add("clipped", count=sum(len(word) > _LONGEST_WORD for word in words))
    known: dict[str, int] = {}
    renumbered = [known.setdefault(word[:_LONGEST_WORD], len(known)) for word in words]
    return list(known), np.array(renumbered, np.int64)[index]
