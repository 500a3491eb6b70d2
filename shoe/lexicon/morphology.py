"""Inflection: suffix rules from form to base as WordNet's morphy has them, and spelling rules from base to forms."""

from typing import Literal

# morphy(7WN), "Rules of Detachment": ending of the form, ending of the base.
_DETACHMENTS = {
    "n": [
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ],
    "v": [
        ("s", ""),
        ("ies", "y"),
        ("es", "e"),
        ("es", ""),
        ("ed", "e"),
        ("ed", ""),
        ("ing", "e"),
        ("ing", ""),
    ],
}
_VOWELS = frozenset("aeiou")


def substitutions(form: str, pos: Literal["n", "v"]) -> list[str]:
    """Return what each suffix rule of morphy makes of a form, whether or not such a word exists."""
    return [form.removesuffix(old) + new for old, new in _DETACHMENTS[pos] if form.endswith(old)]


def verb_forms(base: str) -> list[str]:
    """Return the regular forms of a verb: the base, -s, -ing and -ed, with the spelling changes of English.

    Both spellings where usage differs ("travelling", "traveling"). Irregular forms are in WordNet's exception lists.
    """
    if base.endswith("ie"):
        stems, present = [base[:-2] + "y"], [base + "d"]
    elif base.endswith("e") and not base.endswith(("ee", "oe", "ye")):
        stems, present = [base[:-1]], [base + "d"]
    elif base.endswith("e"):
        stems, present = [base], [base + "d"]
    elif _ends_in(base, "y"):
        stems, present = [base], [base[:-1] + "ied"]
    else:
        stems = _doubled(base)
        present = [stem + "ed" for stem in stems]
    return [base, *noun_forms(base)[1:], *(stem + "ing" for stem in stems), *present]


def noun_forms(base: str) -> list[str]:
    """Return a noun and its regular plurals ("knife": "knife", "knifes", "knives")."""
    forms = [base]
    if base.endswith(("s", "x", "z", "ch", "sh")):
        forms.append(base + "es")
    elif _ends_in(base, "y"):
        forms.append(base[:-1] + "ies")
    else:
        forms.append(base + "s")
        if base.endswith("o"):
            forms.append(base + "es")
        elif base.endswith("fe"):
            forms.append(base[:-2] + "ves")
        elif base.endswith("f"):
            forms.append(base[:-1] + "ves")
    return forms


def _ends_in(base: str, letter: str) -> bool:
    """Whether a word ends in the letter after a consonant."""
    return len(base) > 1 and base.endswith(letter) and base[-2] not in _VOWELS


def _doubled(base: str) -> list[str]:
    """Return the stems before -ing and -ed: the final consonant doubles after one short vowel ("sit", "quiz")."""
    plain = base.replace("qu", "qw")
    if len(plain) < 3 or plain[-1] in "aeiouwxy" or plain[-2] not in _VOWELS or plain[-3] in _VOWELS:
        return [base]
    doubled = base + base[-1]
    syllables = sum(letter in _VOWELS and (i == 0 or plain[i - 1] not in _VOWELS) for i, letter in enumerate(plain))
    return [doubled] if syllables == 1 else [base, doubled]
