"""Convert rows of a format reader to a validated table: image sizes, box convention, score conversion, long words."""

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
from shoe.predictions.boxes.conventions import Convention, Conventions, are_valid, valid_conventions
from shoe.predictions.source import Sizes, Source

# Conversions of scores outside 0..1, e.g. logits and log-probabilities. Each keeps the order of the scores (a sigmoid
# up to float precision), so strict metrics do not change. Metrics with a score threshold depend on the conversion.


def _min_max(score: Floats) -> Floats:
    width = np.ptp(score)
    return (score - score.min()) / width if width else np.ones(len(score))


SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sigmoid": lambda score: np.exp(-np.logaddexp(0, -score)),
    "percent": lambda score: score / 100,
    "minmax": _min_max,
    "rank": lambda score: np.searchsorted(np.sort(score), score, "right") / len(score),  # equal scores stay equal
}
"""Score conversions by name: functions that map (n,) finite scores, n > 0, to 0..1 ("percent" expects percentages)."""


def check_scores_name(name: str | None) -> None:
    """Raise OptionError if the name of a score conversion is unknown."""
    if name is not None and name not in SCORES:
        raise unknown_name("way to take scores", name, SCORES)


def count_scales(score: Floats) -> tuple[int, int] | None:
    """Return the number of scores in 0..1 and above 1 if the latter are on another scale (percent, ratings), else None.

    Logits and sums of scores also lie on both sides of 1, but those between 1 and 10 are not integers.

    >>> import numpy as np
    >>> count_scales(np.array([0.9, 95, 0.8])), count_scales(np.array([0.9, 1.7, 12.5]))
    ((2, 1), None)
    """
    above = score[score > 1]
    parts = (score > 0) & (score < 1)
    if not len(above) or not parts.any() or score.min() < 0 or ((above < 10) & (above != np.rint(above))).any():
        return None
    return len(score) - len(above), len(above)


def convert_scores(table: Interactions, name: str, given: Mask) -> Interactions:
    """Return the n predictions with the scores marked in ``given`` (n,) converted to 0..1 by ``SCORES[name]``.

    >>> import numpy as np
    >>> from shoe.demo import PREDICTIONS
    >>> from shoe.predictions import read_predictions
    >>> table = read_predictions(PREDICTIONS["detector"], scores="rank")
    >>> float(table.score.max()), bool((table.score > 0).all())
    (1.0, True)
    """
    if not given.any():
        return table
    score = table.score.copy()
    score[given] = SCORES[name](score[given])
    return replace(table, score=score)


_FEW = 0.25  # if a smaller fraction of boxes has no area, the file has mistakes; otherwise it uses another convention
_OF_BEST = 1 / 3  # if the applied convention has more than this fraction of the best one's hits, the file mixes both


def _refuse_invalid(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise InputError for the first box without area, else for the first non-finite or too large number, if any."""
    _refuse_flat(rows, source, conventions)
    name = partial(triplet_place, rows)
    pixels = np.full(1, rows.coordinates != Coordinates.CONTINUOUS)
    check_boxes(source.path, "human box", rows.human_boxes, pixels, name)
    check_boxes(source.path, "object box", rows.object_boxes, pixels, name)
    check_scores(source.path, np.asarray(rows.score), name)


def triplet_place(rows: Rows, row: int) -> str:
    """Return the name of a triplet for messages: its record in the file, or its row number, and its image."""
    record = f"triplet {row}" if rows.place is None else rows.place(row)
    return f"{record} (image {quote(rows.images[rows.image[row]])})"


def _refuse_flat(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise InputError for the first box without area, with a hint at conventions under which all boxes are valid."""
    boxes = np.concatenate([rows.human_boxes, rows.object_boxes])
    if not np.isfinite(boxes).all():
        return
    flat = ~are_valid(boxes, conventions.coordinates)
    if not flat.any():
        return
    first = int(np.argmax(flat))
    row = first % len(rows.verb)
    count = int(flat.sum())
    hint = f"{count:,} of {len(boxes):,} boxes {'is' if count == 1 else 'are'} so"
    if count >= _FEW * len(boxes):
        hint += _fitting_hint(rows, source, conventions) or _area_hint(boxes, conventions)
    found, field = ", ".join(f"{x:g}" for x in boxes[first]), "human box" if first < len(rows.verb) else "object box"
    expected = f"x1 < x2 and y1 < y2, with boxes as {conventions.at(row)}"
    place = triplet_place(rows, row)
    raise InputError(source.path, record=place, field=field, found=f"[{found}]", expected=expected, hint=hint)


def _fitting_hint(rows: Rows, source: Source, conventions: Conventions) -> str:
    """Name the convention that fits the ground truth far better than the applied one, or say that both are mixed."""
    if source.truth is None:
        return ""
    order, nothing = np.argsort(rows.image, kind="stable"), np.zeros(len(rows.verb), np.int32)
    table = Interactions(  # not validated, because some boxes have no area
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


def _area_hint(boxes: Floats, conventions: Conventions) -> str:
    """Name the conventions under which all boxes have an area, if the file has the default convention."""
    names = valid_conventions(boxes) if conventions.kinds == (Convention(),) else []
    return f"; all have an area as {' or as '.join(names)}: name it with {flag('boxes')}" if names else ""


_LONGEST_WORD = 200
_LONGEST_NAME = 1000
_OPPOSITE = [2, 3, 0, 1]
_SURE = 40  # minimum number of boxes for which a property of all boxes is not taken for chance


def to_table(rows: Rows, source: Source, usual: Convention, named: str | None = None) -> Interactions:
    """Return the validated table of a file's rows, and record assumptions and repairs in the notes of the source.

    ``usual`` is the box convention of the format, ``named`` the convention that the user chose, if any. Raises
    InputError for values that :meth:`Interactions.from_columns` refuses and for missing image sizes.
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
    verbs, verb = _clip_words(rows.verbs, rows.verb, source)
    objects, object_ = _clip_words(rows.objects, rows.object, source)
    rows = replace(rows, verb=verb, object=object_, verbs=verbs, objects=objects)
    try:
        table = rows.table(source.path)
    except InputError:
        _refuse_invalid(rows, source, conventions)
        raise
    order = np.argsort(rows.image, kind="stable")
    table = _in_one_scale(table, notes.scores_as, absent[order])
    notes.conventions = conventions.select(order)
    notes.triplets_by_convention = conventions.counts(len(table))
    notes.boxes, notes.images, notes.triplets = "; ".join(notes.triplets_by_convention), len(table.images), len(table)
    return table


def _sizes(rows: Rows, known: Sizes | None) -> Floats:
    """Return (m, 2) image sizes: from the file, else from ``known``, else 0."""
    in_file = np.zeros((len(rows.images), 2)) if rows.sizes is None else rows.sizes
    if not known:
        return in_file
    sizes = np.array([*known.values(), (0, 0)], np.float64)
    from_source = sizes[image_index(rows.images, list(known))]  # -1, an unknown image, is the last row
    return np.where((in_file > 0).all(axis=1, keepdims=True), in_file, from_source)


def _without_sizeless(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Drop triplets whose boxes need an unknown image size; raise InputError if none is left or no sizes were given."""
    unknown = conventions.need_sizes(len(rows.image)) & ~(np.asarray(rows.sizes)[rows.image] > 0).all(axis=1)
    if not unknown.any():
        return rows, conventions
    row = int(np.argmax(unknown))
    name, count = quote(rows.images[rows.image[row]]), len(np.unique(rows.image[unknown]))
    if source.sizes and not unknown.all():
        source.notes.add("sizeless", count=int(unknown.sum()), second=count, first=name)
        return _select_rows(rows, ~unknown), conventions.select(~unknown)
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
    """Convert boxes to x1, y1, x2, y2 in pixels. If all of at least 40 boxes are x2, y2, x1, y1, swap the corners."""
    human, target = conventions.to_pixels(rows.human_boxes, rows.object_boxes, np.asarray(rows.sizes)[rows.image])
    both = np.concatenate([human, target])
    if len(both) >= _SURE and (both[:, 2:] < both[:, :2]).all():
        source.notes.add("reversed")
        human, target = human[:, _OPPOSITE], target[:, _OPPOSITE]
    return replace(rows, human_boxes=human, object_boxes=target, coordinates=conventions.coordinates)


def _without_flat_boxes(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Drop triplets of raw replies with a box without area, unless these are more than half of all triplets."""
    if rows.loose is None:
        return rows, conventions
    valid = are_valid(rows.human_boxes, conventions.coordinates) & are_valid(rows.object_boxes, conventions.coordinates)
    flat = ~valid & rows.loose
    if not flat.any() or 2 * flat.sum() > len(flat):
        return rows, conventions
    source.notes.add("flat_boxes", count=int(flat.sum()), first=triplet_place(rows, int(np.argmax(flat))))
    return replace(_select_rows(rows, ~flat), loose=None), conventions.select(~flat)


def _select_rows(rows: Rows, keep: Mask) -> Rows:
    """Return the rows marked in ``keep`` (n,); images stay, even if they lose all rows."""
    place, indices = rows.place, np.flatnonzero(keep)
    columns = {name: getattr(rows, name)[keep] for name in ("image", "human_boxes", "object_boxes", "verb", "object")}
    return replace(
        rows,
        **columns,
        score=None if rows.score is None else rows.score[keep],
        loose=None if rows.loose is None else rows.loose[keep],
        place=None if place is None else lambda row: place(int(indices[row])),
    )


def _with_scores(rows: Rows, source: Source) -> tuple[Rows, Mask]:
    """Set missing scores to 1; also return an (n,) mask of the missing scores."""
    score = np.full(len(rows.verb), np.nan) if rows.score is None else rows.score
    absent = np.isnan(score)
    if rows.loose is None and source.notes.count("scores_unread") and absent.all():
        found = f"no number in any of {many(len(absent), 'triplet')}"
        raise InputError(source.path, field="score", found=found, expected="finite numbers, or no scores at all")
    source.notes.scores_defaulted = int(absent.sum())
    if scales := count_scales(score[~absent]):
        source.notes.add("two_scales", count=scales[1], second=scales[0])
    return replace(rows, score=np.where(absent, 1.0, score)), absent


def _in_one_scale(table: Interactions, scores_as: str, absent: Mask) -> Interactions:
    """Apply the chosen score conversion, and rank triplets without a score (mask ``absent``, (n,)) last."""
    if scores_as:
        table = convert_scores(table, scores_as, ~absent)
    if absent.any() and not absent.all():
        # A score of 1 would rank them above all scored triplets; a 0 would tie with triplets scored 0.
        lowest = table.score[~absent].min()
        table = replace(table, score=np.where(absent, lowest - abs(lowest) / 2, table.score))
    return table


def _clip_words(words: Sequence[str], index: Indices, source: Source) -> tuple[list[str], Indices]:
    """Cut words to 200 characters, so that reports can show them; words that become equal are merged."""
    if max(map(len, words), default=0) <= _LONGEST_WORD:
        return list(words), index
    source.notes.add("clipped", count=sum(len(word) > _LONGEST_WORD for word in words))
    new: dict[str, int] = {}
    new_index = [new.setdefault(word[:_LONGEST_WORD], len(new)) for word in words]
    return list(new), np.array(new_index, np.int64)[index]
