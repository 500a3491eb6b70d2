"""Audit of metrics: changes of predictions that add no information, scored under each protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import astuple

from shoe.benchmarks.protocols import SEMANTIC, choose
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import index_in_group
from shoe.core.documents import Document, Fraction, Gain, as_base_class
from shoe.core.errors import OptionError
from shoe.core.interactions import Interactions, concatenate
from shoe.scoring.entries import minus
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.score import unfit_scores
from shoe.scoring.semantic import semantic_score
from shoe.scoring.strict import strict_score
from shoe.similarity import similarity_for

AUDITED = ("shoe", "shoe-literal", "shoe-robust")
"""Semantic protocols under which attacks are scored, besides the benchmark's default exact-label protocol."""

_SURE = 0.6
"""Confidence of added predictions, above the published tau."""
_AGAIN = "every prediction twice, once"


class Attack(NamedTuple):
    """A change of predictions that adds no information about any image.

    Attributes:
        name, about: name and description of the change.
        change: function of the predictions and the most frequent verb of the ground truth; returns new predictions.
    """

    name: str
    about: str
    change: Callable[[Interactions, str], Interactions]


def _with_copies(table: Interactions, copy: Interactions, score: float | None = None) -> Interactions:
    # Copies have a fixed confidence, or half of the original's.
    scores = table.score / 2 if score is None else np.full(len(table), score)
    return concatenate([table, replace(copy, score=scores)])


def _moved(table: Interactions) -> Interactions:
    return replace(table, human_boxes=table.human_boxes + 0.3, object_boxes=table.object_boxes + 0.3)


def _respelled(table: Interactions) -> Interactions:
    return replace(table, verbs=tuple(verb.upper().replace(" ", "_") for verb in table.verbs))


def _renamed(table: Interactions, verb: str, object_: str | None = None) -> Interactions:
    table = replace(table, verbs=(verb,), verb=np.zeros_like(table.verb))
    if object_ is not None:
        table = replace(table, objects=(object_,), object=np.zeros_like(table.object))
    return table


def _added(*words: str, score: float) -> Callable[[Interactions, str], Interactions]:
    return lambda table, _: _with_copies(table, _renamed(table, *words), score)


def _ranked(table: Interactions) -> Interactions:
    # Scores from 1 down by rank among predictions of the same verb and object.
    group = table.verb * np.int64(len(table.objects)) + table.object
    order = np.lexsort((-table.score, group))
    count = np.unique(group, return_counts=True)[1]
    score = np.empty(len(table))
    score[order] = 1 - index_in_group(count) / (np.repeat(count, count) + 1)
    return replace(table, score=score)


def _hedged(table: Interactions, verb: str) -> Interactions:
    return replace(table, verbs=tuple(f"{word} / {verb}" if word else word for word in table.verbs))


ATTACKS = (
    Attack("moved copy", f"{_AGAIN} 0.3 pixels off, with half the score", lambda p, _: _with_copies(p, _moved(p))),
    Attack("respelled copy", f"{_AGAIN} in capitals, with half the score", lambda p, _: _with_copies(p, _respelled(p))),
    Attack("nonsense verb", f"{_AGAIN} with verb 'qwzx', score 0.6", _added("qwzx", score=_SURE)),
    Attack("vague verb", f"{_AGAIN} with verb 'take', score 0.6", _added("take", score=_SURE)),
    Attack("nonsense", f"{_AGAIN} as 'qwzx vbnm', score 0.6", _added("qwzx", "vbnm", score=_SURE)),
    Attack("padding", f"{_AGAIN} as 'qwzx vbnm', score 0.0001", _added("qwzx", "vbnm", score=1e-4)),
    Attack("stretched scores", "scores s become 0.6 + 0.4 s", lambda p, _: replace(p, score=_SURE + 0.4 * p.score)),
    Attack("scores by words", "scores become ranks among predictions of the same words", lambda p, _: _ranked(p)),
    Attack("two words", "every verb gets the most frequent verb of the ground truth as an alternative", _hedged),
    Attack(
        "only a vague verb",
        "every verb becomes 'take', every score 0.6",
        lambda p, _: replace(_renamed(p, "take"), score=np.full(len(p), _SURE)),
    ),
    Attack(
        "common guess",
        f"{_AGAIN} with the most frequent verb of the ground truth and half the score",
        lambda p, verb: _with_copies(p, _renamed(p, verb)),
    ),
)


class AuditFigures(Document, frozen=True):
    """Metrics of an audit under one protocol."""

    map: Fraction | None = None
    mf1: Fraction | None = None
    gt_miss_rate: Fraction | None = None
    prediction_miss_rate: Fraction | None = None


class AuditGains(Document, frozen=True):
    """Change of each metric by an attack, new value minus old value."""

    map: Gain | None = None
    mf1: Gain | None = None
    gt_miss_rate: Gain | None = None
    prediction_miss_rate: Gain | None = None


class Attacked(Document, frozen=True):
    """Metrics after one attack under one protocol, and their changes."""

    figures: AuditFigures
    gains: AuditGains


class AttackFigures(Document, frozen=True):
    """Results of one attack, by protocol."""

    name: str
    about: str
    protocols: dict[str, Attacked]


class Audit(Document, frozen=True):
    """Results of all attacks.

    Attributes:
        protocols: metrics of the unchanged predictions, by protocol.
        attacks: results of each attack in :data:`ATTACKS`.
    """

    protocols: dict[str, AuditFigures]
    attacks: list[AttackFigures]


def audit(
    predictions: Interactions,
    truth: GroundTruth,
    *,
    similarity: str | Path = "dataset",
    watch: Callable[[Sequence[Attack | None]], Iterable[Attack | None]] = lambda steps: steps,
) -> Audit:
    """Return the metrics of predictions before and after each attack of :data:`ATTACKS`.

    Args:
        predictions: predicted triplets with scores in 0..1.
        truth: ground truth to score against.
        similarity: name of a built-in map or baseline, folder of a map, or "dataset" for the benchmark's own map.
        watch: function that wraps the list of steps to iterate over, like a progress bar.

    Returns:
        Metrics under the benchmark's default exact-label protocol and the protocols of :data:`AUDITED`.

    Raises:
        OptionError: for scores outside 0..1, because SHOE needs scores in this range.
        InputError: if predictions and ground truth have no image in common.
    """
    unfit = unfit_scores(predictions)
    if unfit is not None:
        raise OptionError(f"predictions: found {unfit}")
    Task(predictions, truth).check_images()
    benchmark, labels = truth.benchmark, truth.image_labels is not None
    strict = choose(benchmark.default_protocols, (), benchmark.protocols, image_labels=labels).strict
    source = similarity_for(truth.benchmark, similarity, "mean")
    commonest = truth.classes.verbs[int(np.bincount(truth.interactions.verb).argmax())]
    found = []
    for attack in watch([None, *ATTACKS]):
        task = Task(attack.change(predictions, commonest) if attack else predictions, truth)
        figures = {options.protocol: AuditFigures(strict_score(task, options).map) for options in strict}
        for name in AUDITED:
            scored = semantic_score(task, HoiSimilarity.from_task(task, source, SEMANTIC[name]), SEMANTIC[name])
            figures[name] = as_base_class(scored, AuditFigures)
        found.append(figures)
    honest, *others = found
    return Audit(
        honest,
        [
            AttackFigures(
                attack.name,
                attack.about,
                {
                    name: Attacked(values, AuditGains(*map(minus, astuple(values), astuple(honest[name]))))
                    for name, values in figures.items()
                },
            )
            for attack, figures in zip(ATTACKS, others, strict=True)
        ],
    )
