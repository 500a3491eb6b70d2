"""Data with which a page scores models again under another weight, delta or ensemble (``static/rescore.js``).

Boxes and scores are not needed: overlaps do not change, and only order and ties of scores matter. The data of a model
are the words and images of its predictions by decreasing score, and the possible matches of predictions and ground
truths, in the order in which equally similar ones are chosen. The tables of similarities are shared by all models.
"""

import base64
import gzip
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.scoring_options import SemanticOptions, settings
from shoe.comparison.run_file import smallest_integers
from shoe.core.arrays import Floats, Indices, descending_order
from shoe.core.errors import visible
from shoe.core.io.json import encode
from shoe.scoring.evidence.facts import single_rater_map
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import Report
from shoe.scoring.scorer import Scorer
from shoe.scoring.semantic import SemanticResult
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


@dataclass(frozen=True, slots=True)
class _Ensemble:
    """An ensemble of raters; ``option`` is its name on the command line, or None for a single rater."""

    label: str
    option: str | None
    similarity: Similarity


class _Scored(NamedTuple):
    report: Report
    result: SemanticResult
    similarities: HoiSimilarity
    source: Similarity


class Rescoring(NamedTuple):
    """Data with which a page scores models again (``static/rescore.js``): shared by all models, and per model."""

    shared: dict[str, Any]
    models: list[dict[str, Any]]


def rescoring(reports: Sequence[Report]) -> Rescoring | str:
    """Return the data for scoring again from reports with one ground truth, or the reason why that is impossible."""
    models = []
    for each in reports:
        if each.semantic is None or each.similarities is None or each.similarities.source is None:
            return "a model has no SHOE scores"
        models.append(_Scored(each, each.semantic, each.similarities, each.similarities.source))
    report, result, similarities, source = models[0]
    options, truth, chosen = result.options, report.truth, settings(result.options)
    if any(settings(other.result.options) != chosen or other.source.digest != source.digest for other in models):
        return "the models were scored under different options or maps"
    for name, known in _KNOWN.items():
        if chosen[name] not in known:
            supported = " or ".join(known)
            return f"the page supports only {name}={supported}; the models were scored with {name}={chosen[name]}"
    ensembles = _ensembles(source, options)
    tables = [each.report.predictions for each in models]
    of_tables = ([table.verbs for table in tables], [table.objects for table in tables])
    verb_words, object_words = (tuple(dict.fromkeys(word for words in each for word in words)) for each in of_tables)
    maps = [each.similarity for each in ensembles]
    found = [HoiSimilarity.of_words(truth.classes, verb_words, object_words, each, options) for each in maps]
    verbs = _Words.from_tables(verb_words, [each.verbs.values for each in found])
    objects = _Words.from_tables(object_words, [each.objects.values for each in found])
    values = np.unique(np.concatenate([verbs.columns.ravel(), objects.columns.ravel()]))
    numbers = [np.searchsorted(values, words.columns) for words in (verbs, objects)]
    shared = {
        "options": settings(options),
        "settings": {"weight": options.weight, "delta": options.delta, "ensemble": 0},
        "hoi": truth.hoi,
        "truth_image": truth.interactions.image,
        "counted": Scorer(report.task, similarities, options, result.near).counted.astype(np.uint8),
        "verb_row": similarities.verb_row,
        "object_row": similarities.object_row,
        "verb_words": verbs.columns.shape[2],
        "object_words": objects.columns.shape[2],
        "values": values,
        "ensembles": [
            {"label": each.label, "option": each.option, "verbs": of_verbs, "objects": of_objects}
            for each, of_verbs, of_objects in zip(ensembles, *numbers, strict=True)
        ],
    }
    return Rescoring(shared, [_model(each, ensembles, verbs, objects) for each in models])


def _ensembles(source: Similarity, options: SemanticOptions) -> list[_Ensemble]:
    if not isinstance(source, SimilarityMap):
        return [_Ensemble(source.name, None, source)]
    names = [options.ensemble, *(name for name in ENSEMBLES if name != options.ensemble)]
    together = [_Ensemble(name, name, replace(source, ensemble=name)) for name in names]
    if len(source.raters) == 1:
        return together[:1]
    maps = ((rater.name, single_rater_map(source, column)) for column, rater in enumerate(source.raters))
    return together + [_Ensemble(name, None, alone) for name, alone in maps]


@dataclass(frozen=True, slots=True, eq=False)
class _Words:
    """Similarities of the words of all models; words with equal similarities in all ensembles share a column.

    Attributes:
        columns: (ensembles, class words, distinct columns) similarities.
        number: column index by word.
    """

    columns: Floats
    number: dict[str, int]

    @classmethod
    def from_tables(cls, words: Sequence[str], tables: Sequence[Floats]) -> Self:
        stacked = np.stack(tables)
        flat = stacked.reshape(-1, len(words))
        _, first, number = np.unique(flat, axis=1, return_index=True, return_inverse=True)
        return cls(stacked[:, :, first], dict(zip(words, number.ravel().tolist(), strict=True)))

    def numbers(self, words: Sequence[str]) -> Indices:
        return np.array([self.number[word] for word in words], np.int64)


def _model(scored: _Scored, ensembles: Sequence[_Ensemble], verbs: _Words, objects: _Words) -> dict[str, Any]:
    task, table, options = scored.report.task, scored.report.predictions, scored.result.options
    scorer = Scorer(task, scored.similarities, options, scored.result.near)
    # The repeats that are left out depend only on which words have the same meaning in an ensemble.
    by_meanings = {_key(scored.similarities): scorer.near.prediction}
    playing = []
    for each in ensembles:
        other = HoiSimilarity.from_task(task, each.similarity, options)
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
    verb, object_ = verbs.numbers(table.verbs)[table.verb[rows]], objects.numbers(table.objects)[table.object[rows]]
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
