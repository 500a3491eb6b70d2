"""Files of pairs, as detectors have them before they classify interactions; the form is Diag-HOI's, with more fields.

JSON, JSON Lines or a pickle of plain values, one object an image:

    {"filename": "HICO_test2015_00000001.jpg", "box_pairs": [
        {"h_box": [x1, y1, x2, y2], "o_box": [x1, y1, x2, y2], "o_label": 17,
         "h_score": 0.9, "o_score": 0.8, "hoi_score_inter": 0.7, "verb_scores": {"ride": 0.7, "hold": 0.1}}]}

``o_label`` is an object's number in COCO's order, from 0, or its word. The rest is optional, in all pairs or in none:

- ``h_score``, ``o_score``: scores of the two detections; the lower one is the pair's, as a detector with a threshold
  keeps a pair whose boxes both pass it;
- ``verb_scores``: probability of each verb *given the boxes*, without scores of detection: a list of all the dataset's
  verbs in alphabetical order, or an object of some of them by word;
- ``hoi_score_inter``: the highest of them but no_interaction's; taken from ``verb_scores`` where it is absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from shoe.benchmarks import benchmark, fields
from shoe.benchmarks.classes import NO_INTERACTION, HoiClasses, coco_objects
from shoe.core.arrays import Floats, Indices
from shoe.core.errors import InputError, near, quote
from shoe.core.ragged import places
from shoe.core.rows import Rows
from shoe.lexicon.labels import match_labels
from shoe.predictions.boxes import Convention, parse_convention
from shoe.predictions.names import image_name
from shoe.predictions.pair_scores import NO_VERB, Pairs
from shoe.predictions.rows import to_table
from shoe.predictions.source import Source, collection_paused, open_source

_PAIRS = "box_pairs"
_DETECTIONS = ("h_score", "o_score")
_INTERACTION = "hoi_score_inter"
_VERBS = "verb_scores"
_EVERYWHERE = "this key in every pair or in none"


def is_pairs(source: Source) -> bool:
    """Tell whether a document is a file of pairs."""
    return _PAIRS in source.first


def read_pairs(
    path: str | Path,
    *,
    boxes: str | None = None,
    dataset: str = "hico-det",
    sizes: Mapping[str, tuple[int, int]] | None = None,
) -> Pairs:
    """Read a file of pairs; see the module.

    Args:
        path: the file.
        boxes: name of the box convention, if boxes are not x1, y1, x2, y2 in pixels.
        dataset: whose objects and verbs the file names.
        sizes: width and height of images by name, for conventions that need them.

    Raises:
        InputError: naming the image, pair and field that break the form.
        OptionError: for an unknown convention or dataset.
    """
    convention = Convention() if boxes is None else parse_convention(boxes)
    with collection_paused():
        source = open_source(path, benchmark(dataset).classes, sizes)
        if source.document != [] and not is_pairs(source):
            keys = ", ".join(map(quote, list(source.first)[:8]))
            found = f"objects with the keys {keys}" if keys else f"a {source.kind} of another form"
            raise InputError(path, found=found, expected=f"pairs: an object with filename and {_PAIRS} for each image")
        return _read(source, convention)


def _read(source: Source, convention: Convention) -> Pairs:
    records, classes = source.records, source.classes
    try:
        images = [image_name(record["filename"]) for record in records]
        lists = [record[_PAIRS] for record in records]
        pairs = fields.flat(lists)
        humans, targets = (fields.rows([pair[name] for pair in pairs], 4) for name in ("h_box", "o_box"))
        objects, object_ = _labels([pair["o_label"] for pair in pairs], classes)
        detections = [_finite(_column(pairs, name)) for name in _DETECTIONS if _has(pairs, name)]
        interaction = _finite(_column(pairs, _INTERACTION)) if _has(pairs, _INTERACTION) else None
        verb_scores = _verb_scores([pair[_VERBS] for pair in pairs], classes) if _has(pairs, _VERBS) else None
    except (TypeError, KeyError, ValueError, AttributeError, OverflowError):
        _explain(source, records)
    counts = np.fromiter(map(len, lists), np.int64, len(lists))
    image, place = np.repeat(np.arange(len(records)), counts), places(counts)
    rows = Rows(
        images=images,
        image=image,
        human_boxes=humans,
        object_boxes=targets,
        verbs=[NO_VERB],
        objects=objects,
        verb=np.zeros(len(pairs), np.int64),
        object=object_,
        score=np.min(detections, axis=0) if detections else np.ones(len(pairs)),
        place=lambda row: f"pair {place[row]}",
    )
    table = to_table(rows, source, convention)
    source.notes.format = "pairs"
    if interaction is None and verb_scores is not None:
        interaction = _highest(verb_scores, classes)
    return Pairs(table, bool(detections), interaction, verb_scores, classes.verbs, notes=source.notes)


def _has(pairs: Sequence[dict[str, Any]], name: str) -> bool:
    """Whether pairs have a field; ``ValueError`` if some have it and some have not."""
    number = sum(name in pair for pair in pairs)
    if number not in (0, len(pairs)):
        raise ValueError
    return number > 0


def _column(pairs: Sequence[dict[str, Any]], name: str) -> Floats:
    return fields.number_column([pair[name] for pair in pairs])


def _finite(numbers: Floats) -> Floats:
    if not np.isfinite(numbers).all():
        raise ValueError
    return numbers


def _labels(values: Sequence[Any], classes: HoiClasses) -> tuple[list[str], Indices]:
    """Words, and the word of each pair, from words or from numbers in COCO's order."""
    if set(map(type, values)) == {str}:
        index: dict[str, int] = {}
        column = [index.setdefault(word, len(index)) for word in values]
        return list(index), np.array(column, np.int64)
    table = coco_objects(classes)
    number = fields.whole_numbers(values)
    if ((number < 0) | (number >= len(table))).any():
        raise ValueError
    return list(classes.objects), table[number]


def _verb_scores(values: Sequence[Any], classes: HoiClasses) -> Floats:
    """(n, V) scores from lists of all verbs or from objects of some; NaN where none is given."""
    if set(map(type, values)) != {dict}:
        return _finite(fields.rows(values, len(classes.verbs)))
    index: dict[str, int] = {}
    word = [index.setdefault(key, len(index)) for key in chain.from_iterable(values)]
    verbs = match_labels(list(index), classes.verbs, "verb")
    if (verbs < 0).any():
        raise ValueError
    pair = np.repeat(np.arange(len(values)), np.fromiter(map(len, values), np.int64, len(values)))
    scores = np.full((len(values), len(classes.verbs)), np.nan)
    given = list(chain.from_iterable(each.values() for each in values))
    scores[pair, verbs[np.array(word, np.int64)]] = _finite(fields.number_column(given))
    return scores


def _highest(verb_scores: Floats, classes: HoiClasses) -> Floats:
    """(n,) highest score of a verb but no_interaction; 0 where none is given."""
    actual = np.array([verb != NO_INTERACTION for verb in classes.verbs])
    highest = np.fmax.reduce(verb_scores, axis=1, where=actual, initial=np.nan)
    return np.where(np.isnan(highest), 0.0, highest)


def _explain(source: Source, records: Sequence[Any]) -> NoReturn:
    """Raise the error of the first place that breaks the form."""
    path, classes = source.path, source.classes
    first: dict[str, Any] | None = None
    for number, record in enumerate(records):
        name = fields.take(path, source.place(number), record, "filename", object)
        try:
            where = f"image {quote(image_name(name))}"
        except ValueError:
            place, found = source.place(number), fields.shown(name)
            raise InputError(path, record=place, field="filename", found=found, expected="a file name") from None
        for i, pair in enumerate(fields.take(path, where, record, _PAIRS, list)):
            place = f"{where}: pair {i}"
            for field in ("h_box", "o_box"):
                fields.take_row(path, place, fields.take(path, place, pair, field, list), field, fields.BOX)
            first = first or pair
            _explain_label(path, place, fields.take(path, place, pair, "o_label", object), first["o_label"], classes)
            for field in (*_DETECTIONS, _INTERACTION, _VERBS):
                if (field in pair) != (field in first):
                    found = "the first one" if field in pair else "none"
                    raise InputError(path, record=place, field=field, found=found, expected=_EVERYWHERE)
                if field in pair and field != _VERBS:
                    _explain_number(path, place, field, pair[field])
            if _VERBS in pair:
                _explain_verbs(path, place, pair[_VERBS], first[_VERBS], classes)
    fields.unexplained(path, "the form of pairs")


def _explain_number(path: Path, place: str, field: str, value: Any) -> None:
    if type(value) not in (int, float) or not np.isfinite(float(value)):
        raise InputError(path, record=place, field=field, found=fields.shown(value), expected="a finite number")


def _explain_label(path: Path, place: str, value: Any, first: Any, classes: HoiClasses) -> None:
    if type(first) is str:
        if type(value) is not str:
            found = fields.shown(value)
            raise InputError(path, record=place, field="o_label", found=found, expected="a word, as in the first pair")
        return
    fields.take_whole_number(path, place, value, "o_label")
    most = len(coco_objects(classes)) - 1
    if not 0 <= value <= most:
        expected = f"0 to {most}, objects in COCO's order"
        raise InputError(path, record=place, field="o_label", found=str(value), expected=expected)


def _explain_verbs(path: Path, place: str, value: Any, first: Any, classes: HoiClasses) -> None:
    if isinstance(first, dict) and isinstance(value, dict):
        for word, score in value.items():
            if match_labels([str(word)], classes.verbs, "verb")[0] < 0:
                alike = near(str(word), classes.verbs)
                hint = f"did you mean {alike[0]}?" if alike else None
                expected = f"one of the {len(classes.verbs)} verbs of {classes.name}"
                raise InputError(path, record=place, field=_VERBS, found=quote(word), expected=expected, hint=hint)
            _explain_number(path, place, f"{_VERBS}: {word}", score)
        return
    if isinstance(value, list) and len(value) == len(classes.verbs):
        for verb, score in zip(classes.verbs, value, strict=True):
            _explain_number(path, place, f"{_VERBS}: {verb}", score)
    if isinstance(first, dict) or not isinstance(value, list) or len(value) != len(classes.verbs):
        shape = "an object" if isinstance(first, dict) else f"a list of {len(classes.verbs)} numbers"
        found = f"a list of {len(value)}" if isinstance(value, list) else fields.shown(value)
        raise InputError(path, record=place, field=_VERBS, found=found, expected=f"{shape}, one score a verb")
