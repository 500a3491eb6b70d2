"""How sure a model was, from the probabilities that are kept of its answer: policies by name, no model needed.

Of a phrase: ``first`` is the probability of its first token, ``product`` of all its tokens, ``mean`` their geometric
mean (the product, normalised by length), ``minimum`` the least of them. ``yes`` is P(yes) / (P(yes) + P(no)) where an
answer of yes or no begins, ``letter`` each option's share of all letters, averaged over the orders that were asked.
``none`` is no confidence at all: what is scored without one.

A word's probability is the sum over all kept tokens that are that word ("yes", " Yes"). A word that is not among the
kept tokens, as endpoints tell of the 20 likeliest alone, counts as the least likely of those, which bounds it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp
from typing import Any, NamedTuple

from shoe.core.errors import OptionError, unknown_name
from shoe.llm.errors import REFUSALS
from shoe.predict.questions import LETTERS, YES_NO
from shoe.predict.records import Alternative, Answer, Token

# Raw answers in the form of OpenAI's chat completions: written by the back ends of this machine, read from all.

REFUSED = "refused"
LEAST = -9999.0
"""Written for the logarithm of 0, as endpoints do."""


class Said(NamedTuple):
    """What a model said.

    Attributes:
        text: as it wrote it.
        tokens: of the text, with the logarithms of their raw probabilities; None where none are told.
        finish: why it ended: "stop", "length", "refused", or as an endpoint calls it.
    """

    text: str
    tokens: tuple[Token, ...] | None
    finish: str


def completion(said: Said, prompt_tokens: int) -> dict[str, Any]:
    """Write an answer as a chat completion; tokens have an ``id`` beside what OpenAI's have."""
    tokens = said.tokens or ()
    content = [{**_written(token), "top_logprobs": [_written(other) for other in token.top]} for token in tokens]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": said.text},
        "logprobs": None if said.tokens is None else {"content": content},
        "finish_reason": said.finish,
    }
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(tokens)}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def read_completion(raw: Mapping[str, Any]) -> Said:
    """Read the first choice of a chat completion; what is not in it is an empty text, and no tokens."""
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    found = choice.get("message")
    message: Mapping[str, Any] = found if isinstance(found, dict) else {}
    if choice.get("finish_reason") == "content_filter" or message.get("refusal") or _is_filtered(raw.get("error")):
        return Said(_text(message.get("refusal")), None, REFUSED)
    kept = choice.get("logprobs")
    places = kept.get("content") if isinstance(kept, dict) else None
    tokens = [_token(place) for place in places] if isinstance(places, list) else []
    whole = None if not tokens or None in tokens else tuple(token for token in tokens if token is not None)
    return Said(_text(message.get("content")), whole, str(choice.get("finish_reason") or "stop"))


def of_text(said: Said) -> tuple[Token, ...]:
    """Return the tokens that make the text: some endpoints tell the end token's probability, too, others do not."""
    tokens = said.tokens or ()
    text = said.text.strip()
    if said.finish == "stop" and _joined(tokens) != text and _joined(tokens[:-1]) == text:
        return tokens[:-1]
    return tokens


def _joined(tokens: Sequence[Token]) -> str:
    return "".join(token.text for token in tokens).strip()


def _written(token: Token | Alternative) -> dict[str, Any]:
    known = {} if token.id < 0 else {"id": token.id}
    return {"token": token.text, "logprob": token.logprob, **known}


def _token(place: Any) -> Token | None:
    read = _alternative(place)
    if read is None:
        return None
    top = place.get("top_logprobs")
    others = [_alternative(other) for other in top] if isinstance(top, list) else []
    return Token(read.text, read.logprob, read.id, tuple(other for other in others if other is not None))


def _alternative(place: Any) -> Alternative | None:
    """A token and the logarithm of its probability."""
    if not isinstance(place, dict) or not isinstance(place.get("token"), str):
        return None
    logprob, number = place.get("logprob"), place.get("id", -1)
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return None
    return Alternative(place["token"], max(float(logprob), LEAST), number if isinstance(number, int) else -1)


def _text(content: Any) -> str:
    """The text of a message, which may come in parts."""
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


def _is_filtered(error: Any) -> bool:
    return isinstance(error, dict) and error.get("code") in REFUSALS


NONE = "none"
_OPENING = "\"'`*([ \t\r\n"
_AROUND = _OPENING + ".,:)]"


PHRASES: Mapping[str, Callable[[Sequence[float]], float]] = {
    "first": lambda logprobs: logprobs[0],
    "product": sum,
    "mean": lambda logprobs: sum(logprobs) / len(logprobs),
    "minimum": min,
}
"""Policies of free text: logarithm of the confidence, of those of the tokens' probabilities."""
POLICIES: Mapping[str, tuple[str, ...]] = {
    "phrase": ("mean", "first", "product", "minimum", NONE),
    "yes-no": ("yes", NONE),
    "letters": ("letter", NONE),
    "image": (NONE,),
}
"""Policies by the way that was asked, the usual one first."""


def check_policy(name: str, way: str) -> None:
    """See that a policy is one of a way to ask."""
    if name not in POLICIES[way]:
        raise unknown_name(f"confidence for {way}", name, POLICIES[way])


def phrase_confidence(answer: Answer, policy: str) -> float | None:
    """How sure a model was of free text, 0 to 1; None where no probabilities are kept, or it said nothing.

    >>> from math import log
    >>> tokens = (Token("rid", log(0.5)), Token("ing", log(0.98)))
    >>> answer = Answer(key="", image="a.jpg", way="phrase", text="riding", tokens=tokens)
    >>> [round(phrase_confidence(answer, policy), 2) for policy in ("first", "product", "mean", "minimum")]
    [0.5, 0.49, 0.7, 0.5]
    """
    logprobs = [token.logprob for token in of_text(Said(answer.text, answer.tokens, answer.finish))]
    return exp(PHRASES[policy](logprobs)) if logprobs else None


def yes_confidence(answer: Answer) -> float | None:
    """P(yes) among yes and no, where the answer begins; None where neither is among the kept tokens."""
    shares = word_shares(answer, YES_NO)
    return None if shares is None else shares[0]


def letter_confidences(answers: Iterable[Answer]) -> dict[str, float] | None:
    """Each option's share, averaged over the answers about one pair, whose options stand in different orders.

    Returns:
        By option; None where no answer begins with a letter that is among its kept tokens.
    """
    found: list[dict[str, float]] = []
    for answer in answers:
        shares = word_shares(answer, LETTERS[: len(answer.options)])
        if shares is not None:
            found.append(dict(zip(answer.options, shares, strict=True)))
    return {option: sum(one[option] for one in found) / len(found) for option in found[0]} if found else None


def word_shares(answer: Answer, words: Sequence[str]) -> list[float] | None:
    """Shares of words, which are 1 together, where an answer begins; None where none of them is among its tokens."""
    token = beginning(answer)
    if token is None:
        return None
    kept = {(other.text, other.id): other.logprob for other in token.top}
    kept.setdefault((token.text, token.id), token.logprob)
    masses = [sum(exp(value) for (text, _), value in kept.items() if spells(text, word)) for word in words]
    if not any(masses):
        return None
    least = exp(min(kept.values()))
    masses = [mass or least for mass in masses]
    return [mass / sum(masses) for mass in masses]


def beginning(answer: Answer) -> Token | None:
    """The first token of an answer that is no blank, quote or bracket; where there is none, its first token."""
    tokens = answer.tokens or (None,)
    return next((token for token in tokens if token and token.text.strip(_OPENING)), tokens[0])


def spells(text: str, word: str) -> bool:
    """Whether a token is a word, with whatever stands around it; case counts for single letters alone."""
    bare = text.strip(_AROUND)
    return bare == word or (len(word) > 1 and bare.lower() == word.lower())


def needs_probabilities(answers: Iterable[Answer], policy: str, where: str) -> None:
    """See that answers hold what a policy reads."""
    given = list(answers)
    without = sum(answer.tokens is None for answer in given)
    if policy != NONE and without:
        raise OptionError(
            f"{where}: {without:,} of {len(given):,} answers hold no probabilities of tokens, which confidence "
            f"{policy!r} reads: ask an endpoint that gives logprobs, or use confidence 'none'"
        )
