"""What the test server answers and which faults it makes: all of it a function of the pair, the seed and a count."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import orjson

from shoe.maps.prompts import Prompts

NEVER_REACHED = ("429", "500", "503", "529", "dropped")
"""The request fails before anything is generated."""
NEVER_ARRIVES = ("cut", "slow", "empty", "malformed")
"""An answer is generated, and paid for, but does not reach who asked."""
HOLLOW = ("no choices",)
"""An answer with nothing in it, the first time."""
UNREADABLE = ("chatter", "endless thought")
"""An answer that holds no rating for any of its pairs."""
HARMLESS = ("prose", "thinking", "fenced", "shuffled", "unknown id", "by object")
"""An answer in another form, with every rating in it."""
OF_ONE_PAIR = ("missing", "out of scale", "fraction", "two ratings")
"""One pair of an answer has no rating, the others have theirs."""


@dataclass(frozen=True)
class Plan:
    seed: int = 0  # of all faults; ratings do not depend on it
    rates: Mapping[str, float] = field(default_factory=dict)  # share of each fault among tries, or first answers
    in_a_row: int = 3  # most faults of transport that one request meets in a row
    refused: float = 0.0  # share of pairs that are never rated
    unparsable: float = 0.0
    seconds: float = 0.0  # that an answer takes
    slow_seconds: float = 5.0
    retry_after: str = "0.05"  # header of 429 and 503
    most_in_flight: int | None = None  # requests at once, beyond which it answers 429
    honours_keys: bool = True  # whether a repeated Idempotency-Key gets the stored answer
    begins_again: bool = False  # whether it begins another batch all the same
    structured: bool = True  # whether it knows response_format
    models: Sequence[str] = ()  # any if empty
    key: str = ""  # the only one that it takes; any if empty
    batch_seconds: float = 0.0  # that a batch takes
    expiring: int = 0  # how many batches expire, the first ones, with half of their answers
    most_lines: int = 50_000  # of a batch
    hold_create: float = 0.0  # seconds before the answer to the creation of a batch, which has happened by then
    first_waits_for: int = 0  # how many batches there must be before one comes to its end
    most_batches: int = 1000  # under way at once, beyond which one fails for want of room
    lists_batches: bool = True
    lists_lag: float = 0.0  # seconds until a batch that was created is listed

    def fault(self, kinds: Sequence[str], *what: object) -> str | None:
        """Draw one fault among several kinds, or none."""
        drawn = share(self.seed, *kinds, *what)
        for kind in kinds:
            drawn -= self.rates.get(kind, 0.0)
            if drawn < 0:
                return kind
        return None

    def is_refused(self, model: str, pair: str) -> bool:
        return share("refused", model, pair) < self.refused

    def is_unparsable(self, model: str, pair: str) -> bool:
        return share("unparsable", model, pair) < self.unparsable


def share(*what: object) -> float:
    """A number in [0, 1) for anything; the same in every process."""
    digest = blake2b(repr(what).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "big") / 2**56


def rating_of(model: str, pair: str) -> int:
    """What a model says of a pair, always: four of ten are 0."""
    return max(int(share("rating", model, pair) * 8) - 3, 0)


class Reader:
    """Finds pairs in what a prompt became, whatever its words: by the prompt files themselves."""

    def __init__(self, prompts: Prompts | None = None) -> None:
        prompts = prompts or Prompts.read()
        every = prompts.verb, prompts.object, prompts.interaction
        self._several = [_pattern(prompt.pair.template) for prompt in every]
        self._one = [_pattern(prompt.one.template) for prompt in every]

    def pairs(self, text: str) -> list[tuple[str, str]]:
        """Id (empty for a single pair without one) and pair, the latter as 16 hex digits of its words."""
        for patterns in (self._several, self._one):
            for pattern in patterns:
                found = [(one.groupdict().get("id", ""), _named(one.groupdict())) for one in pattern.finditer(text)]
                if found:
                    return found
        raise ValueError("no pair in the prompt")


def _pattern(template: str) -> re.Pattern[str]:
    parts = re.split(r"\$(\w+)", template)
    return re.compile("".join(f"(?P<{part}>[^\n]*)" if i % 2 else re.escape(part) for i, part in enumerate(parts)))


def _named(fields: Mapping[str, str]) -> str:
    words = sorted((name, value) for name, value in fields.items() if name != "id")
    return blake2b(repr(words).encode(), digest_size=8).hexdigest()


def completion(
    plan: Plan, model: str, pairs: Sequence[tuple[str, str]], asked: Sequence[int]
) -> tuple[bytes, set[str]]:
    """The body of an answer about (id, pair) that were answered so often before, and the pairs without a rating."""
    everything = {pair for _, pair in pairs}
    if any(plan.is_refused(model, pair) for _, pair in pairs):
        refused = everything if len(pairs) > 1 else set()
        return _message(model, {"content": None, "refusal": "I will not rate this."}), refused
    if plan.fault(HOLLOW, model, *pairs) and not any(asked):
        return orjson.dumps({"object": "chat.completion", "choices": []}), everything
    whole = plan.fault(UNREADABLE, model, *pairs) if not any(asked) else None
    if whole:
        said = "<think>Let me see, 4 or" if whole == "endless thought" else "These two are hard to compare."
        return _message(model, {"content": said}, "length" if whole == "endless thought" else "stop"), everything
    ratings: list[tuple[str, Any]] = []
    lost: set[str] = set()
    for (name, pair), before in zip(pairs, asked, strict=True):
        kind = plan.fault(OF_ONE_PAIR, model, pair) if not before else None
        if plan.is_unparsable(model, pair):
            kind = "out of scale"
        lost |= {pair} if kind else set()
        ratings += _ratings(kind, name, rating_of(model, pair))
    form = plan.fault(HARMLESS, model, *pairs)
    return _message(model, {"content": _written(form, ratings, single=not pairs[0][0])}), lost


def _ratings(kind: str | None, name: str, rating: int) -> list[tuple[str, Any]]:
    faulty: dict[str | None, list[Any]] = {"missing": [], "out of scale": [7], "fraction": [2.5]}
    faulty["two ratings"] = [rating, (rating + 1) % 5]
    return [(name, said) for said in faulty.get(kind, [rating])]


def _written(form: str | None, ratings: Sequence[tuple[str, Any]], *, single: bool) -> str:
    if single:
        text = " ".join(f'{{"rating": {rating}}}' for _, rating in ratings) or "{}"
    elif form == "by object":
        text = orjson.dumps({"ratings": [{"id": name, "rating": rating} for name, rating in ratings]}).decode()
    else:
        listed = [*ratings, ("1", 2)] if form == "unknown id" else ratings
        listed = sorted(listed, key=share) if form == "shuffled" else listed
        text = '{"ratings": {' + ", ".join(f'"{name}": {rating}' for name, rating in listed) + "}}"
    around = {
        "prose": f"Gladly, here you are:\n{text}\nTell me if you need more.",
        "thinking": f'<think>It may be {{"rating": 9}}, or not.</think>\n{text}',
        "fenced": f"```json\n{text}\n```",
    }
    return around.get(form or "", text)


def _message(model: str, message: Mapping[str, Any], reason: str = "stop") -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    about = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": model}
    return orjson.dumps({**about, "choices": [choice], "usage": usage})
