"""Which prediction of an image matches which ground truth: the four answers to protocols.md 10.5 A1."""

from typing import NamedTuple

from tests.oracles.average_precision import OutOfReachError

MOST_STATES = 100_000


class Candidate(NamedTuple):
    """A pair that may match: positions of truth and prediction, their similarity and pair IoU, and what they are."""

    truth: int
    prediction: int
    sigma: float
    iou: float
    content: tuple[object, ...] = ()


def assigned(candidates: list[Candidate], scores: list[float], assign: str, sigma_ties: str) -> dict[int, int]:
    """Prediction of each matched truth. ``scores`` are the predictions'."""
    if assign == "hungarian":
        return _optimal(candidates)
    if assign == "confidence":
        return _by_confidence(candidates, scores)

    def rank(candidate: Candidate) -> tuple[float, float, int]:
        second = {"confidence": -scores[candidate.prediction], "iou": -candidate.iou, "index": 0.0}[sigma_ties]
        return -candidate.sigma, second, candidate.prediction

    if assign == "best-first":
        rest = {"confidence": lambda c: -c.iou, "iou": lambda c: -scores[c.prediction]}.get(sigma_ties)
        if rest is None:
            return _first_come(sorted(candidates, key=lambda c: (*rank(c), c.truth)))
        return _first_come(sorted(candidates, key=lambda c: (*rank(c)[:2], rest(c), c.content, c.prediction, c.truth)))
    return _first_come(sorted(candidates, key=lambda c: (c.truth, *rank(c))))


def _first_come(ordered: list[Candidate]) -> dict[int, int]:
    partner: dict[int, int] = {}
    for candidate in ordered:
        if candidate.truth not in partner and candidate.prediction not in partner.values():
            partner[candidate.truth] = candidate.prediction
    return partner


def _by_confidence(candidates: list[Candidate], scores: list[float]) -> dict[int, int]:
    """Predictions, best score first, take the free truth of highest sigma, of ties the first."""
    return _first_come(sorted(candidates, key=lambda c: (-scores[c.prediction], c.prediction, -c.sigma, c.truth)))


def _optimal(candidates: list[Candidate]) -> dict[int, int]:
    """Most pairs, then the largest total sigma, by trying everything; of equal optima the first found."""
    truths = sorted({c.truth for c in candidates})
    options = {g: [c for c in candidates if c.truth == g] for g in truths}
    # Best completion from truth number `depth` on, given the predictions used: remembered, so that states repeat free.
    known: dict[tuple[int, frozenset[int]], tuple[int, float, tuple[Candidate, ...]]] = {}

    def best(depth: int, used: frozenset[int]) -> tuple[int, float, tuple[Candidate, ...]]:
        if depth == len(truths):
            return 0, 0.0, ()
        state = depth, used
        if state not in known:
            answer = best(depth + 1, used)
            for c in options[truths[depth]]:
                if c.prediction not in used:
                    number, total, rest = best(depth + 1, used | {c.prediction})
                    if (number + 1, total + c.sigma) > answer[:2]:
                        answer = number + 1, total + c.sigma, (c, *rest)
            known[state] = answer
            if len(known) > MOST_STATES:
                raise OutOfReachError("too many assignments to try")
        return known[state]

    return {c.truth: c.prediction for c in best(0, frozenset())[2]}
