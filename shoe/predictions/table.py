"""Convert the rows of a file to a validated table with boxes in pixels and scores for all triplets."""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from shoe.core.arrays import Floats, Indices, Mask, first_true, number_words
from shoe.core.boxes import Coordinates
from shoe.core.errors import InputError, flag, pluralize, quote
from shoe.core.interactions import Interactions, Rows, apply_bad_boxes, check_boxes, check_scores, image_index
from shoe.core.roles import RolePredictions
from shoe.lexicon import text
from shoe.predictions.boxes.check import BoxReport, check_box_convention
from shoe.predictions.boxes.conventions import Convention, Conventions, are_valid, valid_conventions
from shoe.predictions.field_names import is_truth
from shoe.predictions.roles import with_stated_roles
from shoe.predictions.source import Sizes, Source

# Conversions of scores outside 0..1, e.g. logits and log-probabilities. Each keeps the order of the scores (a sigmoid
# up to float precision), so strict metrics do not change. Metrics with a score threshold depend on the conversion.
SCORES: dict[str, Callable[[Floats], Floats]] = {
    "sigmoid": lambda score: np.exp(-np.logaddexp(0, -score)),
    "percent": lambda score: score / 100,
    "minmax": lambda score: (score - score.min()) / np.ptp(score) if np.ptp(score) else np.ones(len(score)),
    "rank": lambda score: np.searchsorted(np.sort(score), score, "right") / len(score),  # equal scores stay equal
}
"""Score conversions by name: functions that map (n,) finite scores, n > 0, to 0..1 ("percent" expects percentages)."""


# Two groups of scores have at least _ENOUGH members and _TIMES as many as lie between them. Where fractions end, at 1,
# there are _STEP times as many scores below as above, and _ENOUGH more.
_TIMES, _ENOUGH, _STEP = 2, 10, 3
_SEVERAL, _OF_IMAGES = 5, 0.1
_FEW_WORDS = 2


def count_scales(score: Floats, image: Indices | None = None) -> tuple[int, int] | None:
    """Return (number of scores in 0..1, number of others) if scores seem to mix two scales, as 0.9 and 95 %; else None.

    Some are between 0 and 1, and one condition holds: none is negative, and all scores from 1 to 10 are integers,
    unlike logits and sums of scores; or none is negative or above 100, and many are just below 1, few just above 1, and
    many far above 1, or high fractions and high percentages form two groups with few scores in between. If ``image``,
    the (n,) image index of each score, is given, the highest scores of the images are checked too; or in some images
    all scores are in 0..1 though most of the others are not, as if the rest were logits or in another unit.

    >>> import numpy as np
    >>> count_scales(np.array([0.9, 95, 0.8])), count_scales(np.array([0.9, 1.7, 12.5]))
    ((2, 1), None)
    """
    above, outside = score[score > 1], (score < 0) | (score > 1)
    if not outside.any() or not ((score > 0) & (score < 1)).any():
        return None
    if image is None or not _are_two_kinds_of_images(outside, image):
        if not len(above) or score.min() < 0:
            return None
        has_gap = not ((above < 10) & (above != np.rint(above))).any()
        if not has_gap and (above.max() > 100 or not _are_two_groups(score, image)):
            return None
    return int((~outside).sum()), int(outside.sum())


def _are_two_kinds_of_images(outside: Mask, image: Indices) -> bool:
    """Return whether a tenth of the images with several scores have all in 0..1, though most of the others are not."""
    number = np.bincount(image)
    share = (np.bincount(image, outside) / np.maximum(number, 1))[number >= _SEVERAL]
    within = share == 0
    few = max(len(share) * _OF_IMAGES, _ENOUGH)
    return few <= within.sum() <= len(share) - few and float(np.median(share[~within])) > 0.5


def _are_two_groups(score: Floats, image: Indices | None) -> bool:
    """Return whether scores (or highest scores per image) are a group of fractions and a group of larger scores."""
    highest = np.zeros(0 if image is None else int(image.max()) + 1)
    if image is not None:
        np.maximum.at(highest, image, score)
    groups = [np.histogram(score, [0.25, 1 - 1e-9, 4, 25, 100])[0][[0, 1, 3]]]
    groups += [np.histogram(highest[highest > 0], [0, 1 + 1e-9, 10, 100])[0]]
    steps = [np.histogram(each, [0.8, 1 - 1e-9, 1 + 1e-9, 1.25, 2.5, 100])[0][[0, 2, 4]] for each in (score, highest)]
    return any(min(low, high) >= max(_TIMES * between, _ENOUGH) for low, between, high in groups) or any(
        min(below - _STEP * above, high) >= _ENOUGH for below, above, high in steps
    )


def convert_scores(table: Interactions, name: str, given: Mask) -> Interactions:
    """Return the table with the scores in the (n,) mask ``given`` converted to 0..1; ``name`` is a key of SCORES."""
    score = table.score.copy()
    if given.any():
        score[given] = SCORES[name](score[given])
    return replace(table, score=score)


_WITHOUT = "to leave such predictions out: `shoe score --bad-boxes drop`"
_FEW = 0.25  # if a smaller fraction of boxes has no area, the file has mistakes; otherwise it uses another convention
_OF_BEST = 1 / 3  # if the applied convention has more than this fraction of the best one's hits, the file mixes both


def _refuse_invalid(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise InputError for the first box without area, or else for the first non-finite or too large number."""
    _refuse_flat(rows, source, conventions)
    name, pixels = partial(triplet_place, rows), np.full(1, rows.coordinates != Coordinates.CONTINUOUS)
    try:
        for field, boxes in (("human box", rows.human_boxes), ("object box", rows.object_boxes)):
            check_boxes(source.path, field, boxes, pixels, name)
        check_scores(source.path, np.asarray(rows.score), name)
    except InputError as error:
        raise error.hinting(_WITHOUT) from None


def triplet_place(rows: Rows, row: int) -> str:
    """Return the name of a triplet for messages: its record (else its row number), and its image."""
    record = f"triplet {row + 1}" if rows.place is None else rows.place(row)
    return f"{record} (image {quote(rows.images[rows.image[row]])})"


def _refuse_flat(rows: Rows, source: Source, conventions: Conventions) -> None:
    """Raise InputError for the first box without area, with a hint at conventions under which all boxes are valid."""
    boxes = np.concatenate([rows.human_boxes, rows.object_boxes])
    flat = ~are_valid(boxes, conventions.coordinates)
    if not np.isfinite(boxes).all() or (first := first_true(flat)) is None:
        return
    row, count = first % len(rows.verb), int(flat.sum())
    hint = f"{count:,} of {len(boxes):,} boxes {'has' if count == 1 else 'have'} no area"
    if count < _FEW * len(boxes):
        verdicts = _flat_verdicts(rows, source, conventions, np.logical_or(*np.split(flat, 2)))
        hint += "; " + "; ".join([*verdicts, _WITHOUT])
    else:
        hint += _fitting_hint(rows, source, conventions) or _area_hint(boxes, conventions)
    found, field = ", ".join(f"{x:g}" for x in boxes[first]), "human box" if first < len(rows.verb) else "object box"
    expected = f"x1 < x2 and y1 < y2, with boxes as {conventions.at(row)}"
    raise InputError(
        source.path, record=triplet_place(rows, row), field=field, found=f"[{found}]", expected=expected, hint=hint
    )


def _fitting_hint(rows: Rows, source: Source, conventions: Conventions) -> str:
    """Return a hint at a convention that fits the ground truth far better, or at mixed conventions; "" if not found."""
    if source.truth is None:
        return ""
    report = _check_boxes(rows, source.truth, conventions)
    for group in (group for group in report.groups if not group.by_kind):
        applied, best = group.fits[0], group.best
        if best is not applied and applied.hits > max(best.hits, 9 * group.chance) * _OF_BEST:
            each = f"{applied.hits:.0%} overlap an annotated box if read as {applied.convention}, {best.hits:.0%} if "
            return f"; the file seems to mix conventions: {each}read as {best.convention}"
        if better := group.better:
            fits = f"{better.hits:.0%} overlap an annotated box if read as {better.convention}"
            return f"; {fits}: set this convention with {report.flag(better)}"
    return next((f"; {line.removeprefix('boxes: ')}" for line in report.verdicts), "")


def _flat_verdicts(rows: Rows, source: Source, conventions: Conventions, flat: Mask) -> list[str]:
    """Return the verdicts of the box check on the rows in the (n,) mask ``flat``, which have boxes without area."""
    if source.truth is None or not flat.any():
        return []
    report, others = (
        _check_boxes(_select_rows(rows, part), source.truth, conventions.select(part)) for part in (flat, ~flat)
    )
    names = {group.best.convention for group in report.groups}
    leads = [
        each.fits[0].mean_iou > fit.mean_iou for each in others.groups for fit in each.fits if fit.convention in names
    ]
    is_mixed = bool(others.groups) and all(leads)
    return [line.removeprefix("boxes: ") for line in replace(report, is_mixed=is_mixed).verdicts]


def _check_boxes(rows: Rows, truth: Interactions, conventions: Conventions) -> BoxReport:
    order, nothing = np.argsort(rows.image, kind="stable"), np.zeros(len(rows.verb), np.int32)
    score = np.zeros(len(nothing)) if rows.score is None else np.nan_to_num(rows.score)
    table = Interactions(  # not validated, because some boxes have no area
        images=tuple(rows.images),
        sizes=np.clip(np.nan_to_num(np.asarray(rows.sizes)), 0, 1e9).astype(np.int32),
        coordinates=np.full(len(rows.images), conventions.coordinates, np.uint8),
        offsets=np.searchsorted(rows.image[order], np.arange(len(rows.images) + 1)),
        human_boxes=rows.human_boxes[order],
        object_boxes=rows.object_boxes[order],
        verb=nothing,
        object=nothing,
        score=score[order],
        verbs=("",),
        objects=("",),
    )
    return check_box_convention(table, truth, conventions.select(order))


def _area_hint(boxes: Floats, conventions: Conventions) -> str:
    """Return a hint at conventions under which all boxes have an area; "" unless the default convention was applied."""
    human, target = np.split(are_valid(boxes, conventions.coordinates), 2)
    if human.all() != target.all() and len(boxes) >= _SURE:
        return "; these are only human boxes or only object boxes: have both the same convention?"
    names = valid_conventions(boxes) if conventions.kinds == (Convention(),) else []
    return f"; all have an area as {' or as '.join(names)}: set the convention with {flag('boxes')}" if names else ""


_LONGEST_WORD, _LONGEST_NAME = 200, 1000
_NUMBER = re.compile(r"\s*[+-]?\d+(?:\.\d*)?\s*")
_SURE = 40  # minimum number of boxes for which a property of all boxes is not taken for chance


def to_table(rows: Rows, source: Source, usual: Convention, named: str | None = None) -> Interactions:
    """Return the validated table of a file's rows, and record assumptions and repairs in the notes of the source.

    ``usual`` is the box convention of the format, ``named`` the name of the convention that the user chose, if any.
    Raises InputError for invalid values, or if a needed image size is unknown.
    """
    notes = source.notes
    if not len(rows.verb) and notes.examples("denied") and not notes.replies:
        key, count = next(iter(notes.examples("denied"))), pluralize(notes.count("denied"), "prediction")
        found = f"'no' for all of {count}"
        hint = f"if {quote(key)} is a placeholder, leave it out; a file without predictions is []"
        raise InputError(source.path, field=key, found=found, expected="at least one 'yes'", hint=hint)
    if wrong := [name for name in rows.images if not 0 < len(name) <= _LONGEST_NAME]:
        found = f"a name of {len(wrong[0]):,} characters"
        raise InputError(source.path, field="image", found=found, expected=f"1 to {_LONGEST_NAME:,} characters")
    rows = replace(rows, sizes=_sizes(rows, source.sizes))
    rows, conventions = _without_denied(rows, source, Conventions.from_rows(rows, usual, named))
    rows, conventions = _without_sizeless(rows, source, conventions)
    rows = _in_pixels(rows, source, conventions)
    bad, rows, conventions = _without_bad(rows, source, conventions)
    rows, conventions = _without_flat_boxes(rows, source, conventions)
    rows, conventions = _one_verb_per_row(rows, source, conventions)
    rows, absent = _with_scores(rows, source)
    (verbs, verb), (objects, object_) = (
        _clip_words(*each, source) for each in ((rows.verbs, rows.verb), (rows.objects, rows.object))
    )
    rows = replace(rows, verb=verb, object=object_, verbs=verbs, objects=objects)
    _refuse_numbers(rows, source)
    try:
        table = rows.table(source.path)
    except InputError as error:
        if error.field != "images":  # the checks of boxes need distinct images
            _refuse_invalid(rows, source, conventions)
        raise
    notes.add("joined_files", count=_count_split_images(rows.image), second=len(rows.images))
    for key, words in notes.unread_words.items():
        if len(words) > _FEW_WORDS and 2 * len(words & {*rows.verbs}) >= len(words) and not is_truth(key, ""):
            notes.add("unread_verbs", quote(key))
    order = np.argsort(rows.image, kind="stable")
    given = table.score[~absent[order]]
    if notes.scores_as in ("sigmoid", "percent") and len(given) >= _ENOUGH and given.min() >= 0 and given.max() <= 1:
        notes.add("scores_fit", first=notes.scores_as)
    table = replace(
        _in_one_scale(table, notes.scores_as, absent[order]), bad=bad, unscored=len(table) * bool(absent.all())
    )
    if source.benchmark.role_protocols:
        table = with_stated_roles(table, source.benchmark, notes)
    notes.conventions = conventions.select(order)
    notes.triplets_by_convention.update(conventions.counts(len(table)))
    notes.boxes, notes.images, notes.triplets = "; ".join(notes.triplets_by_convention), len(table.images), len(table)
    return table


def _count_split_images(image: Indices) -> int:
    """Return the number of images whose rows are in two groups, given the (n,) image of each row; 0 unless most are."""
    starts = image[np.flatnonzero(np.diff(image, prepend=-1))]
    groups = np.bincount(starts)
    split = int((groups == _TIMES).sum())
    return split if split >= max(_ENOUGH, 0.8 * len(groups)) and len(image) > 2 * len(starts) else 0


def _sizes(rows: Rows, known: Sizes | None) -> Floats:
    """Return the (m, 2) image sizes: from the file, else from ``known`` (sizes by image name), else 0."""
    in_file = np.zeros((len(rows.images), 2)) if rows.sizes is None else rows.sizes
    if not known:
        return in_file
    sizes = np.array([*known.values(), (0, 0)], np.float64)
    from_source = sizes[image_index(rows.images, list(known))]  # -1, an unknown image, is the last row
    return np.where((in_file > 0).all(axis=1, keepdims=True), in_file, from_source)


def _without_denied(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Return rows and conventions without the triplets whose verb denies an action, as "not ride".

    Words for no action, as "none", become the dataset's label for no interaction, if it has one.
    """
    labels = source.benchmark.classes.verbs
    tokens = {i: text.tokens(text.plain(verb)) for i, verb in enumerate(rows.verbs) if verb not in labels}
    keep = ~np.isin(rows.verb, [i for i, words in tokens.items() if text.denies(words)])
    label = next((label for label in labels if text.says_no_interaction(text.tokens(label))), "")
    if label and (silent := [i for i, words in tokens.items() if text.names_no_action(words)]):
        for i in silent:
            source.notes.add("no_action", rows.verbs[i], int((rows.verb == i).sum()))
        verbs, verb = number_words(label if i in silent else verb for i, verb in enumerate(rows.verbs))
        rows = replace(rows, verbs=verbs, verb=verb[rows.verb])
    source.notes.add("denied", count=int((~keep).sum()))
    return (rows, conventions) if keep.all() else (_select_rows(rows, keep), conventions.select(keep))


_PRINTED = re.compile(r"'\s+'")  # in "['kiss' 'pet']", a printed array


def _one_verb_per_row(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Return rows and conventions with one row per verb of a cell that lists verbs: "kiss|pet", "['kiss', 'pet']"."""
    cells = [(i, cell) for i, cell in enumerate(rows.verbs) if text.JOINED.search(cell) or cell.startswith("[")]
    if not cells:
        return rows, conventions
    from shoe.predictions.vlm.words import split_verbs, without_brackets  # its imports take 90 ms

    plain = np.ones(len(rows.verb), bool) if rows.loose is None else ~rows.loose
    parts = dict[int, list[str]]()
    for i, cell in cells:
        words = without_brackets(_PRINTED.sub("', '", cell))
        if text.ALTERNATIVES not in cell and (found := split_verbs(words, "") or [words] * (words != cell)):
            parts[i] = found
    if not (several := plain & np.isin(rows.verb, list(parts))).any():
        return rows, conventions
    for i, count in zip(*np.unique(rows.verb[several], return_counts=True), strict=True):
        source.notes.add("several_verbs", rows.verbs[i], int(count) * (len(parts[i]) > 1))
    listed = [parts[i] if is_list else [rows.verbs[i]] for i, is_list in zip(rows.verb.tolist(), several, strict=True)]
    index = np.repeat(np.arange(len(listed)), list(map(len, listed)))
    verbs, verb = number_words(word for words in listed for word in words)
    return replace(_select_rows(rows, index), verbs=verbs, verb=verb), conventions.select(index)


def _without_sizeless(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Return rows and conventions without triplets whose image size is needed and unknown; InputError if all are."""
    known, roles = np.asarray((np.asarray(rows.sizes) > 0).all(axis=1)), rows.detected
    image = rows.image if roles is None or len(rows.image) else roles.image
    unknown = conventions.need_sizes(len(image)) & ~known[image]
    if (row := first_true(unknown)) is None:
        return rows, conventions
    name, count = quote(rows.images[image[row]]), len(np.unique(image[unknown]))
    if source.sizes and not unknown.all():
        source.notes.add("sizeless", count=int(unknown.sum()), second=count, first=name)
        if roles is not None:
            rows = replace(rows, detected=roles.select(known[roles.image]))
        return (_select_rows(rows, ~unknown) if image is rows.image else rows), conventions.select(~unknown)
    needed = f"which the box convention {conventions.at(row)} needs"
    if source.sizes:
        expected = f"names of images with known size, such as {quote(next(iter(source.sizes)))}"
        of_all = f"{count:,} of {pluralize(len(rows.images), 'image')} {'has' if count == 1 else 'have'}"
        raise InputError(source.path, field="image", found=name, expected=expected, hint=f"{of_all} no size, {needed}")
    hint = "add --ground-truth FILE (Python: truth=...), or width and height to the file"
    expected = f"the size of the image, {needed}"
    raise InputError(source.path, record=f"image {name}", found="no width and height", expected=expected, hint=hint)


def _in_pixels(rows: Rows, source: Source, conventions: Conventions) -> Rows:
    """Convert boxes to x1, y1, x2, y2 in pixels. If all of at least 40 boxes are x2, y2, x1, y1, swap the corners."""
    human, target = conventions.to_pixels(rows.human_boxes, rows.object_boxes, np.asarray(rows.sizes)[rows.image])
    roles = rows.detected and _roles_in_pixels(rows.detected, source, conventions.kinds[0], np.asarray(rows.sizes))
    if 2 * len(human) >= _SURE and all((each[:, 2:] < each[:, :2]).all() for each in (human, target)):
        source.notes.add("reversed")
        human, target = human[:, [2, 3, 0, 1]], target[:, [2, 3, 0, 1]]
    return replace(rows, human_boxes=human, object_boxes=target, coordinates=conventions.coordinates, detected=roles)


def _roles_in_pixels(roles: RolePredictions, source: Source, kind: Convention, sizes: Floats) -> RolePredictions:
    """Return the predictions by person with boxes in pixels; InputError if "swapped" and a person has several boxes."""
    if not kind.needs_sizes and kind.layout == "xyxy" and not kind.order:
        return roles
    count, sizes, target = roles.role.shape[1], sizes[roles.image], roles.boxes[roles.role]
    empty = roles.is_placeholder[roles.role]
    person = kind.to_pixels(roles.person_boxes.astype(np.float64), sizes).astype(np.float32)
    boxes = kind.to_pixels(target.reshape(-1, 4).astype(np.float64), np.repeat(sizes, count, axis=0))
    boxes = np.where(empty[..., None], target, boxes.reshape(target.shape).astype(np.float32))
    if kind.order:
        first = boxes[np.arange(len(roles)), (~empty).argmax(axis=1)]
        several = (~empty & (boxes != first[:, None]).any(axis=2)).any(axis=1) | empty.all(axis=1)
        if (row := first_true(several)) is not None:
            name = quote(roles.images[roles.image[row]])
            expected = "exactly one object box per person box, because human and object boxes are exchanged"
            raise InputError(source.path, record=f"image {name}", found="no box or several boxes", expected=expected)
        person, boxes = first, np.where(empty[..., None], target, person[:, None])
    role = np.arange(boxes.size // 4, dtype=np.int32).reshape(roles.role.shape)
    return replace(roles, person_boxes=person, boxes=boxes.reshape(-1, 4).astype(np.float32), role=role)


def _without_bad(rows: Rows, source: Source, conventions: Conventions) -> tuple[dict[str, int], Rows, Conventions]:
    """Apply the rule ``source.bad_boxes`` to bad triplets; return their number by rule, the rows and the conventions.

    NaN scores are missing scores, which no rule concerns. Infinite scores become missing scores under "count".
    """
    rule, score = source.bad_boxes, rows.score
    if rule == "refuse":
        return {}, rows, conventions
    infinite = np.zeros(len(rows.verb), bool) if score is None else np.isinf(score)
    pixels = np.full(1, rows.coordinates != Coordinates.CONTINUOUS)
    count, keep, human, target = apply_bad_boxes(rule, rows.human_boxes, rows.object_boxes, infinite, pixels)
    score = None if score is None else np.where(infinite, np.nan, score)
    flat = _have_no_area(rows, conventions) & np.isfinite(np.hstack([rows.human_boxes, rows.object_boxes])).all(axis=1)
    for line in _flat_verdicts(rows, source, conventions, flat):
        source.notes.add("bad_fit", count=int(flat.sum()), first=line)
    rows = _select_rows(replace(rows, human_boxes=human, object_boxes=target, score=score), keep)
    if rows.detected is not None:
        detected, invalid = rows.detected.apply_bad_boxes(rule)
        count, rows = count if len(keep) else invalid, replace(rows, detected=detected)
    source.notes.kept = keep
    return {rule: count}, rows, conventions.select(keep)


def _without_flat_boxes(rows: Rows, source: Source, conventions: Conventions) -> tuple[Rows, Conventions]:
    """Return rows and conventions without triplets of replies with a box without area, if at most half of all."""
    if rows.loose is None or not 0 < (flat := _have_no_area(rows, conventions) & rows.loose).sum() <= len(flat) / 2:
        return rows, conventions
    source.notes.add("flat_boxes", count=int(flat.sum()), first=triplet_place(rows, int(np.argmax(flat))))
    return replace(_select_rows(rows, ~flat), loose=None), conventions.select(~flat)


def _have_no_area(rows: Rows, conventions: Conventions) -> Mask:
    """Return the (n,) mask of triplets of which a box has no area."""
    human, target = (are_valid(boxes, conventions.coordinates) for boxes in (rows.human_boxes, rows.object_boxes))
    return ~(human & target)


def _refuse_numbers(rows: Rows, source: Source) -> None:
    """Raise InputError if half of the verbs or objects are numbers, which match no label; note fewer such words."""
    hint = "numbers are not words: write the label of each class ID, or use a format with class IDs, such as qpic"
    verbs = "verb", rows.verbs, rows.verb, source.benchmark.classes.verbs
    for part, words, index, labels in (verbs, ("object", rows.objects, rows.object, source.benchmark.objects)):
        numeric = [i for i, word in enumerate(words) if _NUMBER.fullmatch(word) and word not in labels]
        if numeric and 2 * len(numeric) >= len(words):
            row = int(np.argmax(np.isin(index, numeric)))
            found, expected = quote(words[index[row]]), f"a word, such as {quote(labels[0])}"
            place = triplet_place(rows, row)
            raise InputError(source.path, record=place, field=part, found=found, expected=expected, hint=hint)
        for i in numeric:
            source.notes.add("numeric_words", words[i])


def _select_rows(rows: Rows, keep: Mask | Indices) -> Rows:
    """Return the rows in ``keep``, a mask or row indices, and all images, including images without remaining rows."""
    place, indices = rows.place, np.flatnonzero(keep) if keep.dtype == np.bool_ else keep
    names = ("image", "human_boxes", "object_boxes", "verb", "object", "score", "loose")
    columns: dict[str, Any] = {name: each[keep] for name in names if (each := getattr(rows, name)) is not None}
    return replace(rows, **columns, place=None if place is None else lambda row: place(int(indices[row])))


def _with_scores(rows: Rows, source: Source) -> tuple[Rows, Mask]:
    """Return the rows with missing scores set to 1, and an (n,) mask of the missing scores."""
    score = np.full(len(rows.verb), np.nan) if rows.score is None else rows.score
    absent = np.isnan(score)
    if rows.loose is None and source.notes.count("scores_unread") and absent.all():
        found = f"no number in any of {pluralize(len(absent), 'triplet')}"
        raise InputError(source.path, field="score", found=found, expected="finite numbers, or no scores at all")
    source.notes.scores_defaulted = int(absent.sum())
    given, image = score[~absent], rows.image[~absent]
    if rows.detected is not None and not len(score):
        given = np.concatenate([rows.detected.agent, rows.detected.score], axis=1).astype(np.float64)
        given, image = given[~np.isnan(given)], np.repeat(rows.detected.image, (~np.isnan(given)).sum(axis=1))
    if scales := count_scales(given, image):
        source.notes.add("two_scales", count=scales[1], second=scales[0])
    return replace(rows, score=np.where(absent, 1.0, score)), absent


def _in_one_scale(table: Interactions, scores_as: str, absent: Mask) -> Interactions:
    """Return the table with scores converted by ``scores_as`` unless "", and triplets in the mask ``absent`` last."""
    table = convert_scores(table, scores_as, ~absent) if scores_as else table
    if not absent.any() or absent.all():
        return table
    # A score of 1 would rank them above all scored triplets; a 0 would tie with triplets scored 0.
    lowest = table.score[~absent].min()
    return replace(table, score=np.where(absent, lowest - abs(lowest) / 2, table.score))


def _clip_words(words: Sequence[str], index: Indices, source: Source) -> tuple[list[str], Indices]:
    """Return the words, cut to 200 characters for reports and without duplicates, and the new (n,) word indices."""
    if max(map(len, words), default=0) <= _LONGEST_WORD:
        return list(words), index
    source.notes.add("clipped", count=sum(len(word) > _LONGEST_WORD for word in words))
    clipped, number = number_words(word[:_LONGEST_WORD] for word in words)
    return clipped, number[index]
