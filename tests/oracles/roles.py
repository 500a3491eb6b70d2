"""Agent AP and role AP, slowly: docs/protocols.md 4.3 and 4.4 read aloud, one prediction after the other."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.oracles.average_precision import all_points

Box = Sequence[float]


@dataclass
class Person:
    """An annotated person: what it does, with the boxes of roles that were drawn; None for whom nobody annotated."""

    box: Box
    does: dict[str, dict[str, Box]] | None


@dataclass
class Said:
    """A prediction: scores by action, and box and score by action and role."""

    box: Box
    agent: dict[str, float] = field(default_factory=dict)
    roles: dict[tuple[str, str], tuple[Box, float]] = field(default_factory=dict)


def overlap(a: Box, b: Box) -> float:
    """IoU of boxes that hold their last pixel, in single precision."""
    one = np.float32(1)
    ax1, ay1, ax2, ay2 = np.array(a, np.float32)
    bx1, by1, bx2, by2 = np.array(b, np.float32)
    width = max(min(ax2, bx2) - max(ax1, bx1) + one, np.float32(0))
    height = max(min(ay2, by2) - max(ay1, by1) + one, np.float32(0))
    both = (ax2 - ax1 + one) * (ay2 - ay1 + one) + (bx2 - bx1 + one) * (by2 - by1 + one)
    return float(width * height / (both - width * height))


def average_precision(
    truths: Sequence[Sequence[Person]], said: Sequence[Sequence[Said]], action: str, role: str, scenario: int
) -> float:
    """AP of an action, or of one of its roles, over images in the order of their numbers; no role: agent AP."""
    positives = sum(action in (person.does or {}) for persons in truths for person in persons)
    entries: list[tuple[float, bool]] = []
    for persons, predictions in zip(truths, said, strict=True):
        scored = []
        for one in predictions:
            score = one.roles.get((action, role), ((), math.nan))[1] if role else one.agent.get(action, math.nan)
            if not math.isnan(score):
                scored.append((float(np.float32(score)), one))
        taken = set()
        for score, one in sorted(scored, key=lambda pair: pair[0])[::-1]:
            overlaps = [overlap(person.box, one.box) for person in persons]
            j = overlaps.index(max(overlaps))
            does = persons[j].does
            if does is None:
                continue
            hit = action in does and overlaps[j] >= 0.5
            if hit and role:
                box = one.roles[action, role][0]
                drawn = does[action].get(role)
                if drawn is not None:
                    hit = not any(map(math.isnan, box)) and overlap(drawn, box) >= 0.5
                elif scenario == 1:
                    hit = all(x == 0 for x in box) or all(map(math.isnan, box))
            entries.append((score, hit and j not in taken))
            if hit:
                taken.add(j)
    ranked = sorted(entries, key=lambda pair: pair[0])[::-1]
    return all_points([hit for _, hit in ranked], positives, epsilon=0)
