"""What the semantic oracle is told (options), and sigma: how near a pair of predicted words is to a class."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache

from tests.oracles.average_precision import Method

SENSELESS = frozenset({"Riding", "brown horse", "qwzx", "vbnm", "xqzt"})
"""Words without a sense in the toy world, whatever their similarities are."""

Similarity = Callable[[int, str], float]
"""Similarity of a class's verb (or object) to a predicted word, 0 to 1."""


@dataclass(frozen=True, slots=True)
class Options:
    """Names are the command line's with an underscore for the hyphen; defaults are ``--protocol shoe``."""

    combine: str = "arithmetic"
    weight: float = 0.5
    assign: str = "best-first"
    sigma_ties: str = "confidence"
    threshold: float = 0.5
    threshold_at: str = ">="
    overlap: str = "cont"
    min_sigma: str = "none"
    missed: str = "keep"
    fp_scope: str = "dataset"
    f1_fp_scope: str = "image"
    delta: float = 0.5
    delta_at: str = ">="
    f1_delta_at: str = ">"
    ap: Method = "all-points"
    ties: str = "expected"
    classes: str = "truth"
    no_interaction: str = "keep"
    tau: float = 0.5
    tau_by: str = "dataset"
    map_tau: float | None = None
    recall: str = "fn"
    f1_classes: str = "truth"
    prediction_misses: str = "all"
    cap: int | None = None
    repeats: str = "near"


LITERAL: dict[str, object] = {
    "assign": "greedy-gt",
    "fp_scope": "image",
    "f1_delta_at": ">=",
    "ap": "trapezoid",
    "ties": "input",
    "repeats": "matched",
}
"""What ``--protocol shoe-literal`` changes."""


class Meaning:
    """Sigma of a class and a pair of words, and the class that a pair of words is nearest to, remembered."""

    def __init__(self, verb: Similarity, noun: Similarity, options: Options, scope: list[int], classes: int) -> None:
        self.verb, self.noun, self.options, self.scope, self.classes = verb, noun, options, scope, classes
        self.nearest = _known(verb, noun, options.combine, options.weight, tuple(scope))

    def same(self, verb: str, other_verb: str, noun: str, other_noun: str) -> bool:
        """Whether no class is more similar to one pair of words than to the other, part by part."""
        same = _same(self.verb, self.classes, verb, other_verb)
        return same and _same(self.noun, self.classes, noun, other_noun)

    def sigma(self, hoi: int, verb: str, noun: str) -> float:
        return _combined(self.verb(hoi, verb), self.noun(hoi, noun), self.options)

    def best_of_dataset(self, verb: str, noun: str) -> tuple[int | None, float]:
        if (verb, noun) not in self.nearest:
            self.nearest[verb, noun] = self.best_of(self.scope, verb, noun)
        return self.nearest[verb, noun]

    def best_of(self, hois: Iterable[int], verb: str, noun: str) -> tuple[int | None, float]:
        """The class of largest sigma, of ties the first; None for no classes."""
        best, largest = None, -1.0
        for hoi in hois:
            sigma = self.sigma(hoi, verb, noun)
            if sigma > largest:
                best, largest = hoi, sigma
        return best, largest

    def reaches_delta(self, sigma: float, at: str) -> bool:
        return sigma > self.options.delta if at == ">" else sigma >= self.options.delta


@cache
def _same(similarity: Similarity, classes: int, word: str, other: str) -> bool:
    return all(similarity(hoi, word) == similarity(hoi, other) for hoi in range(classes))


@cache
def _known(
    verb: Similarity, noun: Similarity, combine: str, weight: float, scope: tuple[int, ...]
) -> dict[tuple[str, str], tuple[int | None, float]]:
    """What pairs of words are nearest to, as far as known: equal for all options but these."""
    return {}


def _combined(verb: float, noun: float, options: Options) -> float:
    weight = options.weight
    if options.combine == "minimum":
        return min(verb, noun)
    if options.combine == "geometric":
        return round(float(verb**weight * noun ** (1 - weight)), 12)
    return weight * verb + (1 - weight) * noun
