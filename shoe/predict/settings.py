"""All settings of a prediction, checked before anything is looked at: named ones, and ``GROUP.NAME=VALUE`` of steps."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

import msgspec

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.io.json import parse_json
from shoe.predict.backends import BackendConfig, backend_of
from shoe.predict.confidence import POLICIES, check_policy
from shoe.predict.detection_files import PERSON, Names, read_names, usual_names
from shoe.predict.detector import DetectorConfig
from shoe.predict.images import Picture
from shoe.predict.pairs import PairRule, rule_named
from shoe.predict.questions import TOKENS, WHOLE, Question, Way
from shoe.predict.records import Paired
from shoe.predict.scored import Scoring
from shoe.predict.visual import Visual, marks_named, shown, whole

GROUPS = ("detector", "pairs", "visual", "ask", "vlm")
"""Groups of settings."""
_Settings = TypeVar("_Settings", bound=msgspec.Struct)
_PLACE = re.compile(r"(?: - at `\$(?:\.(\w+))?.*`)?$")


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

    @property
    def by(self) -> dict[str, Any]:
        """The settings from the prompt on, JSON."""
        way = self.way
        return {
            "visual": msgspec.to_builtins(self.visual),
            "ask": {"way": way.name, "prompt": way.digest, "rounds": way.rounds, "seed": way.seed},
            "model": self.model.identity(),
            "confidence": {"policy": self.scoring.policy, "power": self.scoring.power},
        }

    def questions(self, pictures: Sequence[Picture], paired: Mapping[str, Paired]) -> Iterator[Question]:
        """Yield all questions, those about one picture one after the other, in the same order each time.

        Args:
            pictures: those that are asked about.
            paired: their pairs, by name; not looked at where whole pictures are asked about.
        """
        for picture in pictures:
            if self.way.name == WHOLE:
                yield self.way.about_image(picture.name, whole(picture, self.visual))
                continue
            pairs = paired[picture.name].pairs
            for pair in pairs:
                seen = shown(picture, pair, pairs, self.visual)
                yield from self.way.about_pair(picture.name, pair, seen, self.benchmark)


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
    """Combine the options of ``shoe predict`` of the same names.

    Raises:
        OptionError: for names, values and combinations that do not exist.
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


def grouped(assignments: Iterable[str], groups: Iterable[str]) -> dict[str, dict[str, str]]:
    """Sort assignments by group; each group has an entry.

    >>> grouped(["pairs.min_score=0.3"], ["detector", "pairs"])
    {'detector': {}, 'pairs': {'min_score': '0.3'}}
    """
    found: dict[str, dict[str, str]] = {group: {} for group in groups}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        group, dot, field = name.strip().partition(".")
        if not equals or not dot:
            raise OptionError(f"--set {quote(assignment)}: expected GROUP.NAME=VALUE, as pairs.min_score=0.3")
        if group not in found:
            raise unknown_name("group of settings", group, found)
        found[group][field] = value.strip()
    return found


def configured(kind: type[_Settings], group: str, usual: Mapping[str, Any], given: Mapping[str, str]) -> _Settings:
    """Make settings of a step.

    Args:
        kind: their type.
        group: what users call the step.
        usual: values that are not the type's defaults.
        given: values as text; lists and objects as JSON.
    """
    for name in given:
        if name not in kind.__struct_fields__:
            raise unknown_name(f"setting of {group}", name, kind.__struct_fields__)
    values = {
        name: parse_json(f"--set {group}.{name}", text.encode()) if text.startswith(("{", "[")) else text
        for name, text in given.items()
    }
    try:
        return msgspec.convert({**usual, **values}, kind, strict=False)
    except msgspec.ValidationError as error:
        message = str(error)
        place = _PLACE.search(message)
        name = (place[1] if place else None) or ""
        said = message[: place.start() if place else None].partition(", got")[0].replace("`", "")
        wrong = f"expected {said.removeprefix('Expected ')}" if said.startswith("Expected ") else said
        names = get_args(get_type_hints(kind)[name]) if said.startswith("Invalid enum") else ()
        wrong = f"expected {' or '.join(map(str, names))}" if names else f"{wrong[:1].lower()}{wrong[1:]}"
        raise OptionError(f"--set {group}.{name}: found {quote(given.get(name, usual.get(name)))}, {wrong}") from None
