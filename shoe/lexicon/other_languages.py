"""Words in languages other than English: what a lexicon has of them, without the grammar that English has here."""

from __future__ import annotations

from collections.abc import Sequence

from shoe.lexicon.expressions import LONGEST_EXPRESSION, POS, Part, Sense, distinct
from shoe.lexicon.store import lexicon

ENGLISH = "en"


def senses_of(words: Sequence[str], part: Part, spelled: str) -> list[Sense]:
    """List the senses of words: those of the whole, else those of the longest expressions in it.

    Of an object all of its expressions are pooled, as SHOE's paper does with words; of a verb the first one counts.
    What the lexicon lists as saying nothing (articles, auxiliaries) is passed over, unless it is part of an expression.
    """
    store = lexicon()
    whole = _of(spelled, part)
    if whole or not words:
        return whole
    units = [part for word in words for part in _parts(word)] if store.spaced else list("".join(words))
    joint = "_" if store.spaced else ""
    found: list[Sense] = []
    start = 0
    while start < len(units) and not (found and part == "verb"):
        for end in range(min(len(units), start + LONGEST_EXPRESSION), start, -1):
            if end - start == 1 and units[start] in store.passed_over:
                continue
            if senses := _of(joint.join(units[start:end]), part):
                why = f'part of "{" ".join(words)}"'
                found += [sense._replace(reason=f"{why}, {sense.reason}") for sense in senses]
                start = end - 1
                break
        start += 1
    return distinct(found)


def _parts(word: str) -> list[str]:
    """A word without one that says nothing and is elided before it: "s'asseoir"."""
    first, mark, rest = word.partition("'")
    return [rest] if mark and rest and first in lexicon().passed_over else [word]


def _of(written: str, part: Part) -> list[Sense]:
    """The senses of one expression and of what it may be a form of; inflected as a whole, or on its first word."""
    store, pos = lexicon(), POS[part]
    first, blank, rest = written.partition("_")
    forms = [*store.base_forms(written, pos), *(base + blank + rest for base in store.base_forms(first, pos) if blank)]
    return [
        Sense(sense, form, "as written" if form == written else f'base form of "{written}"')
        for form in dict.fromkeys(forms)
        for sense in store.senses(form, pos).tolist()
    ]
