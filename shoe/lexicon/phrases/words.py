"""What the phrase parser knows of single words: its own table, and what the lexicon says a word can be."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.expressions import Part, bases, find
from shoe.lexicon.store import lexicon
from shoe.lexicon.text import undoubled, verb_forms


@cache
def table(kind: str) -> dict[str, str]:
    """Rows of one kind of ``phrase_words.tsv``: each word to what it stands for, "" where that is nothing."""
    pairs = [(words, other) for where, words, other in text.table_rows("phrase_words.tsv") if where == kind]
    return {word: other for words, other in pairs for word in ([words] if other else words.split())}


@cache
def patterns(kind: str) -> str:
    """Rows of a kind as one regular expression that any of them fulfils."""
    return "|".join(words for where, words, _ in text.table_rows("phrase_words.tsv") if where == kind)


class Word(NamedTuple):
    """What a word can be.

    Attributes:
        noun: whether it can be a noun.
        person: whether it is a noun for a person, as far as its first sense says.
        adjective: whether it is an adjective more often than a noun.
        forms: verb forms that it can be: "b" base, "s", "g" -ing, "e" past or participle.
        rather_noun: whether tagged texts have it as a noun more often than as a verb.
        plural: whether it is a noun in the plural.
    """

    noun: bool
    person: bool
    adjective: bool
    forms: str
    rather_noun: bool
    plural: bool


@lru_cache(maxsize=20_000)
def word_of(word: str) -> Word:
    """Look a word up in lower case, with hyphens or not."""
    store = lexicon()
    nouns = bases(word, "object") or bases(word.rpartition("-")[2], "object")
    verbs = list(_verb_bases(word))
    adjective = store.adjective_first(word.rpartition("-")[2]) or word in text.WORD_CLASSES["descriptive"]
    person = word in text.WORD_CLASSES["persons"] or word in table("person")
    if nouns and not person:
        files = [store.lexname(sense) for sense in store.senses(nouns[0], "n").tolist()]
        common = bool(store.tag_count(nouns[0], "n")[0])
        person = files[0] == "noun.person" and (common or not (verbs or "noun.artifact" in files))
    # Who does something, of a word that the lexicon lacks ("biker"), and no comparative ("slower").
    stem = word.removesuffix("s").removesuffix("r").removesuffix("e")
    doer = not nouns and word.removesuffix("s") == stem + "er" and not store.adjective_first(stem)
    person = person or (doer and bool(_verb_bases(stem) or _verb_bases(stem + "e")))
    as_noun = sum(int(store.tag_count(base, "n").sum()) for base in nouns)
    as_verb = sum(int(store.tag_count(base, "v").sum()) for base in verbs)
    plural = word.endswith("s") and bool(nouns) and (nouns != (word,) or _is_pair(word))
    plural = plural or word in ("people", "men", "women", "children")
    rather_noun = as_noun > as_verb or (bool(nouns) and not as_verb)
    rather_noun = rather_noun and (bool(bases(word, "verb")) or not verbs)
    return Word(
        bool(nouns) or person or word in table("implied"), person, adjective, _forms(word, verbs), rather_noun, plural
    )


@lru_cache(maxsize=20_000)
def is_expression(words: tuple[str, ...], part: Part) -> bool:
    """Whether the lexicon has words together as one expression."""
    return bool(find(list(words), part))


@lru_cache(maxsize=20_000)
def base_of(word: str) -> str:
    """Return the verb that a word is most likely a form of; the word itself if none is known."""
    return next(iter(_verb_bases(word)), undoubled(word) or word.removesuffix("ing"))


def is_known_verb(word: str) -> bool:
    """Whether a word is a form of a verb that the lexicon or the table has."""
    return bool(_verb_bases(word))


def gerund(base: str) -> str:
    """Return the -ing form of a verb."""
    return next(form for form in reversed(verb_forms(base)) if form.endswith("ing") and form != base)


def _is_pair(word: str) -> bool:
    """Whether a noun in -s that is a lemma itself is a plural ("scissors"), for all that is known."""
    return len(word) > 5 and not word.endswith("ss") and bool(bases(word[:-1], "object") or bases(word[:-1], "verb"))


def _verb_bases(word: str) -> tuple[str, ...]:
    found = bases(word, "verb")
    last = word.rpartition("-")[2]
    if not found and last != word and (word.endswith(("ing", "ed")) or not word_of(last).rather_noun):
        found = bases(last, "verb")
    return found or _own_verbs().get(word, ())


@cache
def _own_verbs() -> dict[str, tuple[str, ...]]:
    """Forms of the table's verbs ("texting"), whether or not WordNet has them."""
    return {form: (base,) for base in table("implied") for form in verb_forms(base)}


def _forms(word: str, verbs: list[str]) -> str:
    if not verbs and word.isalpha() and len(word) > 5 and word.endswith("ed") and not find([word], "object"):
        return "e"
    if not verbs:
        unknown_gerund = word.isalpha() and len(word) > 5 and word.endswith("ing") and not find([word], "object")
        return "g" if unknown_gerund else ""
    last = word.rpartition("-")[2]
    found = "b" if word in verbs or last in verbs else ""
    found += "e" if word in table("participle") else ""
    inflected = [base for base in verbs if base not in (word, last)]
    if inflected:
        found += "g" if word.endswith("ing") else "s" if word.endswith("s") else "e"
    return found


# Words whose part in a phrase is settled by themselves, and the letter of a word before its place is looked at.

CONTRAST = frozenset(["but", "yet", "though"])
"""Words that join two adjectives as "and" does: "a small but fluffy dog"."""

FULL_STOP = "."
"""Stands between two sentences, as a word and as its letter."""

NOMINAL = frozenset("DNPJ")
"""Letters of words that a noun phrase may begin with."""

BEFORE_NOUNS = frozenset("DJO")
"""Letters of words that describe the noun after them: determiner, adjective, possessive."""

VERB_FORMS = frozenset("VGE")
"""Letters of verbs, -ing forms and participles."""


@cache
def closed_classes() -> dict[str, str]:
    """Words of closed classes to their letters; see :mod:`shoe.lexicon.phrases.tags`."""
    classes = text.WORD_CLASSES
    tags: dict[str, str] = {}
    for letter, words in (
        ("R", table("adverb").keys()),
        ("I", text.PREPOSITIONS | text.PARTICLES | table("preposition").keys()),
        ("D", text.DETERMINERS),
        ("S", (text.CONJUNCTIONS | table("subordinator").keys()) - {"then"}),
        ("W", {"who", "whom", "which", "that", "whose"}),
        ("C", {"and", "or"}),
        ("P", table("pronoun").keys()),
        ("H", classes["auxiliaries"] | {"'ve", "'ll", "'d"}),
        ("B", classes["be"] | {"'re", "'m", "'s"}),
        ("X", text.NEGATIONS | table("negation").keys()),
        ("T", {"to"}),
        ("K", {","}),
        (FULL_STOP, {FULL_STOP}),
    ):
        tags.update(dict.fromkeys(words, letter))
    return tags


@lru_cache(maxsize=20_000)
def is_adverb(word: str) -> bool:
    """Whether a word ends as adverbs do, and is neither a noun nor a verb form; "mid-swing" says when."""
    known = word_of(word)
    return word.startswith("mid-") or (len(word) > 3 and word.endswith("ly") and not known.forms and not known.noun)


def is_incorporated(words: list[str], i: int) -> bool:
    """Whether a word is a noun before an -ing form, and may be its object: "horse riding"."""
    following = word_of(words[i + 1]).forms if i + 1 < len(words) else ""
    known = word_of(words[i])
    return words[i] not in closed_classes() and known.noun and not known.person and "g" in following


def only_describes(word: str) -> bool:
    """Whether a word is an adjective, or unknown."""
    known = word_of(word) if word and word not in closed_classes() and not is_adverb(word) else None
    return known is not None and (known.adjective or not known.noun) and not known.forms


def coming(words: list[str], i: int) -> str:
    """Return the letter that a word has by itself, "" after the last; a noun's for what may be one."""
    return _coming(words[i], words[i + 1] if i + 1 < len(words) else "") if i < len(words) else ""


@lru_cache(maxsize=20_000)
def _coming(word: str, following: str) -> str:
    if word in CONTRAST and only_describes(following):
        return "C"
    tag = "D" if word == "her" else closed_classes().get(word)
    if tag or is_adverb(word):
        return tag or "R"
    known = word_of(word)
    if known.person:
        return "P"
    if "g" in known.forms:
        return "J" if following and is_expression((word, following), "object") else "G"
    if known.adjective:
        return "J"
    return "N" if known.noun or not known.forms else "V" if known.forms in ("b", "s", "bs") else "E"


# A word where it stands in its phrase: what it can be, and what stands around it.

# What may follow an adjective in a list, after a comma or "and".
_DESCRIBED = {"K": ("N", "J", "E", "G"), "C": ("J",)}
_ANAPHORS = frozenset(["it", "them", "him"])


class Place(NamedTuple):
    """A word in its phrase; letters as in :mod:`shoe.lexicon.phrases.tags`.

    Attributes:
        words: all words of the phrase.
        tags: letters of the words before it.
        before: letter before it, adverbs aside.
        after: letter that the next word has by itself.
        noun: its letter if it is a noun.
    """

    words: list[str]
    i: int
    tags: list[str]
    known: Word
    before: str
    after: str
    noun: str

    def is_compound(self, start: int) -> bool:
        """Whether two words from an index on are one noun in the lexicon ("dining table")."""
        return is_expression(tuple(self.words[start : start + 2]), "object")

    @property
    def describes(self) -> bool:
        """Whether a noun follows, or another adjective, in a list of them."""
        following = self.i + 2
        while coming(self.words, following) == "R":
            following += 1
        if self.after in ("N", "P", "J") or self.before not in BEFORE_NOUNS:
            return self.after in ("N", "P", "J")
        then = coming(self.words, following)
        made = self.after == "E" and then in ("N", "P")
        adjective = self.after == "C" and following < len(self.words) and only_describes(self.words[following])
        return made or adjective or then in _DESCRIBED.get(self.after, "")

    @property
    def ends_pronoun(self) -> bool:
        """Whether it stands at the end, after "it" that has a verb before: "he eats it raw"."""
        told = not self.after and self.i > 1 and self.words[self.i - 1] in _ANAPHORS
        return told and self.tags[-2] in VERB_FORMS

    def of_anaphor(self) -> bool:
        """Whether "it" follows, by a preposition or not."""
        following = self.words[self.i + 1 : self.i + (3 if self.after == "I" else 2)]
        return not _ANAPHORS.isdisjoint(following)
