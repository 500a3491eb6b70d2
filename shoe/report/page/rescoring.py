"""Data with which a page scores models again under another weight, delta or ensemble (``static/rescore.js``).

Boxes and scores are not needed: overlaps do not change, and only order and ties of scores matter. The data of a model
are the words and images of its predictions by decreasing score, and the possible matches of predictions and ground
truths, in the order in which equally similar ones are chosen. The tables of similarities are shared by all models.
"""

import base64
import gzip
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions, settings
from shoe.comparison.run_file import smallest_integers
from shoe.core.arrays import Floats, descending_order
from shoe.core.errors import visible
from shoe.core.io.json import encode
from shoe.scoring.evidence.facts import single_rater_map
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.similarity import Similarity, SimilarityMap
from shoe.similarity.ensemble import ENSEMBLES

_ALIGNED = 8  # multiple of bytes at which each column starts, as typed arrays of JavaScript need it


def pack(value: Any) -> str:
    """Encode a JSON value that may contain arrays as text: base64 of the gzip of a JSON header and the arrays.

    ``unpack`` of ``static/packed.js`` decodes the text. Integers have the smallest type, other numbers are float64.
    """
    columns: list[NDArray[Any]] = []
    head = _without_columns(value, columns)
    ends = np.cumsum([column.nbytes + -column.nbytes % _ALIGNED for column in columns], dtype=np.int64).tolist()
    starts = zip(columns, [0, *ends], strict=False)
    index = [(column.dtype.str.lstrip("<|"), start, len(column)) for column, start in starts]
    content = encode({"columns": index, "value": head})
    parts = [len(content).to_bytes(4, "little"), content, b"\0" * (-(4 + len(content)) % _ALIGNED)]
    for column in columns:
        parts += [column.tobytes(), b"\0" * (-column.nbytes % _ALIGNED)]
    return base64.b64encode(gzip.compress(b"".join(parts), 9, mtime=0)).decode()


def _without_columns(value: Any, columns: list[NDArray[Any]]) -> Any:
    if isinstance(value, np.ndarray):
        column = value.ravel()
        column = column.astype(np.float64) if column.dtype.kind == "f" else smallest_integers(column)
        columns.append(column.astype(column.dtype.newbyteorder("<")))
        return {"$column": len(columns) - 1}
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, dict):
        return {visible(name): _without_columns(each, columns) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_columns(each, columns) for each in value]
    return value


_KNOWN = {
    "assign": ("best-first",),
    "fp-scope": ("dataset",),
    "repeats": ("near", "matched"),
    "compare": ("components",),
    "ap": ("all-points",),
    "ties": ("expected",),
    "tau-by": ("dataset", "score"),
}
"""Supported values of the options that the page supports only in part."""


_Ensemble = tuple[str, str | None, Similarity]
"""Label of an ensemble of raters, its name on the command line (None for a single rater), and its similarities."""


class Rescoring(NamedTuple):
    """Data with which a page scores models again (``static/rescore.js``): shared by all models, and per model."""

    shared: dict[str, Any]
    models: list[dict[str, Any]]


def rescoring(reports: Sequence[Report]) -> Rescoring | str:
    """Return the data for scoring again from reports with one ground truth, or the reason why that is impossible."""
    results = [report.semantic for report in reports if report.semantic is not None]
    similarities = [report.similarities for report in reports if report.similarities is not None]
    sources = [each.source for each in similarities if each.source is not None]
    if not len(reports) == len(results) == len(sources):
        return "a model has no SHOE scores"
    options, truth, source = results[0].options, reports[0].truth, sources[0]
    chosen = settings(options)
    if any(settings(each.options) != chosen for each in results) or len({each.digest for each in sources}) > 1:
        return "the models were scored under different options or maps"
    for name, known in _KNOWN.items():
        if chosen[name] not in known:
            supported = " or ".join(known)
            return f"the page supports only {name}={supported}; the models were scored with {name}={chosen[name]}"
    ensembles = _ensembles(source, options)
    tables = [report.predictions for report in reports]
    verb_words, object_words = (
        tuple(dict.fromkeys(word for words in each for word in words))
        for each in ([table.verbs for table in tables], [table.objects for table in tables])
    )
    found = [HoiSimilarity.of_words(truth.classes, verb_words, object_words, each, options) for *_, each in ensembles]
    verbs, verb_number = _distinct_columns(verb_words, [each.verbs.values for each in found])
    objects, object_number = _distinct_columns(object_words, [each.objects.values for each in found])
    values = np.unique(np.concatenate([verbs.ravel(), objects.ravel()]))
    numbers = [np.searchsorted(values, columns) for columns in (verbs, objects)]
    shared = {
        "options": chosen,
        "settings": {"weight": options.weight, "delta": options.delta, "ensemble": 0},
        "hoi": truth.hoi,
        "truth_image": truth.interactions.image,
        "counted": truth.classes.evaluated(options.no_interaction).astype(np.uint8),
        "verb_row": similarities[0].verb_row,
        "object_row": similarities[0].object_row,
        "verb_words": verbs.shape[2],
        "object_words": objects.shape[2],
        "values": values,
        "ensembles": [
            {"label": label, "option": option, "verbs": of_verbs, "objects": of_objects}
            for (label, option, _), of_verbs, of_objects in zip(ensembles, *numbers, strict=True)
        ],
    }
    parts = zip(reports, similarities, results, strict=True)
    scorers = (Scorer(report.task, words, result.options, result.scorer.near) for report, words, result in parts)
    return Rescoring(shared, [_model(scorer, ensembles, verb_number, object_number) for scorer in scorers])


def _ensembles(source: Similarity, options: SemanticOptions) -> list[_Ensemble]:
    if not isinstance(source, SimilarityMap):
        return [(source.name, None, source)]
    names = [options.ensemble, *(name for name in ENSEMBLES if name != options.ensemble)]
    together: list[_Ensemble] = [(name, name, replace(source, ensemble=name)) for name in names]
    if len(source.raters) == 1:
        return together[:1]
    return together + [(rater.name, None, single_rater_map(source, i)) for i, rater in enumerate(source.raters)]


def _distinct_columns(words: Sequence[str], tables: Sequence[Floats]) -> tuple[Floats, dict[str, int]]:
    """Return (ensembles, class words, distinct columns) similarities, and the column index of each word.

    ``tables`` are the (class words, words) similarities of each ensemble; words that are equal in all share a column.
    """
    stacked = np.stack(tables)
    _, first, number = np.unique(stacked.reshape(-1, len(words)), axis=1, return_index=True, return_inverse=True)
    return stacked[:, :, first], dict(zip(words, number.ravel().tolist(), strict=True))


def _model(
    scorer: Scorer, ensembles: Sequence[_Ensemble], verbs: Mapping[str, int], objects: Mapping[str, int]
) -> dict[str, Any]:
    task, table, options = scorer.task, scorer.task.predictions, scorer.options
    # The repeats that are left out depend only on which words have the same meaning in an ensemble.
    by_meanings = {_key(scorer.similarities): scorer.near.prediction}
    playing = []
    for *_, similarity in ensembles:
        other = HoiSimilarity.from_task(task, similarity, options)
        key = _key(other)
        if key not in by_meanings:
            by_meanings[key] = Scorer(task, other, options).near.prediction
        playing.append(by_meanings[key])
    some = np.unique(np.concatenate(playing))

    rows = scorer.rows[descending_order(table.score[scorer.rows])]
    score = table.score[rows]
    position = np.full(len(table), -1)
    position[rows] = np.arange(len(rows))
    pairs = task.overlaps(options.coordinates, options.rule)
    pairs = pairs.select(np.isin(pairs.prediction, some) & scorer.counted[scorer.hoi[pairs.truth]])
    pairs = pairs.select(scorer.order(pairs, np.zeros(len(pairs))))
    verb = np.array([verbs[word] for word in table.verbs], np.int64)[table.verb[rows]]
    object_ = np.array([objects[word] for word in table.objects], np.int64)[table.object[rows]]
    pair, words = np.unique(verb << 32 | object_, return_inverse=True)
    return {
        "words": words,
        "pair_verb": pair >> 32,
        "pair_object": pair & 0xFFFFFFFF,
        "tied": np.packbits(np.diff(score, prepend=np.inf) == 0),
        "zero_from": int((score > 0).sum()),
        "map_rows": len(scorer.map_rows),  # number of first rows that count: rows are sorted by score
        "f1_rows": len(scorer.f1_rows),
        "image": task.image[rows[: len(scorer.f1_rows) if options.f1_fp_scope == "image" else 0]],
        "truth": pairs.truth,
        "step": np.diff(position[pairs.prediction], prepend=0),
        "not_playing": [position[np.setdiff1d(some, each)] for each in playing],
    }


def _key(similarities: HoiSimilarity) -> bytes:
    return b"".join(meaning.tobytes() for meaning in similarities.meanings)
