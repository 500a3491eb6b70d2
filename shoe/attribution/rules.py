"""Why two exact-label protocols give different figures: one rule at a time is switched from one's to the other's.

What a rule changes depends on those that were switched before it. Its share is the mean over all orders in which the
rules can be switched: the Shapley value (Shapley 1953), the only attribution whose parts sum to the difference, that
gives nothing to a rule that never matters, and the same to rules that do the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from math import factorial

import numpy as np

from shoe.core.arrays import Floats
from shoe.core.documents import Count, Document, Fraction, Gain, GainFields
from shoe.matching.task import Task
from shoe.protocols.options import STRICT_PREFIX, Interpolation, StrictOptions, settings
from shoe.scoring.entries import ClassScores, Means, Rule
from shoe.scoring.ranking import ranked_lists
from shoe.scoring.strict import strict_entries

_SAME = 5e-13
"""AP of a class that no rule moves differs by less, from the order of sums."""
Watch = Callable[[Sequence[StrictOptions]], Iterable[StrictOptions]]


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What one set of rules measures; K classes.

    Attributes:
        means: mAP over all, rare and non-rare classes.
        ap: (K,) average precision; NaN for a class outside the mean.
    """

    means: Means
    ap: Floats


class RuleShare(GainFields, frozen=True):
    """One rule in which two protocols differ, and what it adds to the first protocol's means.

    Attributes:
        name: of the option, "strict.cap".
        before, after: its value under each, as text.
    """

    name: str
    before: str
    after: str


class MovedClass(Document, frozen=True, rename={"name": "class"}):
    """A class whose AP two protocols see differently.

    Attributes:
        name: its verb and object.
        before, after: its AP under each.
        rules: what each rule that moves it adds to that, the largest share first.
    """

    name: str
    before: Fraction
    after: Fraction
    rules: dict[str, Gain]


class Difference(Document, frozen=True, kw_only=True):
    """By how much the means of a second protocol are higher, and what explains that.

    Attributes:
        before, after: the protocols.
        map, map_rare, map_non_rare: the differences of the means.
        rules: those in which they differ, by falling share; the shares sum to the difference.
        classes: those in both means whose AP differs, by how much it does.
        left_mean, entered_mean: number of classes in the mean of one protocol alone.
    """

    before: str
    after: str
    map: Gain | None = None
    map_rare: Gain | None = None
    map_non_rare: Gain | None = None
    rules: list[RuleShare]
    classes: list[MovedClass]
    left_mean: Count
    entered_mean: Count


def scorings(protocols: Sequence[StrictOptions]) -> int:
    """How many sets of rules :func:`differences` has to score."""
    return len({options for other in protocols[1:] for options in _mixtures(protocols[0], other)[1]})


def differences(task: Task, protocols: Sequence[StrictOptions], watch: Watch = iter) -> list[Difference]:
    """Explain the difference between the first protocol and each of the others.

    All mixtures of two protocols' rules are scored, 2 to the power of the number of rules that differ, each once.

    Returns:
        One a protocol but the first.
    """
    plans = [(other, *_mixtures(protocols[0], other)) for other in protocols[1:]]
    wanted = dict.fromkeys(options for _, _, mixtures in plans for options in mixtures)
    found = _measure(task, list(wanted), watch)
    return [
        _difference(task, protocols[0], other, names, [found[options] for options in mixtures])
        for other, names, mixtures in plans
    ]


def _mixtures(before: StrictOptions, after: StrictOptions) -> tuple[list[str], list[StrictOptions]]:
    """The d fields that differ, and the 2^d mixtures; bit i of a mixture's place says that field i is ``after``'s."""
    rules = [f.name for f in fields(before) if f.name != "protocol"]
    names = [name for name in rules if getattr(before, name) != getattr(after, name)]
    neutral = replace(before, protocol="")
    return names, [
        replace(neutral, **{name: getattr(after, name) for i, name in enumerate(names) if mask >> i & 1})
        for mask in range(2 ** len(names))
    ]


def _measure(task: Task, wanted: Sequence[StrictOptions], watch: Watch) -> dict[StrictOptions, Measured]:
    """Score under each set of rules; those that rank the same entries stand together and share them."""
    found: dict[StrictOptions, Measured] = {}
    last, entries = None, None
    for options in watch(sorted(wanted, key=lambda options: repr(_early(options)))):
        early = _early(options)
        if entries is None or early != last:
            last, entries, ranked = early, strict_entries(task, options), {}
        rule, truths = Rule.of(options), entries.truths
        if rule.ap not in ranked:
            columns = entries.category, entries.score, entries.credit
            ranked[rule.ap] = ranked_lists(*columns, truths, rule.ap, rule.ties, rule.epsilon)
        scores = ClassScores.of(ranked[rule.ap], truths, entries.counted, rule, entries.unseen)
        found[options] = Measured(
            scores.means(entries.rare, entries.unseen), np.where(scores.in_mean, scores.ap, np.nan)
        )
    return found


def _early(options: StrictOptions) -> StrictOptions:
    """What entries depend on: not how a curve becomes a number, nor which classes are in a mean."""
    return replace(
        options, ap=Interpolation.ELEVEN, zero_tp="zero", unpredicted="zero", truthless="absent", unseen="count"
    )


def _difference(
    task: Task, before: StrictOptions, after: StrictOptions, names: Sequence[str], measured: Sequence[Measured]
) -> Difference:
    values = np.array([[np.nan if mean is None else mean for mean in one.means] for one in measured])
    texts = settings(before, quiet=True), settings(after, quiet=True)
    public = [f"{STRICT_PREFIX}{name.replace('_', '-')}" for name in names]
    shares = zip(public, shapley(values), shapley(np.array([one.ap for one in measured])), strict=True)
    found = [(RuleShare(name, texts[0][name], texts[1][name], **_means(of)._asdict()), ap) for name, of, ap in shares]
    found.sort(key=lambda of: -abs(of[0].map or 0))
    first, last = measured[0], measured[-1]
    by = np.nan_to_num(last.ap - first.ap)
    classes = []
    for k in np.argsort(-np.abs(by), kind="stable").tolist():
        if abs(by[k]) <= _SAME:
            break
        of_class = sorted(((rule.name, float(ap[k])) for rule, ap in found), key=lambda share: -abs(share[1]))
        moving = {name: share for name, share in of_class if abs(share) > _SAME}
        classes.append(MovedClass(task.truth.classes.labels[k], float(first.ap[k]), float(last.ap[k]), moving))
    in_first, in_last = ~np.isnan(first.ap), ~np.isnan(last.ap)
    return Difference(
        before=before.protocol,
        after=after.protocol,
        **last.means.minus(first.means)._asdict(),
        rules=[rule for rule, _ in found],
        classes=classes,
        left_mean=int((in_first & ~in_last).sum()),
        entered_mean=int((in_last & ~in_first).sum()),
    )


def _means(values: Floats) -> Means:
    return Means(*(None if np.isnan(value) else float(value) for value in values))


def shapley(values: Floats) -> Floats:
    """Attribute a difference to d switches, from what all 2^d combinations of them give.

    >>> shapley(np.array([[0.0], [1.0], [2.0], [4.0]])).ravel().tolist()
    [1.5, 2.5]

    Args:
        values: (2^d, M) M figures of each combination; bit i of its place says whether switch i is on.

    Returns:
        (d, M) their sum over switches is the last row less the first.
    """
    masks = np.arange(len(values))
    number = len(values).bit_length() - 1
    on = np.array([mask.bit_count() for mask in range(len(values))], np.int64)
    orders = [factorial(k) * factorial(number - k - 1) / factorial(number) for k in range(number)]
    shares = np.zeros((number, values.shape[1]))
    for switch in range(number):
        off = masks[masks >> switch & 1 == 0]
        weight = np.array(orders)[on[off]]
        shares[switch] = weight @ (values[off | 1 << switch] - values[off])
    return shares
