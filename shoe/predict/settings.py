"""Settings of ``shoe predict``: options, and ``GROUP.NAME=VALUE`` assignments for steps such as the detector."""

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
from shoe.predict.confidence import NONE, POLICIES
from shoe.predict.detection_files import PERSON, Names, read_names, usual_names
from shoe.predict.detector import DetectorConfig
from shoe.predict.images import Picture
from shoe.predict.pairs import RULES, PairRule
from shoe.predict.questions import TOKENS, WHOLE, Question, Way
from shoe.predict.records import Paired
from shoe.predict.scored import Scoring
from shoe.predict.visual import Visual, marks_named, visual_prompt, whole

GROUPS = ("detector", "pairs", "visual", "ask", "vlm")
_Settings = TypeVar("_Settings", bound=msgspec.Struct)
_PLACE = re.compile(r"(?: - at `\$(?:\.(\w+))?.*`)?$")


class AskSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings of questions that are answered with the letter of an option.

    Attributes:
        rounds: number of option orders in which a question is asked; confidences are averaged over the orders.
        seed: random seed for the option orders.
    """

    rounds: Annotated[int, msgspec.Meta(ge=1, le=26)] = 2
    seed: Annotated[int, msgspec.Meta(ge=0, le=2**31)] = 0


@dataclass(frozen=True, slots=True)
class PredictionSettings:
    """All settings of a run of ``shoe predict``.

    Attributes:
        names: names that belong to the labels and IDs in files of detections.
        detector: settings of the detector; None if boxes or pairs are read from a file, or if no boxes are needed.
        rule, pairing: name and settings of the pair rule.
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
        """Settings of visual prompts, questions, model and confidence, as JSON, without settings of boxes and pairs."""
        way = self.way
        return {
            "visual": msgspec.to_builtins(self.visual),
            "ask": {"way": way.name, "prompt": way.digest, "rounds": way.rounds, "seed": way.seed},
            "model": self.model.identity(),
            "confidence": {"policy": self.scoring.policy, "power": self.scoring.power},
        }

    def questions(self, pictures: Sequence[Picture], paired: Mapping[str, Paired]) -> Iterator[Question]:
        """Yield all questions about images, grouped by image, always in the same order.

        ``paired`` contains the pairs of each image by file name. It is not used for questions about whole images.
        """
        for picture in pictures:
            if self.way.name == WHOLE:
                yield self.way.about_image(picture.name, whole(picture, self.visual))
                continue
            pairs = paired[picture.name].pairs
            for pair in pairs:
                prompt = visual_prompt(picture, pair, pairs, self.visual)
                yield from self.way.about_pair(picture.name, pair, prompt, self.benchmark)


def parse_settings(
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
) -> PredictionSettings:
    """Return the settings of a run, given the options of ``shoe predict``. Arguments have the names of the options.

    ``settings`` are the ``GROUP.NAME=VALUE`` assignments of ``--set``. Raise OptionError if a name, a value or a
    combination of options is invalid, and InputError if the file of names or the prompt is invalid.
    """
    given = grouped(settings, GROUPS)
    ask = configured(AskSettings, "ask", {}, given["ask"])
    questions = Way.read(way, prompt, ask.rounds, ask.seed)
    if way == WHOLE and (detector or detections or pairs):
        raise OptionError(
            "--way image cannot be used with boxes, because the answers contain boxes: remove --detector, --detections "
            "and --pairs"
        )
    if way != WHOLE and not (detector or detections or pairs):
        raise OptionError("boxes are missing: add --detector NAME, --detections FILE or --pairs FILE")
    if pairs and (detector or detections):
        raise OptionError("--pairs cannot be used with --detector or --detections: remove --pairs or the other options")
    if not math.isfinite(power):
        raise OptionError(f"--detector-power: found {power:g}, expected a number")
    policy = confidence or POLICIES[way][0]
    for noun, name, known in (("pair rule", rule, RULES), (f"confidence for {way}", policy, POLICIES[way])):
        if name not in known:
            raise unknown_name(noun, name, known)
    words = [PERSON, *(name for name in benchmark.objects if name != PERSON)]
    defaults = {"model": detector, "words": [word.replace("_", " ") for word in words]}
    kind, usual = backend_of(backend), {"model": model, "most_tokens": TOKENS[way]}
    usual |= {"logprobs": policy != NONE} if kind.asks else {}
    config = configured(kind, "vlm", usual, given["vlm"])
    config.check()
    return PredictionSettings(
        benchmark=benchmark,
        names=read_names(labels, benchmark) if labels else usual_names(benchmark),
        detector=configured(DetectorConfig, "detector", defaults, given["detector"]) if detector else None,
        rule=rule,
        pairing=configured(PairRule, "pairs", msgspec.to_builtins(RULES[rule]), given["pairs"]),
        visual=configured(Visual, "visual", {"marks": marks_named(visual)}, given["visual"]),
        way=questions,
        model=config,
        scoring=Scoring(policy, power),
    )


def grouped(assignments: Iterable[str], groups: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return {group: {name: value}} for ``GROUP.NAME=VALUE`` texts; raise OptionError for invalid texts or groups.

    >>> grouped(["pairs.min_score=0.3"], ["detector", "pairs"])
    {'detector': {}, 'pairs': {'min_score': '0.3'}}
    """
    values: dict[str, dict[str, str]] = {group: {} for group in groups}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        group, dot, field = name.strip().partition(".")
        if not equals or not dot:
            raise OptionError(
                f"--set {quote(assignment)}: must have the form GROUP.NAME=VALUE, such as pairs.min_score=0.3"
            )
        if group not in values:
            raise unknown_name("group of settings", group, values)
        values[group][field] = value.strip()
    return values


def configured(kind: type[_Settings], group: str, usual: Mapping[str, Any], given: Mapping[str, str]) -> _Settings:
    """Return the settings of one step of a run, such as the detector, as an object of type ``kind``.

    Args:
        group: name of the step in ``--set``, for messages.
        usual: values of settings by name, which replace the defaults of ``kind``.
        given: values that the user assigned, as text by name (lists and objects as JSON); override ``usual``.

    Raises OptionError if a name or a value is invalid.
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
        problem = message[: place.start() if place else None].partition(", got")[0].replace("`", "")
        wrong = f"expected {problem.removeprefix('Expected ')}" if problem.startswith("Expected ") else problem
        names = get_args(get_type_hints(kind)[name]) if problem.startswith("Invalid enum") else ()
        wrong = f"expected {' or '.join(map(str, names))}" if names else f"{wrong[:1].lower()}{wrong[1:]}"
        raise OptionError(f"--set {group}.{name}: found {quote(given.get(name, usual.get(name)))}, {wrong}") from None
