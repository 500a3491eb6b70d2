"""Properties of single words for the phrase parser, from ``phrase_words.tsv`` and from the lexicon."""

from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.senses import Part, bases, find
from shoe.lexicon.store import lexicon
from shoe.lexicon.text import undoubled, verb_forms


@cache
def table(kind: str) -> dict[str, str]:
    """Return {word: value} of the rows in ``phrase_words.tsv`` whose first column is ``kind``; value "" if empty."""
    pairs = [(words, other) for where, words, other in text.table_rows("phrase_words.tsv") if where == kind]
    return {word: other for words, other in pairs for word in ([words] if other else words.split())}


@cache
def patterns(kind: str, table: str = "phrase_words.tsv") -> str:
    """Return the regular expressions of a ``kind`` (first column) in a table in ``data/``, joined by "|"."""
    return "|".join(words for where, words, _ in text.table_rows(table) if where == kind)


class Word(NamedTuple):
    """Parts of speech that a word can have."""

    noun: bool
    person: bool  # as a noun, usually means a person
    adjective: bool  # at least as often as a noun in tagged texts, or listed as descriptive
    forms: str  # verb forms, one letter each: "b" base, "s" -s form, "g" -ing form, "e" past or participle
    rather_noun: bool  # more often than a verb in tagged texts
    plural: bool


@lru_cache(maxsize=20_000)
def word_of(word: str) -> Word:
    """Return the possible parts of speech of a lower-case word, which may have hyphens."""
    store = lexicon()
    nouns = bases(word, "object") or bases(word.rpartition("-")[2], "object")
    verbs = list(verb_bases(word))
    adjective = store.adjective_first(word.rpartition("-")[2]) or word in text.WORD_CLASSES["descriptive"]
    person = word in text.WORD_CLASSES["persons"] or word in table("person")
    files = [store.lexname(sense) for base in nouns[:1] for sense in store.senses(base, "n").tolist()]
    if nouns and not person:
        common = bool(store.tag_count(nouns[0], "n")[0])
        only = len(set(files)) == 1
        person = files[0] == "noun.person" and (common or only or not (verbs or "noun.artifact" in files))
    # An agent noun that the lexicon lacks ("biker"), unless it is a comparative ("slower").
    stem = word.removesuffix("s").removesuffix("r").removesuffix("e")
    doer = not nouns and word.removesuffix("s") == stem + "er" and not store.adjective_first(stem)
    person = person or (doer and bool(verb_bases(stem) or verb_bases(stem + "e")))
    human = word.endswith(("children", "child", "women", "woman", "men", "man", "person"))
    person |= human and ("noun.person" in files or not (nouns or verbs))
    as_noun = sum(int(store.tag_count(base, "n").sum()) for base in nouns)
    as_verb = sum(int(store.tag_count(base, "v").sum()) for base in verbs)
    one = word.removesuffix("s") if len(word) > 5 and word.endswith("s") and not word.endswith("ss") else ""
    pair = nouns == (word,) and bool(one) and bool(bases(one, "object") or bases(one, "verb"))  # "glasses"
    plural = word in ("people", "men", "women", "children")
    plural |= word.endswith("s") and bool(nouns) and (nouns != (word,) or pair)
    rather_noun = as_noun > as_verb or (bool(nouns) and not as_verb)
    rather_noun = rather_noun and (bool(bases(word, "verb")) or not verbs)
    noun = bool(nouns) or person or word in table("implied")
    return Word(noun, person, adjective, _forms(word, verbs), rather_noun, plural)


@lru_cache(maxsize=20_000)
def is_expression(words: tuple[str, ...], part: Part) -> bool:
    """Return whether words are in the lexicon or aliases ("dining table"), and not in the table "not_compound"."""
    return bool(find(list(words), part)) and "_".join(words) not in table("not_compound")


@lru_cache(maxsize=20_000)
def base_of(word: str) -> str:
    """Return the most likely base form of a verb form.

    Of unknown words, "lasering" becomes "laser", and "vlogged" (doubled consonant) "vlog"; others stay unchanged.
    """
    return next(iter(verb_bases(word)), undoubled(word) or word.removesuffix("ing"))


def gerund(base: str) -> str:
    """Return the -ing form of a verb."""
    return next(form for form in reversed(verb_forms(base)) if form.endswith("ing") and form != base)


def verb_bases(word: str) -> tuple[str, ...]:
    """Return the base forms of a verb form in the lexicon or in ``phrase_words.tsv``; () if it is in neither.

    An unknown word with a hyphen ("horse-riding") has those of its last part, if it ends in -ing or -ed, or if
    the last part is not rather a noun.
    """
    found, last = bases(word, "verb"), word.rpartition("-")[2]
    if not found and last != word and (word.endswith(("ing", "ed")) or not word_of(last).rather_noun):
        found = bases(last, "verb")
    return found or _own_verbs().get(word, ())


@cache
def _own_verbs() -> dict[str, tuple[str, ...]]:
    """Return {form: bases} of verbs in ``phrase_words.tsv`` ("texting"); WordNet may not contain these verbs."""
    return {form: (base,) for base in table("implied") for form in verb_forms(base)}


def _forms(word: str, verbs: list[str]) -> str:
    if not verbs:
        unknown = word.replace("-", "").isalpha() and len(word) > 5 and not find([word], "object")
        return "e" if unknown and word.endswith("ed") else "g" if unknown and word.endswith("ing") else ""
    last = word.rpartition("-")[2]
    found = "b" if word in verbs or last in verbs else ""
    found += "e" if word in table("participle") else ""
    if any(base not in (word, last) for base in verbs):
        found += "g" if word.endswith("ing") else "s" if word.endswith("s") else "e"
    return found


# Tags of single words without context. Function words (closed classes) have the same tag in most contexts.


class Tag(StrEnum):
    """Part of speech of a word in a phrase; one letter, so that the tags of a phrase can be searched as text."""

    DET = "D"  # article, possessive or number
    NOUN = "N"
    PERSON = "P"  # noun for a person, or pronoun
    ADJ = "J"
    POSS = "O"  # possessive 's
    PREP = "I"  # preposition or verb particle
    BE = "B"  # form of "be"
    AUX = "H"  # auxiliary other than "be"
    TO = "T"  # "to" before a verb
    VERB = "V"  # finite verb or base form
    ING = "G"  # verb form in -ing
    PAST = "E"  # past tense or past participle
    AND = "C"  # "and" or "or"
    COMMA = "K"
    REL = "W"
    SUB = "S"  # conjunction that starts a clause, such as "while" or "but"
    NEG = "X"
    ADV = "R"


DET, NOUN, PERSON, ADJ, POSS, PREP, BE, AUX, TO, VERB, ING, PAST, AND, COMMA, REL, SUB, NEG, ADV = Tag

CONTRAST = frozenset(["but", "yet", "though"])  # join adjectives as "and" does: "a small but fluffy dog"

FULL_STOP = "."
"""Separator of sentences in a list of words, and its tag."""

NOUNS = frozenset({NOUN, PERSON})
NOUNS_ADJ = NOUNS | {ADJ}
DET_PERSON = frozenset({DET, PERSON})
DET_NOUNS = NOUNS | {DET}

NOMINAL = DET_NOUNS | {ADJ}
"""Tags of words that can start a noun phrase."""

BEFORE_NOUNS = frozenset({DET, ADJ, POSS})
"""Tags of words that modify the noun after them."""

ING_PAST = frozenset({ING, PAST})
VERB_FORMS = ING_PAST | {VERB}
VERBS_BE = VERB_FORMS | {BE}


@cache
def closed_classes() -> dict[str, str]:
    """Return {word: tag} of function words, such as prepositions, pronouns and auxiliaries."""
    classes = text.WORD_CLASSES
    tags: dict[str, str] = {}
    for letter, words in (
        (ADV, table("adverb").keys()),
        (PREP, text.PREPOSITIONS | text.PARTICLES | table("preposition").keys()),
        (DET, text.DETERMINERS),
        (SUB, (text.CONJUNCTIONS | table("subordinator").keys()) - {"then"}),
        (REL, {"who", "whom", "which", "that", "whose"}),
        (AND, {"and", "or"}),
        (PERSON, table("pronoun").keys()),
        (AUX, classes["auxiliaries"] | {"'ve", "'ll", "'d"}),
        (BE, classes["be"] | {"'re", "'m", "'s"}),
        (NEG, text.NEGATIONS | table("negation").keys()),
        (TO, {"to"}),
        (COMMA, {","}),
        (FULL_STOP, {FULL_STOP}),
    ):
        tags.update(dict.fromkeys(words, letter))
    return tags


@lru_cache(maxsize=20_000)
def is_adverb(word: str) -> bool:
    """Return whether a word ends in -ly and is neither noun nor verb form, or starts with "mid-" ("mid-swing")."""
    known = word_of(word)
    return word.startswith("mid-") or (len(word) > 3 and word.endswith("ly") and not known.forms and not known.noun)


def is_incorporated(words: list[str], i: int) -> bool:
    """Return whether word ``i`` is a noun, but no person, directly before an -ing form: "horse" in "horse riding"."""
    following = word_of(words[i + 1]).forms if i + 1 < len(words) else ""
    known = word_of(words[i])
    return words[i] not in closed_classes() and known.noun and not known.person and "g" in following


def is_modifier(word: str) -> bool:
    """Return whether a word may modify a noun: adjective or unknown word, and no verb form, adverb or function word."""
    known = word_of(word) if word and word not in closed_classes() and not is_adverb(word) else None
    return known is not None and (known.adjective or not known.noun) and not known.forms


def tag_alone(words: list[str], i: int) -> str:
    """Return the tag of word ``i``, judged only with the next word; "" if ``i`` is after the last word."""
    return _tag_alone(words[i], words[i + 1] if i + 1 < len(words) else "") if i < len(words) else ""


@lru_cache(maxsize=20_000)
def _tag_alone(word: str, following: str) -> str:
    contrast = word in CONTRAST and is_modifier(following)
    tag = AND if contrast else DET if word == "her" else closed_classes().get(word)
    if tag or is_adverb(word):
        return tag or ADV
    known = word_of(word)
    if known.person:
        return PERSON
    if "g" in known.forms:
        return ADJ if following and is_expression((word, following), "object") else ING
    other = VERB if known.forms in ("b", "s", "bs") else PAST
    return ADJ if known.adjective else NOUN if known.noun or not known.forms else other


# Tags that may follow an adjective in a list, after a comma or "and".
_DESCRIBED: dict[str, tuple[Tag, ...]] = {COMMA: (NOUN, ADJ, PAST, ING), AND: (ADJ,)}


class Context(NamedTuple):
    """Word of a phrase, at index ``i``, with its context."""

    words: list[str]
    i: int
    tags: list[str]  # of the words before
    known: Word
    before: str  # tag of the nearest preceding word that is not an adverb
    after: str  # usual tag of the next word
    noun: str  # tag of the word as a noun: NOUN or PERSON

    def is_compound(self, start: int) -> bool:
        """Return whether the two words from index ``start`` on are a noun in the lexicon ("dining table")."""
        return is_expression(tuple(self.words[start : start + 2]), "object")

    @property
    def describes(self) -> bool:
        """Whether the word modifies a noun that follows, or is the first of several modifiers, as in "old, red"."""
        following = self.i + 2
        while tag_alone(self.words, following) == ADV:
            following += 1
        if self.after in NOUNS_ADJ or self.before not in BEFORE_NOUNS:
            return self.after in NOUNS_ADJ
        then = tag_alone(self.words, following)
        made = self.after == PAST and then in NOUNS
        adjective = self.after == AND and following < len(self.words) and is_modifier(self.words[following])
        return made or adjective or then in _DESCRIBED.get(self.after, ())
