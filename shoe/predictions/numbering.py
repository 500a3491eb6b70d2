"""Numberings, which map class IDs to labels, and a check whether another numbering fits the ground truth better."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.checks import labels_of_words
from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import Indices, Ints, distinct, first_of_each, first_true, number_distinct
from shoe.core.errors import InputError, OptionError, flag, quote, unknown_name
from shoe.core.interactions import Interactions
from shoe.lexicon import text
from shoe.lexicon.resolve import match_labels
from shoe.predictions.agreement import Sample, sample_pairs
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Source

OBJECTS, VERBS, INTERACTIONS = PARTS = ("objects", "verbs", "interactions")
ALPHABETICAL, CLASS_LIST, ACTIONS, EVALUATED = "alphabetical", "class-list", "actions", "evaluated"
NO_ID = -(1 << 31)


@dataclass(frozen=True, slots=True)
class Numbering:
    """Meaning of the IDs of objects, verbs or interactions in a file.

    ``label`` is the (k,) label index of the k numbers ``first``, ``first + 1``, ...; -1 for a number that is no ID.
    ``about`` is the description of the valid IDs, for messages.
    """

    label: Indices
    about: str
    first: int = 0

    @property
    def last(self) -> int:
        """The highest ID."""
        return self.first + len(self.label) - 1

    def labels_of(self, ids: Indices) -> Indices:
        """Return the (n,) label index of each ID; -1 for numbers that are no ID."""
        inside = (ids >= self.first) & (ids <= self.last)
        return np.where(inside, self.label[np.where(inside, ids - self.first, 0)], -1)

    def ids_of(self, labels: Indices) -> Indices:
        """Return the (n,) lowest ID of each label index; :data:`NO_ID` for a label without an ID, and for index -1."""
        ids = np.flatnonzero(self.label >= 0)[::-1]
        id_of = np.full(max(self.label.max(initial=0), labels.max(initial=0)) + 2, NO_ID, np.int64)
        id_of[self.label[ids]] = ids + self.first
        return id_of[labels]


def labels(dataset: Benchmark, part: str) -> tuple[str, ...]:
    """Return the labels of a dataset's objects, verbs or interactions; V-COCO's verbs have a role ("hold obj")."""
    if part == INTERACTIONS:
        return tuple(dataset.classes.labels)
    if part == OBJECTS:
        return dataset.objects
    actions = dataset.actions
    with_role = (f"{actions.names[action]} {actions.entries[entry][1] if entry >= 0 else ''}".strip()
                 for action, entry in actions.by_verb_id)  # fmt: skip
    return tuple(with_role) or dataset.classes.verbs


def own_name(dataset: Benchmark, part: str) -> str:
    """Return the name of the dataset's own order of objects, verbs or interactions: "coco", "hico-det", ..."""
    return dataset.object_numbers.lower() if part == OBJECTS and dataset.load_object_ids else dataset.name


@cache
def numberings(dataset: Benchmark, part: str) -> Mapping[str, Numbering]:
    """Return all known numberings of the objects, verbs or interactions of a dataset by name, the dataset's own first.

    A name consists of an order of the labels and the ID of the first label: "alphabetical-0", or "alphabetical-minus-1"
    if the first ID is -1. The order "actions" is the dataset's order of verbs, without no_interaction, which follows
    IDs from 0 and precedes IDs from 1; for V-COCO, its order of actions, without roles. "evaluated" are only the
    evaluated interactions. "coco-ids" are COCO's category IDs, "coco-ids-plus-1" are one higher.
    """
    classes, names, own = dataset.classes, labels(dataset, part), own_name(dataset, part)
    by_role = part == VERBS and len(dataset.actions) > 0
    own_order = {OBJECTS: dataset.object_order, VERBS: dataset.verb_order}.get(part) if not by_role else None
    listed = {OBJECTS: classes.object, VERBS: classes.verb}.get(part) if not by_role else None
    known = {
        own: np.arange(len(names)) if own_order is None else own_order,
        ALPHABETICAL: np.array(sorted(range(len(names)), key=names.__getitem__), np.int64),
    }
    if listed is not None:
        known[CLASS_LIST] = np.array(list(dict.fromkeys(listed.tolist())), np.int64)
    if part == INTERACTIONS and not classes.scored.all():
        known[EVALUATED] = np.flatnonzero(classes.scored)
    if part == VERBS and any(no_action := [text.says_no_interaction(text.tokens(name)) for name in names]):
        known[ACTIONS] = known[own][~np.array(no_action)[known[own]]]
    if by_role:
        known[ACTIONS] = np.unique([action for action, _ in dataset.actions.by_verb_id], return_index=True)[1]
    found = {}
    for order, label in known.items():
        shown = {ALPHABETICAL: "alphabetical order", CLASS_LIST: "the order of the class list"}.get(order)
        shown = shown or f"{dataset.object_numbers if part == OBJECTS else dataset.name}'s order"
        shown += " without roles" if order == ACTIONS and by_role else " of evaluated classes" * (order == EVALUATED)
        none = np.setdiff1d(known[own], label) if order == ACTIONS and not by_role else label[:0]
        for name, first in (("0", 0), ("1", 1), ("2", 2), ("minus-1", -1)):
            # no_interaction as a background class: before IDs from 1, as 0, and after IDs from 0
            all_ids, start = (none, label) if first > 0 else (label, none), first - len(none) * (first > 0)
            about = f"{start} to {len(label) + len(none) - 1 + start}, {part} in {shown}"
            about += f" with no_interaction {'first' if first > 0 else 'last'}" if len(none) else ""
            found[f"{order}-{name}"] = Numbering(np.concatenate(all_ids), about, start)
    ids = dataset.object_ids
    if part == OBJECTS and list(ids) != list(range(len(ids))):
        for name, first in (("", 0), ("-plus-1", 1), ("-minus-1", -1)):
            about = f"one of {dataset.object_numbers}'s {len(ids)} category IDs, between {min(ids) + first} and "
            found[f"{own}-ids{name}"] = Numbering(dataset.object_of_id, f"{about}{max(ids) + first}", first)
    return found


def split_format(format_: str) -> tuple[str, dict[str, str]]:
    """Return ("qpic", {"objects": "alphabetical-0"}) for "qpic,objects=alphabetical-0"; OptionError if invalid."""
    name, *settings = format_.split(",")
    pairs = [setting.partition("=") for setting in settings]
    for setting, (part, _, numbering) in zip(settings, pairs, strict=True):
        if part not in PARTS or not numbering:
            raise OptionError(f"format {format_!r}: found {setting!r}, expected {' or '.join(PARTS)} and a numbering, "
                              "such as verbs=alphabetical-1")  # fmt: skip
    return name, {part: numbering for part, _, numbering in pairs}


def with_numberings(format_: str, chosen: Mapping[str, str]) -> str:
    """Return a format name with {part: numbering} appended, such as "qpic,objects=alphabetical-0"."""
    return ",".join([format_, *(f"{part}={name}" for part, name in chosen.items())])


def labels_of_ids(
    source: Source,
    part: str,
    ids: Indices,
    default: str,
    field: str,
    place: Callable[[int], str],
    no_object: int | None = None,
) -> Indices:
    """Return the (n,) label index of each class ID in a file, under the user's numbering or ``default``.

    ``field`` and ``place(row)`` name the key and record of an ID in messages. ``no_object`` is the label index for the
    ID highest + 1, which means "no object" in some formats; None if it is invalid. Raises InputError for the first
    number that is no ID, naming the numberings in which all numbers are IDs.
    """
    known = numberings(source.benchmark, part)
    name = source.numbering.get(part, default)
    if name not in known:
        raise unknown_name(f"numbering of {part}", name, known)
    source.notes.numbering[part] = name
    beyond = {key: each.last + 1 if no_object is not None else NO_ID for key, each in known.items()}
    found = np.where(ids == beyond[name], no_object or 0, known[name].labels_of(ids))
    if (row := first_true(found < 0)) is not None:
        fitting = [key for key, each in known.items() if ((each.labels_of(ids) >= 0) | (ids == beyond[key])).all()]
        setting = with_numberings(source.notes.format, {part: fitting[0] if len(fitting) == 1 else "..."})
        hint = f"all IDs are valid as {' or '.join(fitting)}: set it with {flag('format', setting)}"
        raise InputError(
            source.path, record=place(row), field=field, found=str(ids[row]), hint=hint if fitting else None,
            expected=f"{known[name].about} ({source.notes.format} IDs)",
        )  # fmt: skip
    return found


def labels_of(table: Interactions, classes: HoiClasses, path: str | Path, name: str) -> tuple[Indices, Indices]:
    """Return the (n,) index of each triplet's verb in ``classes.verbs``, and of its object in ``classes.objects``.

    Raises InputError for unknown words. The message contains ``path`` and ``name``, the name of the format.
    """

    def labels_of_part(
        part: Literal["verb", "object"], words: Sequence[str], index: Ints, known: Sequence[str]
    ) -> Indices:
        limit, match = f"; the format {name} has no other {part}s", partial(match_labels, labels=known, part=part)
        return labels_of_words(path, part, index, words, known, lambda row: f"triplet {row + 1}", limit, match)

    verb = labels_of_part("verb", table.verbs, table.verb, classes.verbs)
    return verb, labels_of_part("object", table.objects, table.object, classes.objects)


def hoi_classes_of(table: Interactions, classes: HoiClasses, path: str | Path, name: str) -> Indices:
    """Return the (n,) HOI class index of each triplet. Raises InputError for a triplet that is no HOI class."""
    verb, object_ = labels_of(table, classes, path, name)
    hoi = classes.of[verb, object_].astype(np.int64)
    if (row := first_true(hoi < 0)) is not None:
        found = f"{quote(classes.verbs[verb[row]])} with {quote(classes.objects[object_[row]])}"
        expected = f"one of the {len(classes)} classes of {classes.name}; the format {name} has no other classes"
        raise InputError(path, record=f"triplet {row + 1}", found=found, expected=expected)
    return hoi


# The check compares predictions with the annotated pairs whose boxes both overlap theirs: the annotation tells what the
# label should be. It reports but never changes a numbering.
_HIT, _FEWEST = 0.5, 16
# Another order changes many IDs. A few IDs can also be those of similar labels that a model confuses: sit_at, sit_on.
_FEWEST_IDS, _PART_OF_IDS = 3, 0.25
# Another numbering is "far better" if it leads by _MARGIN, by three standard deviations of a fraction of n, at most
# 0.5 / sqrt(n), and by the factor _FACTOR. Or of predictions that agree with no annotation, it explains far more than
# chance: other numberings explain at most 0.06 for weak detectors.
_MARGIN, _DEVIATIONS, _FACTOR, _MOST_OF_REST, _NEXT_TO_NONE = 0.1, 3, 2, 0.1, 0.05
# The better numbering is that of the whole file if at least this fraction of the IDs agree with it more often than with
# the applied numbering, among IDs for which the difference is more than a standard deviation.
_MOST_IDS = 0.7
_SHIFTED = 0.05  # rows in a row often have the same verb
_PARTS = 5  # of the images, to learn an unknown order
_EXCHANGED = 0.3  # fraction of the predictions of each of two labels that surely agree with the other label only


def check_numbering(
    predictions: Interactions, truth: GroundTruth, notes: ReadNotes | None, sample: Sample | None = None
) -> list[str]:
    """Return report lines on IDs that fit the annotations better in another numbering, or with two labels exchanged.

    Files with words are checked, too: their words may come from IDs that were converted with a wrong list of labels.
    ``sample`` is the result of :func:`~shoe.predictions.agreement.sample_pairs`, computed if None.
    """
    dataset = truth.benchmark
    named = (VERBS,) if predictions.objects == ("",) else (OBJECTS, VERBS)
    words = {part: f"{own_name(dataset, part)}-0" for part in named}
    numbering = notes.numbering if notes and notes.numbering else words
    row, annotated = (sample or sample_pairs(predictions, truth.interactions)).both
    better, lines, last = dict[str, str](), list[str](), 0
    for part, applied in numbering.items():
        predicted = _labels_in(predictions, dataset, part, row)
        pairs = np.stack([row, predicted, _labels_in(truth.interactions, dataset, part, annotated)])[:, predicted >= 0]
        if line := _shifted_rows(predictions, dataset, part, pairs):
            lines.append(line)
            continue
        found = _compare_numberings(numberings(dataset, part), applied, predictions.image[pairs[0]], *pairs)
        if found is None:
            names = labels(dataset, part)
            lines += [
                f"class IDs: {names[a]!r} and {names[b]!r} seem to be exchanged: {share:.0%} of the {part} with these "
                "labels agree with an annotation of the same boxes only if exchanged"
                for a, b, share in _exchanged(pairs, len(names))
            ]
            continue
        line = f"class IDs: {found.fit:.0%} of the {part} agree with an annotation of the same boxes"
        if found.name is None:
            line += f", because all are {labels(dataset, part)[pairs[1][0]]!r}: were the predicted {part} written?"
        elif numbering is words:
            share = "most" if found.is_whole else f"{found.of_rest:.0%} of the others"
            line += f", and {share} would in another order of the labels: were class IDs looked up in the right list?"
        elif not found.name:
            line += f" if IDs are read as {applied}, and {found.of_rest:.0%} would in an order that shoe does not know"
        else:
            others = "" if found.fit <= _NEXT_TO_NONE else " of the others"
            line += f" if IDs are read as {applied}, {found.of_rest:.0%}{others} if read as {found.name}"
            if found.is_whole:
                better[part], last = found.name, len(lines)
            else:
                line += ": the file seems to mix numberings, which no option reads"
        lines.append(line)
    if better:
        name = notes.format if notes else ""
        format_, chosen = split_format(name) if ", " not in name else (name, {})
        lines[last] += f"; if the latter is right, set it: {flag('format', with_numberings(format_, chosen | better))}"
    return lines


def _shifted_rows(predictions: Interactions, dataset: Benchmark, part: str, pairs: Indices) -> str:
    """Return a report line if the labels of the previous or next rows agree better with the annotations; else ""."""
    new = first_of_each(pairs[0])
    index, count = np.cumsum(new) - 1, int(new.sum())
    agrees = {}
    for step, name in enumerate(("previous", "same", "next"), -1):
        label = _labels_in(predictions, dataset, part, (pairs[0] + step).clip(0, len(predictions) - 1))
        agrees[name] = np.bincount(index, label == pairs[2], count) > 0
    for name in ("previous", "next") if count >= _FEWEST else ():
        lead, differing = (agrees[name] * 1 - agrees["same"]).sum(), (agrees[name] != agrees["same"]).sum()
        if lead > max(_SHIFTED * count, (_DEVIATIONS + 1) * differing**0.5):
            fit = f"class IDs: {agrees['same'].mean():.0%} of the {part} agree with an annotation of the same boxes"
            return f"{fit}, {agrees[name].mean():.0%} in the {name} row: are boxes and {part} shifted by one row?"
    return ""


def _exchanged(rows: Indices, size: int) -> list[tuple[int, int, float]]:
    """Return pairs of labels that are exchanged, and the fraction of their predictions that agree only if exchanged.

    ``rows`` are the (3, p) predictions, ascending, predicted and annotated labels; ``size`` is the number of labels.
    """
    new = first_of_each(rows[0])
    label, (of, other) = rows[1, new], np.divmod(distinct((np.cumsum(new) - 1) * (size + 1) + rows[2] + 1), size + 1)
    own = np.bincount(of, other - 1 == label[of], len(label)) > 0
    at, other = np.stack([of, other - 1])[:, (other > 0) & ~own[of]]
    number = np.bincount(label, minlength=size)
    code, count = np.unique(label[at] * size + other, return_counts=True)
    a, b = np.divmod(code, size)
    sure = (count - np.bincount(label, own, size)[a]) / number[a] - _DEVIATIONS * 0.5 / np.sqrt(number[a])
    back = np.searchsorted(code, b * size + a).clip(max=len(code) - 1)
    both = (a < b) & (code[back] == b * size + a) & (np.minimum(sure, sure[back]) >= _EXCHANGED)
    shares = (count + count[back]) / (number[a] + number[b])
    return list(zip(a[both].tolist(), b[both].tolist(), shares[both].tolist(), strict=True))


class _Finding(NamedTuple):
    """Better numbering ("" for an unknown order, None if all labels are the same) and fractions of labels that agree.

    ``of_rest`` is the fraction under the better numbering; if it is known, of the labels that disagree under the
    applied one. ``is_whole`` is False if only some predictions or some IDs have the better numbering.
    """

    fit: float
    name: str | None
    of_rest: float = 0.0
    is_whole: bool = True


def _compare_numberings(
    known: Mapping[str, Numbering], applied: str, image: Ints, row: Indices, predicted: Indices, expected: Indices
) -> _Finding | None:
    """Return the numbering that explains the labels far better than the one with the name ``applied``, or None.

    For each pair of a prediction and an annotation with overlapping boxes, the arrays are the image, the prediction,
    its label under the applied numbering and the annotated label. Predictions are in ascending order.
    """
    new = first_of_each(row)
    first, index = np.flatnonzero(new), np.cumsum(new) - 1
    if (count := len(first)) < _FEWEST:
        return None
    ids = known[applied].ids_of(predicted)
    agrees = {name: np.bincount(index, each.labels_of(ids) == expected, count) > 0 for name, each in known.items()}
    own = agrees[applied]
    fit, rest = float(own.mean()), count - int(own.sum())
    used, of_id = number_distinct(ids[first] - ids.min(), int(np.ptp(ids)) + 1)
    if len(used) == 1:
        return _Finding(fit, None) if fit < _HIT and len(np.unique(expected)) > 1 else None
    least = _MARGIN + _DEVIATIONS * 0.5 / count**0.5
    # A wrong label is often next to the right label in HICO-DET's list of classes: before it as often as after it.
    near = (np.bincount(index, known[applied].labels_of(ids + step) == expected, count)[~own] > 0 for step in (-1, 1))
    of_rest = max(_MOST_OF_REST, _FACTOR * min(float(each.mean()) for each in near)) if rest else 1
    whole = max(agrees, key=lambda name: agrees[name].sum())
    part = max(agrees, key=lambda name: (agrees[name] & ~own).sum())
    for best in (whole, part):
        gains = float(agrees[best][~own].mean()) if rest else 0.0
        is_better = agrees[best].mean() >= min(max(fit + least, fit * _FACTOR), 1)
        is_better |= rest >= _FEWEST and gains >= of_rest + _DEVIATIONS * 0.5 / rest**0.5
        # IDs that agree under neither numbering are those of wrong predictions, which do not tell the numbering. They
        # count unless far more predictions agree: in HICO-DET, the next class often has the same object.
        telling = agrees[best] | own if agrees[best].mean() >= fit + least else np.ones(count, bool)
        gained, either = (len(np.unique(of_id[mask])) for mask in (agrees[best] & ~own, telling))
        if is_better and gained >= max(_FEWEST_IDS, _PART_OF_IDS * either):
            # Number of predictions of each ID that agree only under the better, or only under the applied numbering.
            more, less = (np.bincount(of_id, a & ~b) for a, b in ((agrees[best], own), (own, agrees[best])))
            clear = np.abs(more - less) > np.sqrt(more + less)
            return _Finding(fit, best, gains, bool((more > less)[clear].sum() >= _MOST_IDS * clear.sum()))
    needed = max(fit + least, fit * _FACTOR)
    # The optimal order is computed, by scipy, only if IDs could agree that often if several had the same label.
    size = int(expected.max()) + 2
    pairs, counts = np.unique(predicted * size + expected + 1, return_counts=True)
    most = np.maximum.reduceat(counts, np.flatnonzero(first_of_each(pairs // size)))
    if needed > min(1, most.sum() / count):
        return None
    free = np.bincount(index, _learned_order(image, predicted, expected) == expected, count) > 0
    is_unknown = free.mean() >= needed and len(np.unique(of_id[free & ~own])) >= _FEWEST_IDS
    return _Finding(fit, "", float(free.mean())) if is_unknown else None


def _learned_order(image: Ints, predicted: Indices, expected: Indices) -> Indices:
    """Return the (n,) label of each prediction under the best-fitting order of labels, learned from other images.

    In an order, each ID has a different label; in errors of a model, one frequent label often replaces rare labels. The
    images are divided into five parts, and the order for a part is learned from the other four parts.
    """
    from scipy.optimize import linear_sum_assignment

    label = np.full(len(image), -1)
    # Nothing is learned of a label that occurs once, as most of the 14,130 interactions of SWIG-HOI in a file do.
    often = np.flatnonzero((np.bincount(predicted) > 1)[predicted] & (np.bincount(expected + 1) > 1)[expected + 1])
    _, row = np.unique(predicted[often], return_inverse=True)
    labels_of, column = np.unique(expected[often], return_inverse=True)
    part = np.unique(image, return_inverse=True)[1][often] % _PARTS
    for number in range(_PARTS if len(often) else 0):
        counts = np.zeros((row.max() + 1, len(labels_of)), np.int64)
        np.add.at(counts, (row[part != number], column[part != number]), 1)
        order = np.full(len(counts), -1)
        id_of, best = linear_sum_assignment(counts, maximize=True)
        order[id_of] = np.where(counts[id_of, best] > 0, labels_of[best], -1)
        label[often[part == number]] = order[row[part == number]]
    return label


def _labels_in(table: Interactions, dataset: Benchmark, part: str, rows: Indices) -> Indices:
    """Return the (n,) index in :func:`labels` of the word in each of n rows; -1 if the word is no label."""
    if part == INTERACTIONS:
        verb, target = (_labels_in(table, dataset, each, rows) for each in (VERBS, OBJECTS))
        return np.pad(dataset.classes.of, ((0, 1), (0, 1)), constant_values=-1)[verb, target].astype(np.int64)
    words, column = (table.verbs, table.verb) if part == VERBS else (table.objects, table.object)
    by_role = part == VERBS and len(dataset.actions) > 0
    used, index = number_distinct(column[rows].astype(np.int64), len(words))
    names = dataset.actions.names if by_role else labels(dataset, part)
    label = match_labels([words[i] for i in used], names, "verb" if part == VERBS else "object")[index].astype(np.int64)
    if by_role:
        known = np.flatnonzero(label >= 0)
        used, target = np.unique(table.object[rows[known]], return_inverse=True)
        label[known] = dataset.actions.verb_ids(names, [table.objects[i] for i in used], label[known], target)
    return label
