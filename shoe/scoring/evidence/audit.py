"""Audit of metrics: changes of predictions that add no information, scored under each protocol."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import astuple

from shoe.benchmarks.protocols import SEMANTIC, choose
from shoe.benchmarks.truth import GroundTruth
from shoe.core.arrays import as_bits, group_equal_rows, index_in_group
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

_SURE = 0.6  # confidence of added predictions, above the published tau
_AGAIN = "every prediction twice, once"
_KEPT = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)
"""Fractions of the file that lines at score 1 leave among the upper half by score, doubled: one line less each."""
_MOST_PAIRS = 50_000  # largest number of pairs of boxes of which an attack names all verbs

Change = Callable[[Interactions, GroundTruth], Interactions]


class Attack(NamedTuple):
    """A change of predictions that adds no information about any image."""

    # name, about: name and description of the change
    name: str
    about: str
    # per variant, a function that maps predictions and ground truth to new predictions; a single variant is called "".
    # Per protocol, only the variant with the largest gain in mF1 (exact labels: mAP) is reported.
    changes: Mapping[str, Change]


def _with_copies(table: Interactions, copy: Interactions, score: float | None = None) -> Interactions:
    # Copies have a fixed confidence, or half of the original's.
    scores = copy.score / 2 if score is None else np.full(len(copy), score)
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


def _added(*words: str, score: float, amount: float = 1) -> Change:
    def change(table: Interactions, _: GroundTruth) -> Interactions:
        some = table.select(np.flatnonzero(np.diff(np.floor(amount * np.arange(len(table) + 1)))))
        return _with_copies(table, _renamed(some, *words), score)

    return change


def _varied(*words: str) -> dict[str, Change]:
    amounts = [(1 - kept, 1.0) for kept in _KEPT] + [(0.5, 0.0), (1, 0.0)]
    return {
        f"{amount:.3g} lines per prediction, score {score:g}": _added(*words, score=score, amount=amount)
        for amount, score in amounts
    }


def _commonest(truth: GroundTruth) -> str:
    return truth.classes.verbs[int(np.bincount(truth.interactions.verb).argmax())]


def _all_verbs(table: Interactions, truth: GroundTruth) -> Interactions:
    # One row per pair of boxes and object, with the highest score of the pair; then one row per verb.
    columns = (table.human_boxes, table.object_boxes, table.image, table.object)
    order, new = group_equal_rows(as_bits(*columns))
    starts = np.flatnonzero(new)
    score = np.maximum.reduceat(table.score[order], starts) if len(starts) else table.score
    best = np.sort(np.argsort(-score, kind="stable")[:_MOST_PAIRS])
    rows, by_row = order[starts][best], np.argsort(order[starts][best])
    verbs = truth.classes.verbs
    pairs = table.select(np.repeat(rows[by_row], len(verbs)))
    verb = np.tile(np.arange(len(verbs), dtype=np.int32), len(rows))
    return replace(pairs, verbs=verbs, verb=verb, score=np.repeat(score[best][by_row], len(verbs)))


def _ranked(table: Interactions) -> Interactions:
    # Scores from 1 down by rank among predictions of the same verb and object.
    group = table.verb * np.int64(len(table.objects)) + table.object
    order = np.lexsort((-table.score, group))
    count = np.unique(group, return_counts=True)[1]
    score = np.empty(len(table))
    score[order] = 1 - index_in_group(count) / (np.repeat(count, count) + 1)
    return replace(table, score=score)


def _hedged(table: Interactions, truth: GroundTruth) -> Interactions:
    verb = _commonest(truth)
    return replace(table, verbs=tuple(f"{word} / {verb}" if word else word for word in table.verbs))


def _attack(name: str, about: str, change: Change) -> Attack:
    return Attack(name, about, {"": change})


_BEST_OF = "in the amount and with the score that gain most"
ATTACKS = (
    _attack("moved copy", f"{_AGAIN} 0.3 pixels off, with half the score", lambda p, _: _with_copies(p, _moved(p))),
    _attack(
        "respelled copy", f"{_AGAIN} in capitals, with half the score", lambda p, _: _with_copies(p, _respelled(p))
    ),
    _attack("nonsense verb", f"{_AGAIN} with verb 'qwzx', score 0.6", _added("qwzx", score=_SURE)),
    _attack("vague verb", f"{_AGAIN} with verb 'take', score 0.6", _added("take", score=_SURE)),
    Attack("nonsense", f"'qwzx vbnm' on the boxes of predictions, {_BEST_OF}", _varied("qwzx", "vbnm")),
    Attack("unrelated words", f"'exist galaxy' on the boxes of predictions, {_BEST_OF}", _varied("exist", "galaxy")),
    _attack("all verbs", "all verbs of the dataset for every pair of boxes, with its highest score", _all_verbs),
    _attack("stretched scores", "scores s become 0.6 + 0.4 s", lambda p, _: replace(p, score=_SURE + 0.4 * p.score)),
    _attack("scores by words", "scores become ranks among predictions of the same words", lambda p, _: _ranked(p)),
    _attack("two words", "every verb gets the most frequent verb of the ground truth as an alternative", _hedged),
    _attack(
        "only a vague verb",
        "every verb becomes 'take', every score 0.6",
        lambda p, _: replace(_renamed(p, "take"), score=np.full(len(p), _SURE)),
    ),
    _attack(
        "common guess",
        f"{_AGAIN} with the most frequent verb of the ground truth and half the score",
        lambda p, truth: _with_copies(p, _renamed(p, _commonest(truth))),
    ),
)


class AuditFigures(Document, frozen=True):
    """Metrics of an audit under one protocol; an exact-label protocol has only ``map`` (mAP)."""

    map: Fraction | None = None
    mf1: Fraction | None = None
    mf1_best_tau: Fraction | None = None
    gt_miss_rate: Fraction | None = None
    prediction_miss_rate: Fraction | None = None
    no_overlap_rate: Fraction | None = None


class AuditGains(Document, frozen=True):
    """Change of each metric by an attack, new value minus old value."""

    map: Gain | None = None
    mf1: Gain | None = None
    mf1_best_tau: Gain | None = None
    gt_miss_rate: Gain | None = None
    prediction_miss_rate: Gain | None = None
    no_overlap_rate: Gain | None = None


class Attacked(Document, frozen=True):
    """Effect of one attack under one protocol.

    Attributes:
        figures: metrics after the attack.
        gains: changes of the metrics by the attack.
        variant: name of the reported variant: number and score of added predictions; "" for a single variant.
    """

    figures: AuditFigures
    gains: AuditGains
    variant: str = ""


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
        notes: warnings and notes on the predictions.
    """

    protocols: dict[str, AuditFigures]
    attacks: list[AttackFigures]
    notes: list[str] = msgspec.field(default_factory=list)


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
        similarity: name of a built-in map or baseline, folder of a map, or "dataset" for the benchmark's own map.
        watch: function like ``tqdm`` that wraps the list of steps (None, then each attack), to show progress.

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

    def figures_of(table: Interactions) -> dict[str, AuditFigures]:
        task = Task(table, truth)
        figures = {options.protocol: AuditFigures(strict_score(task, options).map) for options in strict}
        for name in AUDITED:
            scored = semantic_score(task, HoiSimilarity.from_task(task, source, SEMANTIC[name]), SEMANTIC[name])
            figures[name] = as_base_class(scored, AuditFigures)
        return figures

    def most(attack: Attack) -> AttackFigures:
        found: dict[str, Attacked] = {}
        for variant, change in attack.changes.items():
            for name, values in figures_of(change(predictions, truth)).items():
                each = Attacked(values, AuditGains(*map(minus, astuple(values), astuple(honest[name]))), variant)
                found[name] = max(found.get(name, each), each, key=_gain)
        return AttackFigures(attack.name, attack.about, found)

    honest: dict[str, AuditFigures] = {}
    attacks = []
    for attack in watch([None, *ATTACKS]):
        if attack is None:
            honest = figures_of(predictions)
        else:
            attacks.append(most(attack))
    return Audit(honest, attacks)


def _gain(attacked: Attacked) -> float:
    gains = attacked.gains
    return (gains.map if gains.mf1 is None else gains.mf1) or 0.0
