"""Which label of a dataset a predicted word *is*: the same words in another case, spelling of blanks or inflection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from shoe.lexicon import text
from shoe.lexicon.expressions import LONGEST_EXPRESSION, POS, Part, Sense, distinct, with_head
from shoe.lexicon.store import lexicon, per_lexicon
from shoe.lexicon.text import noun_forms, verb_forms

# Plurals that neither a rule nor WordNet's exception list gives.
_IRREGULAR_PLURALS = {"person": ["people"]}


def match_labels(words: Sequence[str], labels: Sequence[str], part: Part) -> NDArray[np.int32]:
    """Find the label that each word is an inflection of; synonyms are other words.

    "Riding", "is riding" and "rode" are ride, "sitting on" is sit_on, "TVs" is tv, "a ski" is skis; "sitting" is not
    sit_on, "sofa" is not couch. Of a word's alternatives the first that is a label counts.

    Args:
        words: W predicted words; :data:`~shoe.lexicon.text.ALTERNATIVES` joins readings of one.
        labels: L labels of the dataset.
        part: whether they are verbs or objects.

    Returns:
        (W,) index of the label, -1 where the word is none. A label as written comes before another's inflection.
    """
    known = _known(tuple(labels), part)
    found = [[_match(reading, known, part) for reading in text.alternatives(word)] for word in words]
    return np.array([next((label for label in of_word if label >= 0), -1) for of_word in found], np.int32)


@per_lexicon(16)
def _known(labels: tuple[str, ...], part: Part) -> dict[str, int]:
    known: dict[str, int] = {}
    for number, label in enumerate(labels):
        known.setdefault(_joined(text.tokens(text.plain(label))), number)
    for number, label in enumerate(labels):
        for form in _forms(text.tokens(text.plain(label)), part):
            known.setdefault(form, number)
    return known


def _match(word: str, known: dict[str, int], part: Part) -> int:
    if len(word) > text.LONGEST_LABEL:
        return -1
    words = text.tokens(text.plain(word))
    exact = known.get(_joined(words), -1)
    if exact >= 0 or not words:
        return exact
    dropped = text.ARTICLES if part == "object" else text.ARTICLES | text.AUXILIARIES
    start = 0
    while start < len(words) - 1 and words[start] in dropped:
        start += 1
    kept = words[start:]
    found = known.get(_joined(kept), -1)
    if found >= 0:
        return found
    bases = lexicon().exceptions[POS[part]].get(kept[-1 if part == "object" else 0], [])
    forms = (_joined(with_head(kept, base, part)) for base in bases)
    return next((known[form] for form in forms if form in known), -1)


def _forms(label: list[str], part: Part) -> list[str]:
    """The regular inflections of a label: of its first word for a verb, of its last for an object."""
    if not label or text.says_no_interaction(label):
        return []
    if part == "verb":
        forms = verb_forms(label[0])
    else:
        last = label[-1]
        forms = [*noun_forms(last), *_IRREGULAR_PLURALS.get(last, []), *lexicon().base_forms(last, "n")]
    return [_joined(with_head(label, form, part)) for form in forms]


def _joined(words: list[str]) -> str:
    return "".join(words)


# Words in languages other than English: what a lexicon has of them, without the grammar that English has here.

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
