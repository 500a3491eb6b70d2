"""All choices of a prediction, checked before anything is looked at: named ones, and settings of each step."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import OptionError
from shoe.predict.backend import BackendConfig
from shoe.predict.backends import backend_of
from shoe.predict.confidence import POLICIES, check_policy
from shoe.predict.detector import DetectorConfig
from shoe.predict.names import PERSON, Names, read_names, usual_names
from shoe.predict.pairs import PairRule, rule_named
from shoe.predict.questions import WHOLE
from shoe.predict.scored import Scoring
from shoe.predict.settings import configured, grouped
from shoe.predict.visual import Visual, marks_named
from shoe.predict.ways import TOKENS, Way

GROUPS = ("detector", "pairs", "visual", "ask", "vlm")
"""Groups of settings."""


class AskSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How letters are asked for.

    Attributes:
        rounds: in how many orders of the options.
        seed: of these orders.
    """

    rounds: Annotated[int, msgspec.Meta(ge=1, le=26)] = 2
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0


@dataclass(frozen=True, slots=True)
class Choices:
    """What a prediction is made with.

    Attributes:
        benchmark: whose objects and verbs count.
        names: what numbers and labels of boxes stand for.
        detector: who finds boxes; None where a file has them, or none are needed.
        rule: name of the pair rule.
        pairing: its settings.
        visual: how a pair is shown.
        way: what is asked.
        model: who is asked.
        scoring: how answers become scores.
    """

    benchmark: Benchmark
    names: Names
    detector: DetectorConfig | None
    rule: str
    pairing: PairRule
    visual: Visual
    way: Way
    model: BackendConfig
    scoring: Scoring


def chosen(
    *,
    benchmark: Benchmark,
    model: str,
    backend: str,
    detector: str | None = None,
    detections: Path | None = None,
    pairs: Path | None = None,
    labels: Path | None = None,
    rule: str,
    visual: str,
    way: str,
    prompt: Path | None = None,
    confidence: str | None = None,
    power: float = 1.0,
    settings: Iterable[str] = (),
) -> Choices:
    """Put choices together.

    Args:
        benchmark: whose objects and verbs count.
        model: who is asked.
        backend: how it is reached.
        detector: who finds boxes.
        detections: file of boxes.
        pairs: file of pairs.
        labels: file of names.
        rule: of pairs, by name.
        visual: how a pair is shown, by name.
        way: what is asked, by name.
        prompt: file in place of the shipped prompt.
        confidence: by name; the way's usual one if absent.
        power: of the detections' scores.
        settings: ``GROUP.NAME=VALUE`` each.

    Raises:
        OptionError: for names, values and combinations that there are not.
        InputError: for a file of names, or a prompt, that is none.
    """
    given = grouped(settings, GROUPS)
    asking = configured(AskSettings, "ask", {}, given["ask"])
    how = Way.read(way, prompt, asking.rounds, asking.seed)
    if way == WHOLE and (detector or detections or pairs):
        raise OptionError(
            "--way image asks for boxes and words at once: leave out --detector, --detections and --pairs"
        )
    if way != WHOLE and not (detector or detections or pairs):
        raise OptionError("found no boxes to ask about, expected --detector NAME, --detections FILE or --pairs FILE")
    if pairs and (detector or detections):
        raise OptionError("--pairs takes the place of boxes: leave out --detector and --detections")
    if not math.isfinite(power):
        raise OptionError(f"--detector-power: found {power:g}, expected a number")
    policy = confidence or POLICIES[way][0]
    check_policy(policy, way)
    words = [PERSON, *(name for name in benchmark.objects if name != PERSON)]
    usual_detector = {"model": detector, "words": [word.replace("_", " ") for word in words]}
    asked = configured(backend_of(backend), "vlm", {"model": model, "most_tokens": TOKENS[way]}, given["vlm"])
    asked.check()
    return Choices(
        benchmark=benchmark,
        names=read_names(labels, benchmark) if labels else usual_names(benchmark),
        detector=configured(DetectorConfig, "detector", usual_detector, given["detector"]) if detector else None,
        rule=rule,
        pairing=configured(PairRule, "pairs", msgspec.to_builtins(rule_named(rule)), given["pairs"]),
        visual=configured(Visual, "visual", {"marks": marks_named(visual)}, given["visual"]),
        way=how,
        model=asked,
        scoring=Scoring(policy, power),
    )
