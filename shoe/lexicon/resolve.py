"""Labels and WordNet synsets that a predicted word may mean, each with the rule that led to it.

The rules follow SHOE (section 4 of the paper's supplement), except that by default the whole expression comes first,
then for an object the pooled senses of its nouns, and for a verb its head word without the particle.
"""

import hashlib
from collections.abc import Iterable, Sequence
from itertools import dropwhile, pairwise, takewhile
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import unknown_name
from shoe.lexicon import text
from shoe.lexicon.senses import KIND, POS, Part, Sense, bases, constructions, distinct, find, with_head
from shoe.lexicon.store import lexicon, per_lexicon, wordnet
from shoe.lexicon.text import noun_forms, verb_forms

# Labels that equal a predicted word except for case, spelling of blanks or inflection.

_IRREGULAR_PLURALS = {"person": ["people"]}  # neither a rule nor WordNet's exception list gives them


def match_labels(words: Sequence[str], labels: Sequence[str], part: Part) -> NDArray[np.int32]:
    """Return the index of the label that equals each predicted word, apart from inflection; synonyms do not match.

    "Riding", "is riding" and "rode" match ride, "sitting on" matches sit_on, "TVs" tv, "a ski" skis; "sitting" does not
    match sit_on, nor "sofa" couch. Of several alternatives in a word, the first that matches a label counts.

    The result is (W,) label indices of W words, -1 for a word without a matching label.
    """
    known = _known(tuple(labels), part)
    found = [[_match(reading, known, part) for reading in text.alternatives(word)] for word in words]
    return np.array([next((label for label in of_word if label >= 0), -1) for of_word in found], np.int32)


@per_lexicon(16)
def _known(labels: tuple[str, ...], part: Part) -> dict[str, int]:
    words = [text.tokens(text.plain(label)) for label in labels]
    forms = {form: number for number, label in reversed(list(enumerate(words))) for form in _forms(label, part)}
    return forms | {"".join(label): number for number, label in reversed(list(enumerate(words)))}


def _match(word: str, known: dict[str, int], part: Part) -> int:
    if len(word) > text.LONGEST_LABEL:
        return -1
    words = text.tokens(text.plain(word))
    exact = known.get("".join(words), -1)
    if exact >= 0 or not words:
        return exact
    words = text.tokens(text.plain(text.without_aside(word)))
    dropped = text.ARTICLES if part == "object" else text.ARTICLES | text.AUXILIARIES
    kept = list(dropwhile(dropped.__contains__, words)) or words[-1:]
    irregular = lexicon().exceptions[POS[part]].get(kept[-1 if part == "object" else 0], [])
    forms = ["".join(kept), *("".join(with_head(kept, base, part)) for base in irregular)]
    return next((known[form] for form in forms if form in known), -1)


def _forms(label: list[str], part: Part) -> list[str]:
    """Return the regular inflections of a label: of the first word of a verb, or the last word of an object."""
    if not label or text.says_no_interaction(label):
        return []
    if part == "verb":
        forms = verb_forms(label[0])
    else:
        last = label[-1]
        forms = [*noun_forms(last), *_IRREGULAR_PLURALS.get(last, []), *lexicon().base_forms(last, "n")]
    return ["".join(with_head(label, form, part)) for form in forms]


# Words in languages other than English: looked up without grammar rules.

ENGLISH = "en"


def senses_of(words: Sequence[str], part: Part, spelled: str) -> list[Sense]:
    """Return the senses of an expression in a language other than English; [] if no part of it is known.

    If the expression is unknown, the longest known expressions in it are used: all of them for an object, as in SHOE's
    paper, but only the first for a verb. Function words (articles, auxiliaries) are skipped unless they are part of a
    known expression. ``spelled`` is the whole expression with underscores for blanks.
    """
    store = lexicon()
    whole = _of(spelled, part)
    if whole or not words:
        return whole
    elided = [word.partition("'") for word in words]  # "s'asseoir" is "asseoir"
    whole_words = [rest if rest and first in store.passed_over else first + mark + rest for first, mark, rest in elided]
    units, joint = (whole_words, "_") if store.spaced else (list("".join(words)), "")
    found: list[Sense] = []
    start = 0
    while start < len(units) and not (found and part == "verb"):
        for end in range(min(len(units), start + text.LONGEST_EXPRESSION), start, -1):
            if end - start == 1 and units[start] in store.passed_over:
                continue
            if senses := _of(joint.join(units[start:end]), part):
                why = f'part of "{" ".join(words)}"'
                found += [sense._replace(reason=f"{why}, {sense.reason}") for sense in senses]
                start = end - 1
                break
        start += 1
    return distinct(found)


def _of(written: str, part: Part) -> list[Sense]:
    """Return the senses of an expression and of its base forms; its first word or the whole may be inflected."""
    store, pos = lexicon(), POS[part]
    first, blank, rest = written.partition("_")
    forms = [*store.base_forms(written, pos), *(base + blank + rest for base in store.base_forms(first, pos) if blank)]
    return [
        Sense(sense, form, "as written" if form == written else f'base form of "{written}"')
        for form in dict.fromkeys(forms)
        for sense in store.senses(form, pos).tolist()
    ]


# WordNet's definitions of verbs as paraphrases: "look over carefully" is inspect.
#
# A predicate is looked up as a whole, without articles and adverbs, and by each of its nouns: "tongue" finds the verbs
# whose definitions mention the tongue.

LONGEST_DEFINITION = 5
"""Number of words of the longest indexed definition, without articles and possessives."""

EQUAL_PREPOSITIONS = dict(pair.split("=") for pair in text.WORD_CLASSES["equal_prepositions"])
"""Preposition in WordNet's verbs ("climb on") for each equivalent preposition ("climb aboard")."""

_SKIPPED = text.DETERMINERS | text.WORD_CLASSES["placeholders"]
_EMPTY = _SKIPPED | text.PREPOSITIONS | text.PARTICLES | text.CONJUNCTIONS | text.AUXILIARIES | text.NEGATIONS


def singular(word: str) -> str:
    """Return a word without a final -s, except words in -ss ("glass"); used to compare predicates with definitions."""
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def is_content(word: str) -> bool:
    """Return whether a word may be a noun in definitions ("tongue"): no function word, and no word in -ing or -ly."""
    return word not in _EMPTY and not word.endswith(("ing", "ly"))


def canonical(words: Sequence[str]) -> list[str]:
    """Return the words of a predicate, which starts with a verb, in the normal form of the index of definitions.

    After the verb, determiners, words such as "something", words in -ly, plural endings and final prepositions
    (unless no other word is left, as in "sit on") are removed; equivalent prepositions become equal.
    """
    kept = [EQUAL_PREPOSITIONS.get(word, word) for word in words[1:] if word not in _SKIPPED]
    kept = [singular(word) for word in kept if not word.endswith("ly")]
    # A preposition at the end waits for its object, which is not part of the expression.
    while len(kept) > 1 and kept[-1] in text.PREPOSITIONS:
        kept.pop()
    return [words[0], *kept]


def defined_by(words: Sequence[str]) -> list[Sense]:
    """Return the verb senses with ``words`` as definition, then those with a noun of ``words`` in the definition."""
    phrases = [" ".join(canonical([base, *words[1:]])) for base in bases(words[0], "verb")]
    reasons = {phrase: f'definition "{phrase}"' for phrase in phrases if " " in phrase}
    store = lexicon()
    for word, after in pairwise([*words[1:], ""]):
        describes = after and after not in _EMPTY and store.adjective_first(word)  # "a good brushing"
        if is_content(word) and not describes:
            reasons[singular(word)] = f'"{word}" in its definition'
    return [
        Sense(s, store.lemmas(s)[0], why, own=False) for phrase, why in reasons.items() for s in store.defined(phrase)
    ]


# Senses of a predicted verb: expressions, particles, light verbs, compounds and definitions of WordNet.

_PHRASAL = text.WORD_CLASSES["phrasal_verbs"]
_LIGHT = text.WORD_CLASSES["light_verbs"]
# Verbs that keep their own meaning besides that of their noun: "sending a text" is texting, and sending.
_DELIVERING = text.WORD_CLASSES["delivering_verbs"]
# Particles that change the meaning of a verb; "on" states a place, as other prepositions do.
_ADVERBIAL = text.PARTICLES - {"on"}
# A verb with such a particle is meant as the idiom ("pick up") if tagged texts use it more often than this.
_IDIOM_USES = 20
_WITH_NOUN = text.ARTICLES | text.WORD_CLASSES["possessives"]
_ROLES = frozenset(["instr", "obj"])


def verb_senses(words: list[str], spelled: str) -> list[Sense]:
    """Return the senses of a predicted verb, best first; [] if negated or passive ("being chased by").

    ``spelled`` joins its words by underscores.
    """
    if text.NEGATIONS.intersection(words) or _is_passive(words):
        return []
    kept = without_auxiliaries([word for word in words if word not in _ROLES]) or words
    if (_essential(kept) != words or len(words) > 2) and (whole := find(words, "verb", spelled)):
        return whole
    compound, kept = _compound(kept, spelled) if "-" in spelled else ([], kept)
    content, purpose = _purpose(_essential(kept))
    found, known = _of_noun(kept, _LIGHT), True
    if not found:
        found, known = _expression(content, spelled if content == words else "")
        found += _of_noun(kept, _DELIVERING)
    if len(content) > 1 and not known and bases(content[0], "verb"):
        found += defined_by(content)
    adverbial = find(kept[:2], "verb") if len(kept) > 1 and is_adverb(kept[1]) else []  # "looking closely at"
    found = [*adverbial, *found, *constructions(content), *purpose]
    if found:
        # A compound is a kind of its head: "bottle-feeding" of feeding.
        return [*compound, *(sense._replace(weight=sense.weight * KIND) for sense in found)] if compound else found
    later = (because(find([word], "verb"), f'verb in "{" ".join(content)}"') for word in content[1:])
    return next((senses for senses in later if senses), [])


def _is_passive(words: list[str]) -> bool:
    """Return whether the person is acted on: "being chased by", "hugged by"; not "walking by" or "stood by"."""
    if words[-1:] != ["by"] or len(words) < 2:
        return False
    first, lemmas = words[0], bases(words[0], "verb")
    is_participle = lemmas and first not in lemmas and not first.endswith(("ing", "s"))
    return first in text.WORD_CLASSES["be"] or bool(is_participle and not find(words, "verb"))


def without_auxiliaries(words: list[str]) -> list[str]:
    """Return the words without auxiliaries and adverbs before the verb: "picking up a" for "is slowly picking up a".

    If no verb follows an auxiliary, the auxiliary is the verb: "being on", "having in her hand".
    """
    start, verb = 0, 0
    while start < len(words) - 1 and (words[start] in text.AUXILIARIES | text.FILLERS or is_adverb(words[start])):
        if words[start] in text.AUXILIARIES and bases(words[start], "verb"):
            verb = start
        start += 1
    if not start:
        return words
    may_be_verb = bases(words[start], "verb") or words[start].endswith(("ing", "ed"))
    return words[start if may_be_verb and words[start] not in text.PREPOSITIONS | text.DETERMINERS else verb :]


def is_adverb(word: str) -> bool:
    """Return whether a word ends in -ly and is no verb form: "slowly", also "family" and "early"; not "rely"."""
    return word.endswith("ly") and not bases(word, "verb")


def _essential(words: list[str]) -> list[str]:
    return [word for word in words if word not in _WITH_NOUN and not is_adverb(word)]


def _compound(words: list[str], spelled: str) -> tuple[list[Sense], list[str]]:
    """Return the senses of an inflected hyphenated verb at the start of ``words``, and the words from its head on.

    For "hand-feeding a", the words from the head on are "feeding a". Without such a verb: [] and all words. ``spelled``
    is the verb as written.
    """
    for parts in map(text.tokens, spelled.split("_")):
        heads = [head for head in bases(parts[-1], "verb") if head != parts[-1]] if len(parts) > 1 else []
        if heads and words[: len(parts)] == parts:
            known = [sense for head in heads for sense in find([*parts[:-1], head], "verb")]
            return because(known, f'base form of "{"-".join(parts)}"'), words[len(parts) - 1 :]
    return [], words


def _of_noun(words: list[str], light: frozenset[str]) -> list[Sense]:
    """Return the senses of the verb that a light verb and its noun mean: of "look" for "taking a look at"; else []."""
    if len(words) < 3 or not light.intersection(bases(words[0], "verb")):
        return []
    start = 2 if words[1] == "for" else 1
    end = next((k for k in range(start, len(words)) if words[k] in text.PREPOSITIONS), len(words))
    counted = start < end and words[start] in text.DETERMINERS
    if end - start < 1 + counted or not (counted or end < len(words)) or find(_essential(words[:end]), "verb"):
        return []
    # Without an article, only singular nouns: "maintenance", not "leaves".
    nouns = bases(words[end - 1], "object") if counted else [words[end - 1]]
    verbs = dict.fromkeys(verb for noun in nouns for verb in lexicon().verbs_of(noun))
    why = f'"{words[end - 1]}" of "{" ".join(words)}"'
    said = [*([verb, f"{words[end - 2]}ly"] for verb in verbs), *([verb] for verb in verbs)]
    return [sense for expression in said for sense in because(find(expression, "verb"), why)]


def _purpose(words: list[str]) -> tuple[list[str], list[Sense]]:
    """Return the words without the purpose after "to", and the senses of the purpose, with a weight below 1.

    For "bending to pick up": ["bending"], and the senses of "pick up". Without a purpose: all words, and [].
    """
    for place in (place for place in range(1, len(words) - 1) if words[place] == "to"):
        verb, uses = words[place + 1], lexicon().tag_count
        if verb in bases(verb, "verb") and uses(verb, "v").sum() > uses(verb, "n").sum():
            first = list(takewhile("to".__ne__, words[place + 1 :]))  # a chain of purposes would be a list of guesses
            found = because(verb_senses(first, ""), f'purpose of "{" ".join(words)}"')
            return words[:place], [sense._replace(weight=sense.weight * KIND) for sense in found]
    return words, []


def _expression(words: list[str], spelled: str) -> tuple[list[Sense], bool]:
    """Return the senses of the longest known expression at the start of ``words``, and whether it covers all words.

    Words after a verb may not belong to its meaning ("wiping out", "flying high"). In this case, the senses of the verb
    alone follow. Prepositions need not be covered.
    """
    for end in range(min(len(words), text.LONGEST_EXPRESSION), 0, -1):
        senses = find(words[:end], "verb", spelled if end == len(words) else "")
        if not senses and end > 1 and words[end - 1] in EQUAL_PREPOSITIONS:
            senses = find([*words[: end - 1], EQUAL_PREPOSITIONS[words[end - 1]]], "verb")
        if not senses:
            continue
        why = f'verb of "{" ".join(words)}"'
        if end < len(words):
            senses = because(senses, why)
        if _may_be_literal(words[:end], senses[0].lemma):
            weight = KIND if words[end - 1] in _ADVERBIAL else 1
            senses += [sense._replace(weight=weight) for sense in because(find(words[:1], "verb"), why)]
        return senses, end == len(words) or (end > 1 and text.PREPOSITIONS.issuperset(words[end:]))
    return [], False


def _may_be_literal(words: list[str], lemma: str) -> bool:
    """Return whether ``lemma``, a verb with a particle, may be meant literally in ``words``: "wiping out the oven"."""
    if len(words) < 2 or lemma in _PHRASAL or _LIGHT.intersection(bases(words[0], "verb")):
        return False
    if words[-1] in _ADVERBIAL or lexicon().adjective_first(words[-1]):
        return bool(lexicon().tag_count(lemma, "v").sum() <= _IDIOM_USES)
    return words[-1] in text.PREPOSITIONS


def because(senses: Iterable[Sense], why: str) -> list[Sense]:
    """Return the senses with the reason "why, old reason" each, or only ``why`` if the old one is "as written"."""
    return [s._replace(reason=why if s.reason == "as written" else f"{why}, {s.reason}") for s in senses]


ObjectWords = Literal["phrase-first", "pooled", "head", "phrase"]

# Words that only describe a noun, although they are also nouns in WordNet ("orange cat" is no fruit).
_DESCRIPTIVE = text.WORD_CLASSES["descriptive"]
# A participle before a noun describes it ("parked car"), unless tagged texts know it well as a noun ("building").
_NOUN_USES = 5
_TABLES = Path(__file__).parent / "data"


class Resolution(NamedTuple):
    """Candidate synsets of a verb or object, best first; () for a word that is not in the lexicon."""

    word: str
    part: Part
    candidates: tuple[Sense, ...]


def resolve(word: str, part: Part, object_words: ObjectWords = "phrase-first") -> Resolution:
    """Return the synsets that a predicted verb or object may mean, best first.

    >>> [candidate.name for candidate in resolve("hot dogs", "object").candidates]
    ['hotdog.n.01', 'hotdog.n.02', 'frank.n.02']

    "no interaction", negated verbs and texts of more than 200 characters have no synset.

    Args:
        word: predicted word in any case and inflection, with underscores, hyphens or blanks, and with particle or
            modifiers. For alternatives ("laptop / desk"), the candidates of the first three are returned in order.
        part: "verb" or "object".
        object_words: words of an object that are looked up: "phrase-first" (all words together, or if unknown, each
            noun), "pooled" (every word, as in SHOE's paper), "head" (last word), "phrase" (only all words together).

    Raises OptionError for an unknown ``object_words``.
    """
    if object_words not in get_args(ObjectWords):
        raise unknown_name("object-words", object_words, get_args(ObjectWords))
    return _resolved(word, part, object_words)


@per_lexicon(10_000)
def _resolved(word: str, part: Part, object_words: ObjectWords) -> Resolution:
    senses = distinct(sense for each in text.alternatives(word) for sense in _senses(each, part, object_words))
    candidates = (s if s.weight == 1 else s._replace(reason=f"{s.reason}, counts {s.weight:g}") for s in senses)
    return Resolution(word, part, tuple(candidates))


def _senses(reading: str, part: Part, object_words: ObjectWords) -> Iterable[Sense]:
    written = text.plain(text.without_aside(reading)) if len(reading) <= text.LONGEST_LABEL else ""
    words = text.tokens(written)
    if text.says_no_interaction(words):
        return []
    spelled = text.spelled(written)
    if lexicon().language != ENGLISH:
        return senses_of(words, part, spelled)
    found = list(verb_senses(words, spelled) if part == "verb" else _object(words, spelled, object_words))
    split = text.at_capitals(reading)
    return found if found or split == reading else _senses(split, part, object_words)


def lexicon_metadata() -> dict[str, str]:
    """Return the signature fields of the active lexicon: "lexicon-sha" (hash), and "lexicon" (name) if not WordNet."""
    return ({} if lexicon() is wordnet() else {"lexicon": lexicon().label}) | {"lexicon-sha": lexicon_digest()}


@per_lexicon(None)
def lexicon_digest() -> str:
    """Return 8 hex digits of a hash of the active lexicon and the tables in ``data/``, which affect :func:`resolve`."""
    digest = hashlib.sha256(lexicon().digest.encode())
    for path in sorted([*_TABLES.glob("*.tsv"), _TABLES / "word_classes.txt"]):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def _object(words: list[str], spelled: str, how: ObjectWords) -> Iterable[Sense]:
    if how == "pooled":
        found = [sense for word in words for sense in find([word], "object")]
        return because(found, f'word of "{" ".join(words)}"') if len(words) > 1 else found
    phrase = without_determiners(_without_joined(words, spelled))
    while len(phrase) > 1 and phrase[-1].isdigit():
        phrase.pop()
    if how == "head":
        head = _noun_groups(phrase)[0][-1:] if phrase else []
        return because(find(head, "object"), f'head of "{" ".join(words)}"') if head != words else find(head, "object")
    joined = text.ARTICLES.isdisjoint(words[:1]) or lexicon().has(spelled, "n")  # "a tv" is no ATV
    whole = (find(words, "object", spelled) if joined else []) or find(phrase, "object")
    if how == "phrase":
        return whole
    owners = [_owner(word) for word in phrase]
    senses = [*whole, *(because(_literal(phrase), f'head of "{" ".join(phrase)}"') if whole else [])]
    if whole and "of" not in phrase and owners == phrase:
        return senses
    return senses + [s for rank, group in enumerate(_noun_groups(owners)) for s in _nouns(words, group, rank == 0)]


def _owner(word: str) -> str:
    """Return a noun without its possessive ending ("horse" for "horse's"), except a person; other words unchanged."""
    owner, store = word.removesuffix("'s"), lexicon()
    senses = [store.senses(base, "n").tolist()[0] for base in bases(owner, "object")] if owner != word else []
    return owner if senses and store.lexname(senses[0]) != "noun.person" else word


def _nouns(words: list[str], group: list[str], main: bool) -> Iterable[Sense]:
    """Yield the senses of the longest known expressions in a noun group, from its head to the left, without modifiers.

    ``words`` is the whole object. Only senses of the head of the ``main`` group have the full weight.
    """
    end = len(group)
    while end > 0:
        for start in range(max(0, end - text.LONGEST_EXPRESSION), end):
            known = group[start:end]
            if end < len(group) and describes(known):
                continue
            if senses := find(known, "object") + _literal(known):
                head = main and end == len(group)
                senses = because(senses, f'{"head" if head else "part"} of "{" ".join(words)}"')
                yield from senses if head else [s._replace(weight=KIND) for s in senses]
                end = start + 1
                break
        end -= 1


def _literal(words: list[str]) -> list[Sense]:
    """Return the senses of the noun in a fixed expression that may be meant literally: "big apple" is also an apple."""
    return find(words[1:], "object") if len(words) == 2 and words[0] in _DESCRIPTIVE else []


def describes(words: list[str]) -> bool:
    """Return whether words before a noun only describe it ("parked car"), so that they are not looked up."""
    if all(word in _DESCRIPTIVE or word in text.CONJUNCTIONS for word in words):
        return True
    if len(words) > 1:
        return False
    word, store = words[0], lexicon()
    if word in text.DETERMINERS or word.isdigit() or word.endswith(("'s", "'")) or store.adjective_first(word):
        return True
    participle = word.endswith(("ing", "ed")) and any(base != word for base in bases(word, "verb"))
    return participle and bool(store.tag_count(word, "n").sum() < _NOUN_USES)


def _without_joined(words: list[str], spelled: str) -> list[str]:
    """Return the words without hyphenated modifiers that contain a preposition: "bag" for "carry-on bag"."""
    *before, last = spelled.split("_") if "-" in spelled else [""]
    joined = [parts for parts in map(text.tokens, before) if len(parts) == 1 or text.PREPOSITIONS.isdisjoint(parts)]
    return [*(word for parts in joined for word in parts), *text.tokens(last)] if before else words


def without_determiners(words: list[str]) -> list[str]:
    """Return the words without leading articles, possessives and numbers; at least the last word is kept."""
    return list(dropwhile(lambda word: word in text.DETERMINERS or word.isdigit(), words)) or words[-1:]


def _noun_groups(phrase: list[str]) -> list[list[str]]:
    """Split a noun phrase at "of" into groups, without measures and without words after other prepositions.

    "bowl of soup on a table" is [["bowl"], ["soup"]]; "slice of pizza" is [["pizza"]].
    """
    groups: list[list[str]] = [[]]
    for index, word in enumerate(phrase):
        if not index or word not in text.PREPOSITIONS:
            groups[-1].append(word)
        elif word == "of":
            groups.append([])
        else:
            break
    groups = [without_determiners(group) for group in groups if group]
    return [group for group in groups[:-1] if group[-1] not in text.WORD_CLASSES["measures"]] + groups[-1:]
