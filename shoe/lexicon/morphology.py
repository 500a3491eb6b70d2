"""Inflection: from form to base as WordNet's morphy does it, and from base to forms; British spelling to American."""

import re
from functools import cache, lru_cache
from typing import Literal

from shoe.lexicon.text import table_rows

# morphy(7WN), "Rules of Detachment": ending of the form, ending of the base.
_DETACHMENTS = {
    "n": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "v": "s: ies:y es:e es: ed:e ed: ing:e ing:",
}
_SUBSTITUTIONS = {pos: [rule.split(":") for rule in rules.split()] for pos, rules in _DETACHMENTS.items()}
_VOWELS = frozenset("aeiou")
_AMERICAN = [
    (re.compile(pattern), replacement)
    for pattern, replacement in [
        (r"our(?=s?$|ed$|ing$|ful|ite|able)", "or"),
        (r"(?<=[bt])re(?=s?$|d$)", "er"),
        (r"(?<=..)is(?=e[ds]?$|ing$|er$)", "iz"),
        (r"(?<=.)ys(?=e[ds]?$|ing$)", "yz"),
        (r"ogue(?=s?$)", "og"),
        (r"ll(?=ed$|ing$|er$)", "l"),
        (r"(?<=.)[ao]e", "e"),
    ]
]


def substitutions(form: str, pos: Literal["n", "v"]) -> list[str]:
    """Return what each suffix rule of morphy makes of a form, whether or not such a word exists."""
    return [form.removesuffix(old) + new for old, new in _SUBSTITUTIONS[pos] if form.endswith(old)]


def undoubled(form: str) -> str:
    """Return the base of an -ing or -ed form with a doubled consonant ("blogging": "blog"), "" for other words."""
    stem = form.removesuffix("ing").removesuffix("ed")
    doubled = stem != form and len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in _VOWELS
    return stem[:-1] if doubled else ""


def verb_forms(base: str) -> list[str]:
    """Return the regular forms of a verb: the base, -s, -ing and -ed, with the spelling changes of English.

    Both spellings where usage differs ("travelling", "traveling"). Irregular forms are in WordNet's exception lists.
    """
    past = [base + "d"]
    if base.endswith("ie"):
        stems = [base[:-2] + "y"]
    elif base.endswith("e") and len(base) > 2:
        stems = [base if base.endswith(("ee", "oe", "ye")) else base[:-1]]
    elif _ends_in(base, "y"):
        stems, past = [base], [base[:-1] + "ied"]
    else:
        stems = _doubled(base)
        past = [stem + "ed" for stem in stems]
    return [base, *_s_forms(base), *(stem + "ing" for stem in stems), *past]


def noun_forms(base: str) -> list[str]:
    """Return a noun and its regular plurals ("knife": "knife", "knifes", "knives")."""
    forms = [base, *_s_forms(base)]
    if base.endswith("fe"):
        forms.append(base[:-2] + "ves")
    elif base.endswith("f"):
        forms.append(base[:-1] + "ves")
    return forms


def _s_forms(base: str) -> list[str]:
    """Return a word with the ending -s, as a plural or a third person takes it."""
    if base.endswith(("s", "x", "z", "ch", "sh")):
        return [base + "es"]
    if _ends_in(base, "y"):
        return [base[:-1] + "ies"]
    return [base + "s", base + "es"] if base.endswith("o") else [base + "s"]


def _ends_in(base: str, letter: str) -> bool:
    return len(base) > 1 and base.endswith(letter) and base[-2] not in _VOWELS


def _doubled(base: str) -> list[str]:
    """Return the stems before -ing and -ed: the final consonant doubles after one short vowel ("sit", "quiz")."""
    plain = base.replace("qu", "qw")
    if len(plain) < 3 or plain[-1] in "aeiouwxy" or plain[-2] not in _VOWELS or plain[-3] in _VOWELS:
        return [base]
    doubled = base + base[-1]
    syllables = sum(letter in _VOWELS and (i == 0 or plain[i - 1] not in _VOWELS) for i, letter in enumerate(plain))
    return [doubled] if syllables == 1 else [base, doubled]


@lru_cache(maxsize=10_000)
def american(word: str) -> tuple[str, ...]:
    """Return the American spellings that a word may have, without asking whether they exist; () if none differs."""
    listed = _spellings()
    if word in listed:
        return (listed[word],)
    if word.endswith("s") and word[:-1] in listed:
        return (listed[word[:-1]] + "s",)
    return tuple(changed for pattern, by in _AMERICAN if (changed := pattern.sub(by, word)) != word)


@cache
def _spellings() -> dict[str, str]:
    return {row[0]: row[1] for row in table_rows("spellings.tsv")}
