"""Predictions from answers that are kept: interactions with a confidence by a named policy, without asking anybody.

A score is the model's confidence times the product of the two detections' scores to a power. With confidence ``none``
there is no score: each phrase, each verb that was answered with yes, or the letter that was chosen, is a prediction.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import prod
from pathlib import Path
from typing import Any

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.errors import InputError, OptionError
from shoe.core.io.files import replacing
from shoe.predict.confidence import (
    NONE,
    REFUSED,
    beginning,
    check_policy,
    letter_confidences,
    needs_probabilities,
    phrase_confidence,
    spells,
    word_shares,
    yes_confidence,
)
from shoe.predict.questions import LETTERS, YES_NO, verbs_of
from shoe.predict.records import Answer, Pair, first_line, write_lines
from shoe.version import __version__

Sizes = Mapping[str, tuple[int, int]]
"""Width and height of each picture that was looked at, by file name."""
_FORM = "shoe predictions"
_CONVENTION = "thousand"
"""Boxes of answers about whole pictures, as the prompt asks for them."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """How answers become scores.

    Attributes:
        policy: name of the confidence; see :mod:`shoe.predict.confidence`.
        power: of the product of the detections' scores; 0 leaves them out.
    """

    policy: str
    power: float = 1.0


@dataclass(slots=True)
class Written:
    """What was written, and what was not.

    Attributes:
        predictions: so many.
        refused, unread: answers that are none: by refusal, or without a word or letter that can be read.
        scores: how many predictions have each score.
    """

    predictions: int = 0
    refused: int = 0
    unread: int = 0
    scores: Counter[float] = field(default_factory=Counter)

    @property
    def tied(self) -> int:
        """How many predictions share their score with another one."""
        return sum(count for count in self.scores.values() if count > 1)


def write_scored(
    answers: Iterable[Answer],
    path: str | Path,
    scoring: Scoring,
    sizes: Sizes,
    benchmark: Benchmark,
    by: Mapping[str, Any] | None = None,
) -> Written:
    """Write predictions as shoe's own JSON Lines: one a line, and a line for each picture without any.

    Args:
        answers: all of one way to ask, those about one pair one after the other.
        path: where to.
        scoring: how.
        sizes: of all pictures.
        benchmark: whose verbs were asked about.
        by: all settings, JSON, for the first line; there is none if absent.

    Raises:
        OptionError: for a policy that does not fit, or needs probabilities where there are none.
        InputError: if the file cannot be written.
    """
    given = list(answers)
    ways = {answer.way for answer in given}
    if len(ways) > 1:
        raise OptionError(f"answers: found the ways to ask {', '.join(sorted(ways))}, expected one")
    way = ways.pop() if ways else "phrase"
    check_policy(scoring.policy, way)
    given_text = [answer for answer in given if answer.finish != REFUSED]
    needs_probabilities(given_text, scoring.policy, str(path))
    first: dict[str, Any] = {}
    if by is not None:
        first = {"form": _FORM, "says": sentence(by), "by": {"shoe": __version__, **by}}
    written = Written(refused=len(given) - len(given_text))
    if way == "image":
        _write_whole(given_text, Path(path), sizes, benchmark, written, first)
        return written
    write_lines(path, _records(given_text, scoring, sizes, benchmark, written), **first)
    return written


def sentence(by: Mapping[str, Any]) -> str:
    """Describe the most important settings of a file of predictions in one sentence."""
    model, way, confidence = by["model"], by["ask"]["way"], by["confidence"]
    steps, power = [], ""
    if "pairs" in by:
        boxes = by["boxes"]
        source = boxes.get("detector") or boxes.get("file") or "a file of pairs"
        threshold = f" from {boxes['threshold']}" if "threshold" in boxes else ""
        marks = "+".join(by["visual"]["marks"]) or "none"
        steps = [f"boxes of {source}{threshold}", f"pairs by {by['pairs']['rule']}", f"shown by {marks}"]
        power = f" x detections^{confidence['power']:g}" if confidence["policy"] != NONE else ""
    steps += [f"{Path(model['model']).name} asked by {way}", f"confidence {confidence['policy']}{power}"]
    return ", ".join(steps)


def _records(
    answers: Iterable[Answer], scoring: Scoring, sizes: Sizes, benchmark: Benchmark, written: Written
) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for image, of_image in groupby(answers, lambda answer: answer.image):
        for pair, of_pair in groupby(of_image, lambda answer: answer.pair):
            assert pair is not None, "the ways but one ask about pairs"  # noqa: S101 - for the type checker
            detected = (pair.human_score * pair.object_score) ** scoring.power
            for words, confidence in _said_of_pair(pair, list(of_pair), scoring.policy, benchmark, written):
                score = {}
                if confidence is not None:
                    score["score"] = confidence * detected
                    written.scores[score["score"]] += 1
                written.predictions += 1
                seen.add(image)
                boxes = {"human_box": pair.human_box, "object_box": pair.object_box}
                yield {"image": image, **boxes, **words, "object": pair.object, **score, **_size(sizes, image)}
    for image in sizes:
        if image not in seen:
            yield {"image": image, "interactions": [], **_size(sizes, image)}


def _said_of_pair(
    pair: Pair, answers: Sequence[Answer], policy: str, benchmark: Benchmark, written: Written
) -> Iterator[tuple[dict[str, str], float | None]]:
    """What answers say of one pair: words, with a confidence unless the policy is to have none."""
    found: dict[str, float | None]
    match answers[0].way:
        case "phrase":
            for answer in answers:
                confidence = None if policy == NONE else phrase_confidence(answer, policy)
                if answer.text.strip() and (confidence is not None or policy == NONE):
                    yield {"phrase": answer.text.strip()}, confidence
                else:
                    written.unread += 1
            return
        case "yes-no" if policy == NONE:
            found = {answer.verb: None for answer in answers if spells(_first_word(answer), YES_NO[0])}
            written.unread += sum(not any(spells(_first_word(one), word) for word in YES_NO) for one in answers)
        case "yes-no":
            found = _yes(pair, answers, benchmark, written)
        case _:
            found = _letters(answers, policy, written)
    for verb, confidence in found.items():
        yield {"verb": verb}, confidence


def _yes(pair: Pair, answers: Sequence[Answer], benchmark: Benchmark, written: Written) -> dict[str, float | None]:
    """P(yes) for each verb; that nothing happens is as sure as that no verb does."""
    said = {answer.verb: yes_confidence(answer) for answer in answers}
    known = {verb: share for verb, share in said.items() if share is not None}
    written.unread += len(said) - len(known)
    if known and NO_INTERACTION in verbs_of(pair.object, benchmark):
        return {**known, NO_INTERACTION: prod(1 - share for share in known.values())}
    return dict(known)


def _letters(answers: Sequence[Answer], policy: str, written: Written) -> dict[str, float | None]:
    if policy != NONE:
        written.unread += sum(word_shares(one, LETTERS[: len(one.options)]) is None for one in answers)
        return dict(letter_confidences(answers) or {})
    chosen: Counter[str] = Counter()
    for answer in answers:
        places = [i for i, letter in enumerate(LETTERS[: len(answer.options)]) if spells(_first_word(answer), letter)]
        chosen.update(answer.options[i] for i in places)
        written.unread += not places
    return dict.fromkeys([option for option, _ in chosen.most_common(1)])


def _first_word(answer: Answer) -> str:
    """The word that an answer begins with."""
    token = beginning(answer)
    words = answer.text.split()
    return words[0] if words else token.text if token else ""


def _write_whole(
    answers: Sequence[Answer], path: Path, sizes: Sizes, benchmark: Benchmark, written: Written, first: dict[str, Any]
) -> None:
    """Write what answers about whole pictures say, with boxes in pixels; scores are the model's own words."""
    from shoe.predictions import read_predictions
    from shoe.predictions.vlm import write_vlm

    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "answers.jsonl"
        write_lines(raw, ({"image": one.image, "response": one.text, **_size(sizes, one.image)} for one in answers))
        try:
            table = read_predictions(raw, format="vlm", boxes=_CONVENTION, dataset=benchmark)
        except InputError as error:
            raise InputError(path, found=f"answers that cannot be read ({error})", expected="interactions") from None
        written.predictions = len(table.score)
        written.scores.update(table.score.tolist())
        write_vlm(table, raw, benchmark)
        with replacing(path) as stream:
            stream.write((first_line(**first) if first else b"") + raw.read_bytes())


def _size(sizes: Sizes, image: str) -> dict[str, int]:
    return dict(zip(("width", "height"), sizes[image], strict=True)) if image in sizes else {}
