"""Normalisation of raw text: case, separators, quotes, spelling and inflected forms."""

import re
import unicodedata
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path

LONGEST_LABEL = 200
"""Longest label in characters; longer texts are not looked up."""
LONGEST_EXPRESSION = 5
"""Number of words of the longest expression that is looked up."""
ALTERNATIVES = " / "
"""Separator of alternatives in a predicted verb or object, as in "sipping from / taking from"; the best comes first."""
JOINED = re.compile(r"[,;/&+|\n]|\b(?:and|then)\b")
"""Separator of several verbs in one field, as in "kiss|pet" and "jumping, riding and holding"."""
_MOST_ALTERNATIVES = 3

_DATA = Path(__file__).parent / "data"


def table_rows(name: str) -> list[list[str]]:
    """Return the fields of each row of a tab-separated table in ``data/``, without the header; ``name`` is its file."""
    return [line.split("\t") for line in (_DATA / name).read_text("utf-8").splitlines()[1:]]


def word_lists(name: str) -> dict[str, tuple[str, ...]]:
    """Return the words of each class in a file in ``data/`` with lines "class: words"; ``name`` is the file."""
    classes: dict[str, tuple[str, ...]] = {}
    for line in (_DATA / name).read_text("utf-8").splitlines():
        of_class, words = line.split(": ")
        classes[of_class] = (*classes.get(of_class, ()), *words.split())
    return classes


WORD_CLASSES = {name: frozenset(words) for name, words in word_lists("word_classes.txt").items()}
ARTICLES = WORD_CLASSES["articles"]
DETERMINERS = ARTICLES | WORD_CLASSES["possessives"] | WORD_CLASSES["numbers"]
AUXILIARIES = WORD_CLASSES["be"] | WORD_CLASSES["auxiliaries"]
NEGATIONS = WORD_CLASSES["negations"]
# Adverbs and verbs of beginning between an auxiliary and the verb: "is about to throw", "is trying to ride".
FILLERS = WORD_CLASSES["fillers"]
PREPOSITIONS = WORD_CLASSES["prepositions"]
# Adverbs that make one verb of two words ("pick up"); some are prepositions too.
PARTICLES = WORD_CLASSES["particles"]
CONJUNCTIONS = WORD_CLASSES["conjunctions"]

_NO_ACTION = [
    *(["none"], ["nothing"], ["null"], ["nil"], ["na"], ["n/a"], ["no", "relation"], ["no", "action"]),
    *(["no", "contact"], ["no", "direct", "contact"], ["no", "physical", "contact"]),
    *(["no", "direct", "interaction"], ["no", "physical", "interaction"]),
]
_ASIDE = re.compile(r"(?<=\w)\s*(?:\([^()]*\)|\[[^\[\]]*\])\s*\Z")
_SEPARATORS = re.compile(r"[\s_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z][a-z])")
_TOKEN = re.compile(r"[^\W_]+(?:['./&][^\W_]+)*'?")
_QUOTES = str.maketrans("‘’ʼ`´", "'''''")


def alternatives(word: str) -> list[str]:
    """Return the first three alternatives in a predicted verb or object, split at " / "; [word] without " / "."""
    return word.split(ALTERNATIVES)[:_MOST_ALTERNATIVES]


def plain(text: str) -> str:
    """Return text in lower case without accents, with typographic apostrophes (not double quotes) as "'"."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.translate(_QUOTES))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).lower()


def without_aside(text: str) -> str:
    """Return text without a last part in brackets after other words: "horse" for "horse (left)"."""
    return _ASIDE.sub("", text)


def spelled(text: str) -> str:
    """Return stripped text with one underscore for each run of blanks and underscores, as in WordNet's lemmas."""
    return _SEPARATORS.sub("_", text.strip())


def at_capitals(text: str) -> str:
    """Insert a blank before each capital that follows a small letter: "holdingOnto" becomes "holding Onto"."""
    return _CAMEL.sub(" ", text)


def tokens(text: str) -> list[str]:
    """Split text into words at blanks, underscores, hyphens and punctuation, except ' . / & inside a word ("man's")."""
    return _TOKEN.findall(text)


def says_no_interaction(words: list[str]) -> bool:
    """Return whether words start with "no", "non" or "not", then "interaction" or "interacting"; or "nointeraction"."""
    denied = words[:1] in (["no"], ["non"], ["not"]) and words[1:2] in (["interaction"], ["interacting"])
    return denied or words[:1] == ["nointeraction"]


def names_no_action(words: list[str]) -> bool:
    """Return whether words in place of a verb mean that there is no action: "none", "N/A", "no relation"."""
    return words in _NO_ACTION


def denies(words: list[str]) -> bool:
    """Return whether the words deny an action, like "is not riding"; False for the label "not interacting"."""
    before_verb = takewhile((AUXILIARIES | NEGATIONS).__contains__, words)
    return not NEGATIONS.isdisjoint(before_verb) and not says_no_interaction(words)


# Inflection: from form to base as WordNet's morphy does it, and from base to forms; British spelling to American.

# morphy(7WN), "Rules of Detachment": ending of the form, ending of the base.
_DETACHMENTS = {
    "n": "s: ses:s ves:f xes:x zes:z ches:ch shes:sh men:man ies:y",
    "v": "s: ies:y es:e es: ed:e ed: ing:e ing:",
}
ENDINGS = {pos: [rule.split(":") for rule in rules.split()] for pos, rules in _DETACHMENTS.items()}
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


def undoubled(form: str) -> str:
    """Return the base of an -ing or -ed form with a doubled consonant ("blogging": "blog"); "" for other words."""
    stem = form.removesuffix("ing").removesuffix("ed")
    doubled = stem != form and len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in _VOWELS
    return stem[:-1] if doubled else ""


def verb_forms(base: str) -> list[str]:
    """Return the regular forms of a verb: the base, -s, -ing and -ed, with the spelling changes of English.

    British and American spellings are included ("travelling", "traveling"). Irregular forms are in WordNet's lists.
    """
    past = [base + "d"]
    if base.endswith("ie"):
        stems = [base[:-2] + "y"]
    elif base.endswith("e") and len(base) > 2:
        stems = [base if base.endswith(("ee", "oe", "ye")) else base[:-1]]
    elif _ends_in_y(base):
        stems, past = [base], [base[:-1] + "ied"]
    else:
        stems = _doubled(base)
        past = [stem + "ed" for stem in stems]
    return [base, *_s_forms(base), *(stem + "ing" for stem in stems), *past]


def noun_forms(base: str) -> list[str]:
    """Return a noun and its regular plurals ("knife": "knife", "knifes", "knives")."""
    ves = [base.removesuffix("e")[:-1] + "ves"] if base.endswith(("f", "fe")) else []
    return [base, *_s_forms(base), *ves]


def _s_forms(base: str) -> list[str]:
    """Return the possible forms of a word with the ending -s of a plural or of a verb in the third person."""
    if base.endswith(("s", "x", "z", "ch", "sh")):
        return [base + "es"]
    if _ends_in_y(base):
        return [base[:-1] + "ies"]
    return [base + "s", base + "es"] if base.endswith("o") else [base + "s"]


def _ends_in_y(base: str) -> bool:
    return len(base) > 1 and base.endswith("y") and base[-2] not in _VOWELS


def _doubled(base: str) -> list[str]:
    """Return the possible stems before -ing and -ed, doubled after a vowel: ["sitt"], ["travel", "travell"]."""
    plain = base.replace("qu", "qw")
    if len(plain) < 3 or plain[-1] in "aeiouwxy" or plain[-2] not in _VOWELS or plain[-3] in _VOWELS:
        return [base]
    doubled = base + base[-1]
    syllables = sum(letter in _VOWELS and (i == 0 or plain[i - 1] not in _VOWELS) for i, letter in enumerate(plain))
    return [doubled] if syllables == 1 else [base, doubled]


@lru_cache(maxsize=10_000)
def american(word: str) -> tuple[str, ...]:
    """Return possible American spellings of a word, which may not exist; () if its spelling would not change."""
    listed = _spellings()
    if word in listed:
        return (listed[word],)
    if word.endswith("s") and word[:-1] in listed:
        return (listed[word[:-1]] + "s",)
    return tuple(changed for pattern, by in _AMERICAN if (changed := pattern.sub(by, word)) != word)


@cache
def _spellings() -> dict[str, str]:
    return {row[0]: row[1] for row in table_rows("spellings.tsv")}
