"""The choices of an evaluation by person: actions, and the roles of objects in them (docs/protocols.md 4)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from shoe.core.iou import Overlap
from shoe.protocols.options import At, Interpolation, Overlapping, Ties, option

ROLE_PREFIX = "roles."


@dataclass(frozen=True, slots=True)
class RoleOptions(Overlapping):
    """The choices of agent AP and role AP; the defaults are V-COCO's official script in scenario 1."""

    prefix: ClassVar[str] = ROLE_PREFIX
    protocol: str = "v-coco-s1"
    scenario: Literal["agent", "1", "2"] = option(
        "1",
        "agent: the person's box alone; else the role's too, and where nobody drew one: 1, empty boxes are right; 2, "
        "all are",
    )
    overlap: Overlap = option(Overlap.PIXELS, "how areas are counted")
    threshold: float = option(0.5, "IoU that each box has to reach", range=(0, 1))
    threshold_at: At = option(">=", "comparison with it")
    ap: Interpolation = option(Interpolation.ALL_POINTS, "interpolation")
    ties: Ties = option(
        Ties.REVERSED, "order of equal scores: as argsort()[::-1] has them where sorting is stable", Ties.REVERSED
    )
