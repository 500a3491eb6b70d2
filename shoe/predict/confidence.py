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

from shoe.core.errors import OptionError, unknown_name
from shoe.predict.completions import Said, of_text
from shoe.predict.records import Answer, Token
from shoe.predict.ways import LETTERS, YES_NO

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
