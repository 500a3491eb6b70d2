"""Settings, files and shards of a run of ``shoe predict``: options, and ``GROUP.NAME=VALUE`` for its steps."""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self, TypeVar, get_args, get_type_hints

import msgspec

from shoe.benchmarks.base import Benchmark
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.io.files import make_folder
from shoe.core.io.json import parse_json
from shoe.engines.base import Shard
from shoe.llm.ledger_writer import remove
from shoe.predict.backends import BackendConfig, backend_of
from shoe.predict.detection_files import DETECTIONS, PERSON, Names, check_same, read_names, usual_names
from shoe.predict.detector import DetectorConfig
from shoe.predict.images import Picture
from shoe.predict.pairs import RULES, PairRule
from shoe.predict.questions import TOKENS, WHOLE, Question, Way
from shoe.predict.records import Detected, Paired, read_with_settings
from shoe.predict.scored import NONE, POLICIES, Scoring
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

    ``detector`` is None if boxes or pairs are read from a file, or if no boxes are needed. ``rule`` and ``pairing`` are
    name and settings of the pair rule.
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
        reason, hint = "because the answers contain boxes", "remove --detector, --detections and --pairs"
        raise OptionError(f"--way image cannot be used with boxes, {reason}: {hint}")
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
            form = "GROUP.NAME=VALUE, such as pairs.min_score=0.3"
            raise OptionError(f"--set {quote(assignment)}: must have the form {form}")
        if group not in values:
            raise unknown_name("group of settings", group, values)
        values[group][field] = value.strip()
    return values


def configured(kind: type[_Settings], group: str, usual: Mapping[str, Any], given: Mapping[str, str]) -> _Settings:
    """Return the settings of one step of a run (``group`` in ``--set``) as an object of type ``kind``.

    ``usual`` are values by name that replace the defaults of ``kind``; ``given`` are values that the user assigned, as
    text by name (lists and objects as JSON), which override ``usual``. Raises OptionError for an invalid name or value.
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


# Files and shards of a run. Images are assigned to shards by a hash of their content. A shard processes the boxes,
# pairs and questions of its images, and has a folder for its files (``predictions.parts/3-of-16`` for
# ``predictions.jsonl``). A run without a shard merges the boxes of all shards by image, and their answers by question.
# Files of shards are removed after their content has been written to the files of the run.

_NAMES = _DETECTIONS, _PAIRS, _ANSWERS = "detections.jsonl", "pairs.jsonl", "answers.jsonl"


@dataclass(frozen=True, slots=True)
class Files:
    """Paths of the files of a run or of one shard.

    ``folder`` has the files of shards and of workers on a cluster, which this run merges. For a shard, ``whole`` are
    the paths of the complete run, whose files the shard only reads.
    """

    detections: Path
    pairs: Path
    answers: Path
    folder: Path
    whole: "Files | None" = None

    @classmethod
    def beside(cls, out: Path, detections: Path | None = None, answers: Path | None = None) -> Self:
        """Return a run's paths: the given paths, and paths beside ``out``, such as mine.pairs.jsonl for mine.jsonl."""
        boxes, pairs, raw_answers, folder = (out.with_name(f"{out.stem}.{name}") for name in [*_NAMES, "parts"])
        return cls(detections or boxes, pairs, answers or raw_answers, folder)

    def of_part(self, shard: Shard) -> "Files":
        """Return the paths for one shard, after creating its folder; raise InputError if that is impossible."""
        folder = self.folder / shard.folder
        make_folder(folder, "a folder for the shard")
        return Files(folder / _DETECTIONS, folder / _PAIRS, folder / _ANSWERS, folder, self)

    @property
    def workers(self) -> Path:
        """Path from which workers on a cluster derive the names of their answer files."""
        return self.folder / _ANSWERS

    def detections_of_other_runs(self, by: Mapping[str, Any], pictures: Iterable[Picture]) -> list[Detected]:
        """Return detections from files of other runs: of all shards or, for a shard, of the complete run.

        For a shard, only detections in its images, ``pictures``, are returned. Raise InputError if a file has other
        detector settings than ``by``, or another image of the same name.
        """
        known, records = {picture.name: picture for picture in pictures}, []
        for path in self._parts(_DETECTIONS) if self.whole is None else [self.whole.detections]:
            for record in read_with_settings(path, Detected, DETECTIONS, by) if path.exists() else ():
                check_same(path, record, known.get(record.image))
                if self.whole is None or record.image in known:
                    records.append(record)
        return records

    def clear(self, *, boxes: bool) -> None:
        """Remove the pair files of all shards, and with ``boxes`` their detection files, then folders that are empty.

        Called on the files of one shard, it removes nothing. Files that another process is writing are kept.
        """
        if self.whole is None:
            for path in [*self._parts(_PAIRS), *(self._parts(_DETECTIONS) if boxes else ())]:
                remove(path)
            for folder in [*self.folder.glob("*"), self.folder]:
                with suppress(OSError):  # it does not exist or is not empty
                    folder.rmdir()

    def _parts(self, name: str) -> list[Path]:
        return sorted(self.folder.glob(f"*-of-*/{name}"))


def of_part(pictures: Iterable[Picture], shard: Shard) -> list[Picture]:
    """Return the images of one shard; images with equal content are in the same shard."""
    return [picture for picture in pictures if shard.holds_one(bytes.fromhex(picture.digest))]
