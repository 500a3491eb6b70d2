"""Confidence of a model in its answer, computed from the stored token probabilities.

A policy is the name of a formula for the confidence. Policies by kind of question:

- phrase: ``first``, probability of the first token; ``product``, ``mean`` (geometric) or ``minimum`` of the
  probabilities of all tokens;
- yes-no: ``yes``, P(yes) / (P(yes) + P(no)) at the beginning of the answer;
- letters: ``letter``, P(letter) / sum of P over all letters of options, averaged over several orders of the options;
- all: ``none``, no confidence.

The probability of a word is the sum over all stored tokens that spell the word ("yes", " Yes"). Endpoints return only
the likeliest tokens. If no stored token spells the word, the probability of the least likely stored token, an upper
bound, is used.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import exp
from typing import Any, NamedTuple

from shoe.llm.errors import REFUSALS
from shoe.predict.questions import LETTERS
from shoe.predict.records import Alternative, Answer, Token

REFUSED = "refused"
LEAST = -9999.0
"""Log probability that stands for a probability of 0, as in the responses of endpoints."""


class GeneratedText(NamedTuple):
    """Text of an answer, its tokens (None if unknown), and the reason why the text ended ("stop", "length", ...)."""

    text: str
    tokens: tuple[Token, ...] | None
    finish: str


def completion(answer: GeneratedText, prompt_tokens: int) -> dict[str, Any]:
    """Return an answer as a chat completion in the format of OpenAI. Tokens have an additional ``id``."""
    tokens = answer.tokens or ()
    content = [{**_token_json(token), "top_logprobs": [_token_json(other) for other in token.top]} for token in tokens]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.text},
        "logprobs": None if answer.tokens is None else {"content": content},
        "finish_reason": answer.finish,
    }
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(tokens)}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def read_completion(raw: Mapping[str, Any]) -> GeneratedText:
    """Return the text and tokens of the first choice in a chat completion: "" for missing text, None without tokens.

    A refusal, also by a content filter, has no tokens and the finish "refused".
    """
    choices, error = raw.get("choices"), raw.get("error")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message: Mapping[str, Any] = choice["message"] if isinstance(choice.get("message"), dict) else {}
    is_filtered = isinstance(error, dict) and error.get("code") in REFUSALS
    if choice.get("finish_reason") == "content_filter" or message.get("refusal") or is_filtered:
        return GeneratedText(_text(message.get("refusal")), None, REFUSED)
    logprobs = choice.get("logprobs")
    items = logprobs.get("content") if isinstance(logprobs, dict) else None
    parsed = [_token(item) for item in items] if isinstance(items, list) else []
    tokens = tuple(token for token in parsed if token is not None)
    finish = str(choice.get("finish_reason") or "stop")
    is_complete = bool(tokens) and len(tokens) == len(parsed)
    return GeneratedText(_text(message.get("content")), tokens if is_complete else None, finish)


def text_tokens(answer: Answer) -> tuple[Token, ...]:
    """Return the tokens of an answer, () if unknown, without the end token, which only some endpoints return."""
    tokens, text = answer.tokens or (), answer.text.strip()
    complete, shorter = ("".join(token.text for token in part).strip() for part in (tokens, tokens[:-1]))
    return tokens[:-1] if answer.finish == "stop" and complete != text and shorter == text else tokens


def _token_json(token: Token | Alternative) -> dict[str, Any]:
    number = {} if token.id < 0 else {"id": token.id}
    return {"token": token.text, "logprob": token.logprob, **number}


def _token(item: Any) -> Token | None:
    token = _alternative(item)
    if token is None:
        return None
    top = item.get("top_logprobs")
    others = [_alternative(other) for other in top] if isinstance(top, list) else []
    return Token(token.text, token.logprob, token.id, tuple(other for other in others if other is not None))


def _alternative(item: Any) -> Alternative | None:
    if not isinstance(item, dict) or not isinstance(item.get("token"), str):
        return None
    logprob, number = item.get("logprob"), item.get("id", -1)
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return None
    return Alternative(item["token"], max(float(logprob), LEAST), number if isinstance(number, int) else -1)


def _text(content: Any) -> str:
    parts = content if isinstance(content, list) else [content]
    texts = [part.get("text") if isinstance(part, dict) else part for part in parts]
    return "".join(text for text in texts if isinstance(text, str))


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
    logprobs = [token.logprob for token in text_tokens(answer)]
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
    """Return whether the text of a token is a word, apart from surrounding blanks and punctuation.

    Case is ignored, except for words of one letter.
    """
    bare = text.strip(_AROUND)
    return bare == word or (len(word) > 1 and bare.lower() == word.lower())
