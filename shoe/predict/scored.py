"""Confidence of a model in its answers, and conversion of recorded answers to predictions of interactions.

The score of a prediction is confidence * (human score * object score)^power. The confidence is computed from the stored
token probabilities by a formula, the policy. Policies by kind of question:

- phrase: ``first``, probability of the first token; ``product``, ``mean`` (geometric) or ``minimum`` of the
  probabilities of all tokens;
- yes-no: ``yes``, P(yes) / (P(yes) + P(no)) at the beginning of the answer;
- letters: ``letter``, P(letter) / sum of P over all letters of options, averaged over several orders of the options;
- all: ``none``, no confidence and no score. Predictions are then every phrase, every verb with the answer yes, and the
  option that was chosen most often.

The probability of a word is the sum over all stored tokens that spell the word ("yes", " Yes"). Endpoints return only
the likeliest tokens. If no stored token spells the word, the probability of the least likely stored token, an upper
bound, is used.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from math import exp, prod
from pathlib import Path
from typing import Annotated, Any

from msgspec import Meta

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.classes import NO_INTERACTION
from shoe.core.documents import Count, Document, Fraction
from shoe.core.errors import InputError, OptionError
from shoe.core.io.files import atomic_write
from shoe.predict.questions import LETTERS, WHOLE, YES_NO, verbs_of
from shoe.predict.records import REFUSED, Answer, Pair, Token, first_line, write_lines
from shoe.version import __version__

NONE = "none"
_OPENING = "\"'`*([ \t\r\n"
_AROUND = _OPENING + ".,:)]"
PHRASES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda logprobs: logprobs[0],
    "product": sum,
    "mean": lambda logprobs: sum(logprobs) / len(logprobs),
    "minimum": min,
}
"""Policies for phrases: function from the log probabilities of the tokens to the logarithm of the confidence."""
POLICIES: Mapping[str, tuple[str, ...]] = {
    "phrase": ("mean", "first", "product", "minimum", NONE),
    "yes-no": ("yes", NONE),
    "letters": ("letter", NONE),
    "image": (NONE,),
}
"""Names of the policies by kind of question, the default first."""


def phrase_confidence(answer: Answer, policy: str) -> float | None:
    """Return the confidence (0 to 1) in a phrase, by the formula ``policy``; None without tokens or text.

    >>> from math import log
    >>> tokens = (Token("rid", log(0.5)), Token("ing", log(0.98)))
    >>> answer = Answer(key="", image="a.jpg", way="phrase", text="riding", tokens=tokens)
    >>> [round(phrase_confidence(answer, policy), 2) for policy in ("first", "product", "mean", "minimum")]
    [0.5, 0.49, 0.7, 0.5]
    """
    tokens, text = answer.tokens or (), answer.text.strip()
    complete, shorter = ("".join(token.text for token in part).strip() for part in (tokens, tokens[:-1]))
    if answer.finish == "stop" and complete != text and shorter == text:  # an end token, which some endpoints return
        tokens = tokens[:-1]
    logprobs = [token.logprob for token in tokens]
    return exp(PHRASES[policy](logprobs)) if logprobs else None


def letter_confidences(answers: Iterable[Answer]) -> dict[str, float] | None:
    """Return {option: relative probability}, averaged over answers to the same question with other option orders.

    An answer is left out if none of its stored tokens is the letter of an option; if no answer is left, returns None.
    If only some letters are stored, the other letters get the probability of the least likely stored token.
    """
    of_answers = ((answer.options, word_shares(answer, LETTERS[: len(answer.options)])) for answer in answers)
    found = [dict(zip(options, shares, strict=True)) for options, shares in of_answers if shares is not None]
    return {option: sum(shares[option] for shares in found) / len(found) for option in found[0]} if found else None


def word_shares(answer: Answer, words: Sequence[str]) -> list[float] | None:
    """Return the probability that an answer starts with each word, scaled to sum 1; None if no token fits a word.

    If tokens fit only some words, the other words get the probability of the least likely stored token.
    """
    token = first_token(answer)
    if token is None:
        return None
    logprobs = {(other.text, other.id): other.logprob for other in token.top}
    logprobs.setdefault((token.text, token.id), token.logprob)
    masses = [sum(exp(value) for (text, _), value in logprobs.items() if spells(text, word)) for word in words]
    if not any(masses):
        return None
    masses = [mass or exp(min(logprobs.values())) for mass in masses]
    return [mass / sum(masses) for mass in masses]


def first_token(answer: Answer) -> Token | None:
    """Return the first token with more than blanks, quotes, "(", "[" or "*"; else the first; None without tokens."""
    tokens = answer.tokens or (None,)
    return next((token for token in tokens if token and token.text.strip(_OPENING)), tokens[0])


def spells(text: str, word: str) -> bool:
    """Return whether a token's text is a word, apart from case (of longer words), blanks and punctuation around it."""
    bare = text.strip(_AROUND)
    return bare == word or (len(word) > 1 and bare.lower() == word.lower())


Sizes = Mapping[str, tuple[int, int]]  # (width, height) in pixels of each image, by file name
_FORM = "shoe predictions"
_CONVENTION = "thousand"  # box convention that the prompt requires for answers about whole images


@dataclass(frozen=True, slots=True)
class Scoring:
    """Settings for the computation of scores from answers.

    Attributes:
        policy: name of the formula for the confidence; see :mod:`shoe.predict.confidence`.
        power: exponent of the product of the detection scores; with 0, detection scores have no effect.
    """

    policy: str
    power: float = 1.0


@dataclass(slots=True)
class WrittenCounts:
    """Numbers of written predictions (also per score), refused answers and unusable answers.

    Unusable (``unread``) are answers about pairs that are empty, or contain no expected word or letter.
    """

    predictions: int = 0
    refused: int = 0
    unread: int = 0
    scores: Counter[float] = field(default_factory=Counter)

    @property
    def tied(self) -> int:
        """Number of predictions with the same score as another prediction."""
        return sum(count for count in self.scores.values() if count > 1)


def write_scored(
    answers: Iterable[Answer],
    path: str | Path,
    scoring: Scoring,
    sizes: Sizes,
    benchmark: Benchmark,
    by: Mapping[str, Any] | None = None,
) -> WrittenCounts:
    """Write predictions as shoe's JSON Lines: one prediction per line, and one line per image without predictions.

    ``answers`` are answers to one kind of question, grouped by pair. ``by`` are all settings, as JSON, for the first
    line of the file; None for no such line. Raises OptionError if ``scoring.policy`` needs token probabilities that the
    answers do not have, and InputError if the file cannot be written.
    """
    all_answers = list(answers)
    accepted = [answer for answer in all_answers if answer.finish != REFUSED]
    without = sum(answer.tokens is None for answer in accepted)
    if scoring.policy != NONE and without:
        raise OptionError(
            f"{path}: {without:,} of {len(accepted):,} answers have no token probabilities, which confidence "
            f"{scoring.policy!r} needs: use an endpoint that returns logprobs, or confidence 'none'"
        )
    first: dict[str, Any] = {}
    if by is not None:
        first = {"form": _FORM, "says": sentence(by), "by": {"shoe": __version__, **by}}
    written = WrittenCounts(refused=len(all_answers) - len(accepted))
    if all_answers and all_answers[0].way == WHOLE:
        written.scores = _write_whole(accepted, Path(path), sizes, benchmark, first)
        written.predictions = written.scores.total()
    else:
        write_lines(path, _records(accepted, scoring, sizes, benchmark, written), **first)
    return written


def sentence(by: Mapping[str, Any]) -> str:
    """Return a sentence with the most important settings of a prediction file; ``by`` are all settings."""
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
    answers: Iterable[Answer], scoring: Scoring, sizes: Sizes, benchmark: Benchmark, written: WrittenCounts
) -> Iterator[dict[str, Any]]:
    seen: set[str] = set()
    for image, of_image in groupby(answers, lambda answer: answer.image):
        for pair, of_pair in groupby(of_image, lambda answer: answer.pair):
            assert pair is not None, "the ways but one ask about pairs"  # noqa: S101 - for the type checker
            detected = (pair.human_score * pair.object_score) ** scoring.power
            for words, confidence in _interactions(pair, list(of_pair), scoring.policy, benchmark, written):
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


def _interactions(
    pair: Pair, answers: Sequence[Answer], policy: str, benchmark: Benchmark, written: WrittenCounts
) -> Iterator[tuple[dict[str, str], float | None]]:
    """Yield the interactions in the answers about one pair: ({"phrase": ...} or {"verb": ...}, confidence).

    The confidence is None with the policy ``none``. For yes-no questions it is P(yes), and for no_interaction the
    product of P(no) over all other verbs. Answers without an expected word are counted in ``written``.
    """
    confidences: dict[str, float | None]
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
            confidences = {answer.verb: None for answer in answers if spells(_first_word(answer), YES_NO[0])}
            written.unread += sum(not any(spells(_first_word(answer), word) for word in YES_NO) for answer in answers)
        case "yes-no":
            shares = {answer.verb: word_shares(answer, YES_NO) for answer in answers}
            known = {verb: found[0] for verb, found in shares.items() if found is not None}
            written.unread += len(shares) - len(known)
            confidences = dict(known)
            if known and NO_INTERACTION in verbs_of(pair.object, benchmark):
                confidences[NO_INTERACTION] = prod(1 - share for share in known.values())
        case _:
            confidences = _option_confidences(answers, policy, written)
    for verb, confidence in confidences.items():
        yield {"verb": verb}, confidence


def _option_confidences(answers: Sequence[Answer], policy: str, written: WrittenCounts) -> dict[str, float | None]:
    if policy != NONE:
        written.unread += sum(word_shares(answer, LETTERS[: len(answer.options)]) is None for answer in answers)
        return dict(letter_confidences(answers) or {})
    chosen: Counter[str] = Counter()
    for answer in answers:
        places = [i for i, letter in enumerate(LETTERS[: len(answer.options)]) if spells(_first_word(answer), letter)]
        chosen.update(answer.options[i] for i in places)
        written.unread += not places
    return dict.fromkeys([option for option, _ in chosen.most_common(1)])


def _first_word(answer: Answer) -> str:
    token = first_token(answer)
    words = answer.text.split()
    return words[0] if words else token.text if token else ""


def _write_whole(
    answers: Sequence[Answer], path: Path, sizes: Sizes, benchmark: Benchmark, first: Mapping[str, Any]
) -> Counter[float]:
    """Write the predictions in answers about whole images; return the number of predictions for each score."""
    from shoe.predictions import read_predictions
    from shoe.predictions.formats.vlm import write_vlm

    with tempfile.TemporaryDirectory() as folder:
        raw = Path(folder) / "answers.jsonl"
        write_lines(raw, ({"image": a.image, "response": a.text, **_size(sizes, a.image)} for a in answers))
        try:
            table = read_predictions(raw, format="vlm", boxes=_CONVENTION, dataset=benchmark)
        except InputError as error:
            raise InputError(path, found=f"unreadable answers ({error})", expected="lists of interactions") from None
        write_vlm(table, raw, benchmark)
        with atomic_write(path) as stream:
            stream.write((first_line(**first) if first else b"") + raw.read_bytes())
    return Counter(table.score.tolist())


def _size(sizes: Sizes, image: str) -> dict[str, int]:
    return dict(zip(("width", "height"), sizes[image], strict=True)) if image in sizes else {}


class Ceiling(Document, frozen=True, kw_only=True):
    """Recall of ground-truth pairs, persons and objects by the selected pairs: the maximum recall of predictions.

    A value is absent if the ground truth has no pairs, persons or objects. ``truths``: number of ground-truth pairs.
    """

    recall: Fraction | None = None
    human_recall: Fraction | None = None
    object_recall: Fraction | None = None
    truths: Count


class Questions(Document, frozen=True):
    """Numbers of questions and recorded answers, and estimates of tokens and cost of the remaining questions.

    Attributes:
        total: number of distinct questions.
        known: number of questions that have an answer or a refusal in the file of answers or in the user's cache.
        text_tokens: input tokens of the questions without an answer: one per 4 bytes of text, and 3,000 per image.
        answer_tokens: highest number of output tokens of these questions.
        cost: cost of these tokens; absent for a model on this machine.
        cached: number of the known answers that are only in the user's cache.
    """

    total: Count
    known: Count
    text_tokens: Count
    answer_tokens: Count
    cost: Annotated[float, Meta(ge=0, description="in the currency of the price")] | None = None
    cached: Count = 0


class Predict(Document, frozen=True, kw_only=True):
    """Number of questions and predictions of a run of ``shoe predict``. A dry run has no predictions."""

    by: Annotated[dict[str, Any], Meta(description="all settings, as in the first line of the file")]
    part: Annotated[str, Meta(description="shard of the run, such as 3/16")] | None = None
    pictures: Count
    pairs: Count | None = None
    ceiling: Ceiling | None = None
    questions: Questions
    seconds_per_question: Annotated[float, Meta(ge=0)] | None = None
    predictions: Count | None = None
    tied: Count | None = None
    refused: Count | None = None
    unread: Count | None = None
