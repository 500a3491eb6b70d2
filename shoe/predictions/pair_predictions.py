"""Predicted pairs of a human and an object, with detection scores and verb scores.

Pairs come from triplets (:func:`pairs_of`), or from a file that a detector wrote before classifying interactions
(:func:`read_pairs`). The file format extends Diag-HOI's: JSON, JSON Lines or a pickle of plain values with one object
per image:

    {"filename": "HICO_test2015_00000001.jpg", "box_pairs": [
        {"h_box": [x1, y1, x2, y2], "o_box": [x1, y1, x2, y2], "o_label": 17,
         "h_score": 0.9, "o_score": 0.8, "hoi_score_inter": 0.7, "verb_scores": {"ride": 0.7, "hold": 0.1}}]}

``o_label`` is an object index (HICO-DET: in COCO's order, from 0), or a word. The other fields are optional; a field
must occur in all pairs or in none:

- ``h_score``, ``o_score``: scores of the two detections. The pair gets the lower one: both boxes pass a threshold.
- ``verb_scores``: probability of each verb *given the boxes*, without detection scores: a list of all verbs of the
  benchmark in the order of their IDs, or an object with some verbs as keys.
- ``hoi_score_inter``: the highest score of all verbs except no_interaction; computed from ``verb_scores`` if absent.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, NoReturn

import numpy as np
from msgspec import UNSET, Meta, Struct, UnsetType

from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core import arrays
from shoe.core.arrays import Floats, Indices, as_bits
from shoe.core.errors import InputError, did_you_mean, quote
from shoe.core.interactions import Interactions, Rows, image_index
from shoe.core.io.files import describe_content, read_bytes
from shoe.core.io.json import Box, Finite, ImageName, Whole
from shoe.lexicon.resolve import match_labels
from shoe.predictions.boxes.conventions import Convention, parse_convention
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Sizes, Source, collection_paused, open_source
from shoe.predictions.table import to_table

NO_VERB = ""  # verb of all rows in a table of pairs
_PAIRS, _VERBS = "box_pairs", "verb_scores"


class _Pair(Struct, gc=False, forbid_unknown_fields=True):
    h_box: Box
    o_box: Box
    o_label: Annotated[Whole | str, Meta(extra={"expected": "a whole number, or a word"})]
    h_score: Finite | UnsetType = UNSET
    o_score: Finite | UnsetType = UNSET
    hoi_score_inter: Finite | UnsetType = UNSET
    verb_scores: list[Finite] | dict[str, Finite] | UnsetType = UNSET


class _Image(Struct, gc=False, forbid_unknown_fields=True):
    filename: ImageName
    box_pairs: Annotated[list[_Pair], Meta(extra={"item": "pair"})]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """The n predicted pairs of many images, with scores for V verbs.

    Attributes:
        table, detected: one row per pair, with the verb ``NO_VERB`` and the detection score; whether the pairs have
            detection scores (otherwise the score of every pair is 1).
        interaction: (n,) highest score of the verbs except no_interaction, without detection score; None if unknown.
        verb_scores: (n, V) verb scores without detection score, NaN if missing; None if no pair has verb scores.
        verbs: the V verbs of the benchmark.
        triplets, of_triplet: the triplets that the pairs were derived from, and the (triplets,) index of the pair of
            each triplet; None for pairs that were read from a file.
    """

    table: Interactions
    detected: bool = False
    interaction: Floats | None = None
    verb_scores: Floats | None = None
    verbs: tuple[str, ...] = ()
    triplets: Interactions | None = None
    of_triplet: Indices | None = None
    notes: ReadNotes | None = None


def holds_pairs(path: str | Path) -> bool:
    """Return whether a file contains pairs, not triplets; a file without the text "box_pairs" is not parsed."""
    if Path(path).is_dir() or _PAIRS.encode() not in read_bytes(path):
        return False
    return _PAIRS in open_source(path, benchmark(DEFAULT)).first


def read_pairs(
    path: str | Path, *, boxes: str | None = None, dataset: str | Benchmark = DEFAULT, sizes: Sizes | None = None
) -> Pairs:
    """Read pairs with boxes and scores in (extended) Diag-HOI format, with arguments of ``shoe.read_predictions``."""
    convention = Convention() if boxes is None else parse_convention(boxes)
    with collection_paused():
        source = open_source(path, benchmark(dataset), sizes)
        if source.kind != "document" or (_PAIRS not in source.first and source.document != []):
            keys = ", ".join(map(quote, list(source.first)[:8]))
            other = describe_content(source.data) if source.kind == "text" else f"a {source.kind} of another format"
            found = f"objects with the keys {keys}" if keys else other
            raise InputError(path, found=found, expected=f"pairs: an object with filename and {_PAIRS} for each image")
        return _read(source, convention)


def _read(source: Source, convention: Convention) -> Pairs:
    records, classes = source.typed(_Image), source.benchmark.classes
    images = source.image_names((record.filename for record in records), "filename")
    pairs = list(chain.from_iterable(record.box_pairs for record in records))
    counts = np.fromiter((len(record.box_pairs) for record in records), np.int64, len(records))
    image, index = np.repeat(np.arange(len(records)), counts), arrays.index_in_group(counts)

    def place(row: int) -> str:
        return f"image {quote(images[image[row]])}: pair {index[row] + 1}"

    def refuse(row: int, field: str, found: str, expected: str, hint: str | None = None) -> NoReturn:
        raise InputError(source.path, record=place(row), field=field, found=found, expected=expected, hint=hint)

    def optional(field: str) -> Floats | None:
        return source.optional_column(field, [getattr(pair, field) for pair in pairs], place) if pairs else None

    objects, object_ = _labels(source.benchmark, [pair.o_label for pair in pairs], refuse)
    detections = [scores for scores in map(optional, ("h_score", "o_score")) if scores is not None]
    interaction, verb_scores = optional("hoi_score_inter"), None
    given = [pair.verb_scores for pair in pairs]
    if pairs and source.all_have_field(_VERBS, given, place):
        verb_scores = _verb_scores(source.benchmark, given, refuse)  # type: ignore[arg-type]
        if interaction is None:  # 0 for a pair without a score of a verb other than no_interaction
            actual = np.array([verb != NO_INTERACTION for verb in classes.verbs])
            interaction = np.nan_to_num(np.fmax.reduce(verb_scores, axis=1, where=actual, initial=np.nan))
    rows = Rows(
        images=images,
        image=image,
        human_boxes=np.array([pair.h_box for pair in pairs], np.float64).reshape(-1, 4),
        object_boxes=np.array([pair.o_box for pair in pairs], np.float64).reshape(-1, 4),
        verbs=[NO_VERB],
        objects=objects,
        verb=np.zeros(len(pairs), np.int64),
        object=object_,
        score=np.min(detections, axis=0) if detections else np.ones(len(pairs)),
        place=lambda row: f"pair {index[row] + 1}",
    )
    table = to_table(rows, source, convention)
    source.notes.format = "pairs"
    return Pairs(table, bool(detections), interaction, verb_scores, classes.verbs, notes=source.notes)


def _labels(dataset: Benchmark, values: Sequence[str | float], refuse: Any) -> tuple[list[str], Indices]:
    """Return the object words, and the (n,) word index of each pair, for ``o_label`` values: words or numbers."""
    is_word = [isinstance(value, str) for value in values]
    if any(is_word):
        if not all(is_word):
            row = is_word.index(False)
            refuse(row, "o_label", str(values[row]), "a word, as in the other pairs")
        return arrays.number_words(map(str, values))
    number, most = np.array(values, np.float64).astype(np.int64), len(dataset.object_order) - 1
    if (wrong := arrays.first_true((number < 0) | (number > most))) is not None:
        refuse(wrong, "o_label", str(number[wrong]), f"0 to {most}, objects in {dataset.object_numbers}'s order")
    return list(dataset.classes.objects), dataset.object_order[number]


def _verb_scores(dataset: Benchmark, values: Sequence[list[float] | dict[str, float]], refuse: Any) -> Floats:
    """Return (n, V) verb scores from lists with all verbs or dicts with some verbs; missing scores are NaN."""
    verbs = dataset.classes.verbs
    form = type(values[0])
    for row, value in enumerate(values):
        if type(value) is not form or (form is list and len(value) != len(verbs)):
            found = f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
            expected = "an object" if form is dict else f"a list of {len(verbs)} numbers"
            refuse(row, _VERBS, found, f"{expected}, one score per verb")
    scores = np.full((len(values), len(verbs)), np.nan)
    if form is list:
        scores[:, dataset.verb_order] = np.array(values, np.float64)
        return scores
    words, word = arrays.number_words(str(key) for key in chain.from_iterable(values))
    pair = np.repeat(np.arange(len(values)), np.fromiter(map(len, values), np.int64, len(values)))
    verb = match_labels(words, verbs, "verb")
    if (unknown := arrays.first_true(verb < 0)) is not None:
        name, expected = words[unknown], f"one of the {len(verbs)} verbs of {dataset.name}"
        refuse(int(pair[np.argmax(word == unknown)]), _VERBS, quote(name), expected, did_you_mean(name, verbs))
    scores[pair, verb[word]] = list(chain.from_iterable(each.values() for each in values))  # type: ignore[union-attr]
    return scores


def pairs_of(triplets: Interactions, interaction_scores: Floats | None = None) -> Pairs:
    """Return the distinct human-object pairs of the triplets, in order of first appearance.

    Triplets belong to one pair if their image, human box, object box and object are equal. Boxes are compared exactly.
    Triplets of no_interaction and of words outside the dataset also yield pairs, because pairs are formed before
    classification (protocols.md 8.7).

    ``interaction_scores`` (n,) are the verb scores of the n triplets, without detection scores. If given, each pair
    gets the highest score of its triplets except no_interaction; 0 if it has no other triplet. This score is correct
    even in a file with only the best triplets, because the triplets of a pair have the same detection score.
    """
    first = arrays.first_equal(as_bits(triplets.image, triplets.object, triplets.human_boxes, triplets.object_boxes))
    is_pair = first == np.arange(len(first))
    rows = np.flatnonzero(is_pair)
    of_triplet = (np.cumsum(is_pair) - 1)[first]
    zeros = np.zeros(len(rows), np.int32)
    table = replace(triplets.select(rows), verb=zeros, verbs=(NO_VERB,), score=np.ones(len(rows)))
    highest = None
    if interaction_scores is not None:
        is_interaction = match_labels(triplets.verbs, (NO_INTERACTION,), "verb")[triplets.verb] < 0
        highest = np.full(len(rows), -np.inf)
        np.maximum.at(highest, of_triplet[is_interaction], interaction_scores[is_interaction])
        highest[np.isinf(highest)] = 0.0
    return Pairs(table, interaction=highest, triplets=triplets, of_triplet=of_triplet)


def find_pairs(pairs: Pairs, triplets: Interactions) -> Indices:
    """Return the (triplets,) index of the first pair with the same image, boxes and object as each triplet, or -1."""
    return _match_pairs(pairs.table, triplets)[0]


def triplet_scores(pairs: Pairs, triplets: Interactions) -> Floats:
    """Return the (triplets,) verb scores, from the first pair with this image, boxes, object and verb; NaN if none."""
    scores = np.full(len(triplets), np.nan)
    if pairs.verb_scores is None:
        return scores
    pair, next_pair = _match_pairs(pairs.table, triplets)
    verb = match_labels(triplets.verbs, pairs.verbs, "verb")[triplets.verb]
    rows = np.flatnonzero((pair >= 0) & (verb >= 0))
    while len(rows):
        scores[rows] = pairs.verb_scores[pair[rows], verb[rows]]
        pair[rows] = next_pair[pair[rows]]
        rows = rows[np.isnan(scores[rows]) & (pair[rows] >= 0)]
    return scores


def _match_pairs(pairs: Interactions, triplets: Interactions) -> tuple[Indices, Indices]:
    """Return the (triplets,) first pair with equal image, boxes and object, and the (pairs,) next such pair; or -1."""
    # Images and objects that do not occur in the triplets get index -1.
    image = image_index(pairs.images, triplets.images)[pairs.image]
    object_ = match_labels(pairs.objects, triplets.objects, "object")[pairs.object]
    of_pairs = as_bits(image, object_, pairs.human_boxes, pairs.object_boxes)
    of_triplets = as_bits(triplets.image, triplets.object, triplets.human_boxes, triplets.object_boxes)
    order, new = arrays.group_equal_rows([np.concatenate(column) for column in zip(of_pairs, of_triplets, strict=True)])
    first = arrays.first_of_run(order, new)[len(pairs) :]
    next_pair = np.full(len(order), -1, np.int64)
    next_pair[order[:-1]] = np.where(new[1:] | (order[1:] >= len(pairs)), -1, order[1:])
    return np.where(first < len(pairs), first, -1), next_pair[: len(pairs)]
