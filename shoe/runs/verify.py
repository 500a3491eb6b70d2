"""Whether a run can be had again: what is equal, what differs, and why."""

from __future__ import annotations

from dataclasses import dataclass

from shoe.protocols.named import Options
from shoe.runs.run import Run

_ROUNDING = 1e-9
_WHY = {
    "predictions-sha": "other predictions",
    "predictions": "other predictions",
    "shoe": "another version of shoe",
    **dict.fromkeys(("boxes", "scores", "coordinates"), "the predictions were read in another way"),
    **dict.fromkeys(("data", "split", "images", "truths", "truth-sha"), "another ground truth"),
    **dict.fromkeys(("class-list", "class-list-sha"), "another class table"),
    **dict.fromkeys(("map", "map-sha"), "another similarity map"),
    "lexicon-sha": "another lexicon",
}
_OPTION = "another option"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A fact or an option that is not as a run has it.

    Attributes:
        name: as signatures call it.
        kept: what the run has; "nothing" where it has none.
        found: what there is now.
        why: what that means, in words.
    """

    name: str
    kept: str
    found: str
    why: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a run's figures.

    Attributes:
        figures: what the run has and what was found, by key.
        mismatches: what differs beside them.
    """

    figures: dict[str, tuple[float | None, float | None]]
    mismatches: tuple[Mismatch, ...]

    @property
    def moved(self) -> list[str]:
        """Keys of the figures that differ."""
        return [
            key
            for key, (kept, found) in self.figures.items()
            if (kept is None) != (found is None)
            or (kept is not None and found is not None and abs(kept - found) > _ROUNDING)
        ]

    @property
    def equal(self) -> bool:
        """Whether all is as it was."""
        return not self.moved and not self.mismatches

    @property
    def reasons(self) -> list[str]:
        """Why figures may differ, each reason once; where inputs and options are equal, that is said."""
        reasons = list(dict.fromkeys(each.why for each in self.mismatches))
        return reasons or (["inputs, options and version are equal: the computation differs"] if self.moved else [])


def options_of(run: Run) -> Options:
    """The protocols of a run, to score by them again."""
    return Options(tuple(each.options for each in run.strict), run.semantic.options if run.semantic else None)


def verify(kept: Run, found: Run) -> Verdict:
    """Hold a run to what was measured anew."""
    before, after = ({**run.facts, **dict(run.signature.items)} for run in (kept, found))
    mismatches = [
        Mismatch(name, before.get(name, "nothing"), after.get(name, "nothing"), _WHY.get(name, _OPTION))
        for name in dict.fromkeys([*_WHY, *before, *after])
        if before.get(name) != after.get(name)
    ]
    figures, anew = kept.figures(), found.figures()
    return Verdict({key: (figures.get(key), anew.get(key)) for key in {**figures, **anew}}, tuple(mismatches))
