"""Part-of-speech tagging of the words of a phrase, by rules on the lexicon and on neighbouring words."""

import re

from shoe.lexicon import text
from shoe.lexicon.phrases.noun_phrases import MATERIAL, senses_of
from shoe.lexicon.phrases.words import (
    ADJ,
    ADV,
    AND,
    AUX,
    BEFORE_NOUNS,
    COMMA,
    DET,
    DET_PERSON,
    ING,
    ING_PAST,
    NEG,
    NOMINAL,
    NOUN,
    NOUNS,
    NOUNS_ADJ,
    PAST,
    PERSON,
    PREP,
    REL,
    VERB,
    VERB_FORMS,
    VERBS_BE,
    Context,
    Tag,
    base_of,
    closed_classes,
    is_adverb,
    is_expression,
    table,
    tag_alone,
    word_of,
)

_WHOM = re.compile(r"W[DJRNP]+$")  # the verb must follow: "the woman whom the dog licks"
# A subject with a place before its verb: "two friends on a terrace share a pizza".
_PLACED_SUBJECT = re.compile(r"([DJN]*[PN])I[DJNI]*$")
_FINITE = VERBS_BE - {ING}
# Words before the clause of a word: "surrounded by friends, a girl", "it is a ball that the girl".
_BEFORE = re.compile(r"E[^K]*K|.*[WS]")


def tag_after_noun(place: Context) -> str:
    """Return the tag of the word at ``place`` after a noun: verb ("man rides horse"), noun or adjective."""
    words, i, tags, known, _, after, noun = place
    last = max(j for j in range(i) if tags[j] != ADV)
    before = word_of(words[last])
    caused = "b" in known.forms and _is_caused(words, tags)
    if place.is_compound(i - 1):
        return VERB if caused and senses_of(words[i - 1])[:1] == ("noun.animal",) else noun
    if caused:
        return VERB
    if after in ("", PREP, Tag.SUB, COMMA, AND) and words[i] in table("resultative"):
        return ADJ
    said = "".join(tags)
    named = words[i] in text.WORD_CLASSES["persons"] and after != DET  # "homeless man"
    if before.person and (named or (known.noun and base_of(words[max(0, i - 2)]) in table("ditransitive"))):
        return noun
    if words[last] in table("pronoun"):
        return VERB
    if (_FINITE.intersection(tags) and _FINITE.intersection(_BEFORE.sub("", said))) or (after == DET and ING in tags):
        return VERB if after == DET else noun
    if "s" in known.forms:
        named = after == NOUN and ING in tags and known.rather_noun and not before.person
        verb = before.person or after in (DET, PERSON, ADJ, PREP, ADV, NOUN, PAST, ING, Tag.TO)
        return VERB if not named and (verb or _WHOM.search(said)) else noun
    may_be = after == DET and tags[-1] == NOUN and "b" in known.forms
    told = _PLACED_SUBJECT.match(said) if may_be else None
    if told and word_of(words[told.end(1) - 1]).plural:
        return VERB
    if before.person or before.plural:
        # "person bicycle" names two things: the verb of one person ends in -s
        named = known.rather_noun and not before.plural and table("implied").get(words[i]) in (None, words[i])
        return VERB if after or (before.person and not known.person and not named) else noun
    return noun


def _is_caused(words: list[str], tags: list[str]) -> bool:
    """Return whether the tagged words end with a causative verb and its object: "lets the dog" before "go"."""
    verb = max((k for k, tag in enumerate(tags) if tag in VERB_FORMS), default=-1)
    caused = verb >= 0 and base_of(words[verb]) in table("causative")
    return caused and tags[verb + 1] == DET and NOMINAL.issuperset(tags[verb + 1 :])


_ADJECTIVES = re.compile(r"[DO][RJCK]*JKR*$")  # another one may follow: "a dirty, cracked window"

# Verbs that another verb, and not an object, may follow directly: "standing holding a cup".
_LEADING = frozenset().union(*map(table, ("filler", "seen", "copula", "posture", "implied")))
_THINGS = MATERIAL | {"noun.communication", "noun.group"}
_AIMS = frozenset(["at", "to", "into", "onto", "toward", "towards"])  # follow verbs rather than nouns


def tag_open_class(words: list[str], i: int, tags: list[str]) -> str:
    """Return the tag of word ``i``, which is not a function word; ``tags`` are the tags of the words before it."""
    word, known = words[i], word_of(words[i])
    before = next((tag for tag in reversed(tags) if tag != ADV), "")
    before = ADJ if before == COMMA and _ADJECTIVES.search("".join(tags)) else before
    place = Context(words, i, tags, known, before, tag_alone(words, i + 1), PERSON if known.person else NOUN)
    result = known.adjective or word in table("resultative") or not (known.noun or known.forms or known.person)
    result = result and base_of(words[i - 1]) not in table("ditransitive")  # "gave present"
    told = word in table("resultative") and before in VERB_FORMS and place.after == DET  # "welcoming home her father"
    if told or (before == PAST and place.after in ("", PREP, Tag.SUB, AND, COMMA, Tag.TO) and result):
        return ADV  # "painted blue", "dragged ashore"
    if not known.forms:
        return ADJ if _describes(place) or (before in NOUNS and word in table("resultative")) else place.noun
    if "g" in known.forms:
        return _tag_ing_form(place)
    return _tag_participle(place) if "e" in known.forms and "b" not in known.forms else _tag_base_form(place)


def _describes(place: Context) -> bool:
    """Return whether the word at ``place``, no verb form, is an adjective, as are unknown words before a noun."""
    words, i, tags, known, before, after, _ = place
    verb_next = "s" in word_of((words[i + 1 :] or [""])[0]).forms
    seems = before == VERB and base_of(words[max(k for k in range(i) if tags[k] != ADV)]) in table("copula")
    if not known.noun and (seems or (before == Tag.BE and not known.person)):
        return True
    if not known.adjective:
        alone = not known.noun and not known.person and (before in BEFORE_NOUNS or not verb_next)
        return alone and place.describes
    if seems or after in ING_PAST:
        named = known.person or (known.noun and before == NOUN)  # "TV remote clutched"
        return seems or (not named and (before != PREP or after == PAST or _names_thing(words, i + 1)))
    listed = after == COMMA and before in (DET, ADJ) and not (known.noun and words[i + 3 : i + 4] == ["it"])
    listed = listed and not (known.person and tag_alone(words, i + 2) == ING)
    return after in (NOUN, PERSON, ADJ, AND) or listed


def _names_thing(words: list[str], i: int) -> bool:
    """Return whether an -ing form after a verb or preposition is its object: "holding railing", "next to building"."""
    if tag_alone(words, i + 1) in NOMINAL or _THINGS.isdisjoint(senses_of(words[i])):
        return False
    leading = (table("filler").keys() | table("posture").keys()) - table("transitive").keys()
    return leading.isdisjoint(map(base_of, words[max(i - 1, 0) : i + 1]))


def _tag_ing_form(place: Context) -> str:
    words, i, _, known, before, after, _ = place
    if before in BEFORE_NOUNS:
        described = after == ING and not known.rather_noun and tag_alone(words, i + 2) == NOUN
        if place.describes or (described and not _names_thing(words, i)):
            return ADJ
        return ING if after == PREP and words[i + 1] == "of" else NOUN if known.noun or not after else ING
    thing = before in (*VERB_FORMS, PREP) or (not before and "by" in words[i + 2 : i + 4])
    thing |= before in (VERB, ING) and words[i + 1 : i + 2] == ["of"] and base_of(words[i - 1]) not in table("filler")
    last = after in ("", PREP) and not MATERIAL.isdisjoint(senses_of(words[i]))  # "tasting pie filling"
    last = last and not VERB_FORMS.isdisjoint(place.tags)
    thing |= before == NOUN and (last or MATERIAL.issuperset(senses_of(words[i])))
    thing |= before in NOUNS and place.is_compound(i - 1)
    if thing and (_names_thing(words, i) or (known.noun and words[i + 1 : i + 2] == ["of"])):
        return NOUN
    led = base_of(words[i - 1]) if i else ""
    own = base_of(words[i]) in table("transitive").keys() | table("attributive").keys()
    takes_noun = before == PREP and (words[i - 1] not in table("gerund_preposition") or words[i - 2] == "front")
    takes_noun |= before in VERB_FORMS and led in table("transitive")
    takes_noun |= words[i - 1] == "by" and place.tags[-2:-1] == [PAST] and after == PERSON  # "held by sleeping man"
    takes_noun |= not own and (words[i - 1] == "with" or (before in (VERB, ING) and led not in _LEADING))
    compound = (
        before in (VERB, ING, PAST, PREP, AND) and after in NOMINAL and base_of(words[i - 1]) not in table("filler")
    ) or (before == NOUN and after == NOUN)
    return ADJ if (takes_noun and after in NOUNS) or (compound and place.is_compound(i)) else ING


def _tag_participle(place: Context) -> str:
    words, i, tags, known, before, after, noun = place
    if before in BEFORE_NOUNS:
        named = known.rather_noun and after in (ING, COMMA)
        return ADJ if not named and (after == ING or place.describes) else noun if known.noun else PAST
    if after not in NOUNS_ADJ and not (after == ING and _names_thing(words, i + 1)):
        named = before in (PREP, VERB, ING) and (known.rather_noun or base_of(words[i - 1]) not in _LEADING)
        return noun if known.noun and named else PAST  # "giving shot"
    first = not tags and ("-" in words[i] or known.adjective or place.is_compound(0))
    first |= before in (VERB, ING, PREP) or (before == PAST and Tag.BE not in tags)  # "gave wrapped present"
    return ADJ if first or (before == NOUN and "-" in words[i]) else PAST


def _tag_base_form(place: Context) -> str:
    """Return the tag of a word that can be a base or -s form: verb, participle, noun or adjective ("open book")."""
    words, i, tags, known, before, after, noun = place
    if not known.noun and not known.adjective:
        modifies = before == DET and known.forms == "b" and after in NOUNS_ADJ
        return ADJ if modifies else PAST if before == Tag.BE and "e" in known.forms else VERB
    if before in (Tag.TO, AUX, NEG, REL) or ("s" in known.forms and after == DET and before not in ("", DET, Tag.POSS)):
        return VERB
    if before == Tag.BE:
        named = "e" not in known.forms and (known.rather_noun or known.person)
        return ADJ if known.adjective and "e" not in known.forms else noun if named else PAST
    if not tags:
        return _tag_first_word(place)
    gets = base_of(words[i - 1]) == "get"
    done = after in (PREP, ADV) and (gets or (before == NOUN and "by" in words[i + 2 :]))  # "pizza cut into slices by"
    if "e" in known.forms and (done or (words[i + 1 : i + 2] == ["by"] and (gets or before in (NOUN, PERSON, COMMA)))):
        return PAST
    if before in (AND, COMMA):
        return _tag_coordinate(place)
    if before in NOUNS:
        return tag_after_noun(place)
    if before in (DET, ADJ, Tag.POSS, VERB, ING, PAST, PREP):
        second = word_of((words[i + 2 :] or [""])[0])
        named = _names_thing(words, i + 1) if after == ING else after == AND and second.adjective
        return ADJ if known.adjective and (place.describes or after == COMMA or named) else noun
    return VERB if tags[-1] == ADV and not known.rather_noun else noun


def _tag_first_word(place: Context) -> str:
    """Return the tag of the first word of a phrase: "walk the dog", "cook flips pancake", "horse riding"."""
    words, _, _, known, _, after, noun = place
    if noun == PERSON and after != DET and not _is_command(words):
        return noun
    base, third = base_of(words[0]), tag_alone(words, 2)
    if words[1:2] == ["of"] and known.noun and not is_expression(tuple(words[:2]), "verb"):
        return noun
    if not after:
        implied = base in table("implied") and MATERIAL.isdisjoint(senses_of(words[0]))
        return noun if known.rather_noun and not implied else VERB
    if after == DET or (third in NOMINAL and third and place.is_compound(1)):
        return VERB
    if after == PREP:
        aimed = "s" in known.forms and (words[1] == "for" or words[1] in _AIMS)
        verb = aimed or base in table("posture") or base in table("implied") or is_expression(tuple(words[:2]), "verb")
        return noun if known.rather_noun and not verb else VERB
    if after in (ING, PAST, Tag.BE, AUX, REL, Tag.POSS):
        thing = after == ING and "s" in known.forms and not known.rather_noun and _names_thing(words, 1)
        thing |= after == PAST and "s" in known.forms and third in NOUNS and "by" not in words  # "punches masked man"
        return VERB if thing or (base in table("copula") and after == PAST) else noun
    following = word_of(words[1])
    done = known.noun and "by" in words[2:4] and "e" in following.forms
    if done or ("s" in following.forms and "s" not in known.forms and third in (DET, NOUN, PERSON, ADJ, PREP)):
        return noun
    # The second noun names an action or its agent: "repair", "usage", "rider".
    act = "b" in following.forms and senses_of(words[1])[:1] == ("noun.act",)
    act = act or words[1] in table("nominal") or (following.person and "er" in words[1][-3:])
    doing = len(words) == 2 and act and known.noun
    return noun if doing and (known.rather_noun or words[0] in table("implied")) else VERB


def _is_command(words: list[str]) -> bool:
    """Return whether the first word, a person noun or verb form, is a verb with an object after it: "cook food"."""
    forms = word_of(words[0]).forms
    if len(words) < 2 or not forms or words[0] in text.WORD_CLASSES["persons"] or words[1] in table("seen"):
        return False
    following = word_of(words[1])
    described = following.noun or following.adjective or not following.forms
    return described and not ("s" in following.forms and len(words) > 2) and "g" not in following.forms


def _tag_coordinate(place: Context) -> str:
    """Return the tag of the word at ``place`` after "and" or a comma: if possible, the tag of the word before these."""
    _, _, tags, known, _, after, noun = place
    other = next((tag for tag in reversed(tags) if tag not in (AND, COMMA, ADV)), "")
    if (other in VERB_FORMS or (other == PREP and after in DET_PERSON)) and not (known.person and known.rather_noun):
        return VERB
    if known.adjective and other == ADJ:
        return ADJ
    again = tags[0] == VERB and after == PREP and not known.rather_noun and "b" in known.forms
    return VERB if again or (after == DET and not known.person) else noun


_WORD = re.compile(r"'(?:s|re|ve|m|ll|d)\b|[^\W_](?:[\w&.'-]*[^\W_])?|,")
_PAUSE = re.compile(r"[;:]| - ")
_AND = re.compile(r"\s&\s|\s*\+\s*")
_THEN = re.compile(r"\b(\w+),? then (?=(\w+))")
_LABEL = re.compile(r"\w+(?:_\w+)+")
# A noun phrase with its places, and the verb after it: "wet dad on knees bathing", "wheelbarrow full of bricks pushed".
_PERSON_ACTS = re.compile(r"[RJN]*P+(?:I+[DJ]*[NP]+|R)*([GEB])")
_IS_DONE = re.compile(r"[RJNP]*[NP](?:J?I+[DJ]*[NP]+|R)*(?:B|E[RIN])")
_CLITIC = re.compile(r"(?<=\w)'(?=(?:s|re|ve|m|ll|d)\b)")
_EMPHATIC = frozenset(["do", "does", "did"])
_MAIN_VERBS = dict.fromkeys(["have", "has", "had", *_EMPHATIC], VERB) | dict.fromkeys(["having", "doing"], ING)


def words_of(sentence: str) -> list[str]:
    """Return the words of a lower-case sentence, split at blanks and underscores.

    A verb with a preposition at its end ("type_on") stays one word; a sentence of one word is also split at hyphens.
    Commas and clitics ("'s") are words. "&", "+", and "then" between two verbs become "and", "/" becomes "or".
    """
    spaced = _LABEL.sub(_split_label, sentence) if "_" in sentence else sentence
    spaced = _CLITIC.sub(" '", spaced) if "'" in spaced else spaced
    spaced = _AND.sub(" and ", spaced) if "&" in spaced or "+" in spaced else spaced
    spaced = _THEN.sub(_join_verbs, spaced) if " then " in spaced else spaced
    spaced = spaced.replace("/", " or ").replace("each other", "eachother")
    words = _WORD.findall(_PAUSE.sub(", ", spaced))
    return text.tokens(words[0].replace(".", " ")) if len(words) == 1 else words


def _join_verbs(then: re.Match[str]) -> str:
    """Return "opens and " for "opens, then " before "closes", a verb of the same form; other text as it is."""
    before, after = (set(word_of(word).forms) for word in then.groups())
    return f"{then[1]} and " if before & after else then[0]


def _split_label(label: re.Match[str]) -> str:
    """Return a label with blanks for underscores; a verb with a preposition at its end ("type_on") is unchanged."""
    parts = label[0].split("_")
    verb = len(parts) > 1 and parts[-1] in text.PREPOSITIONS | text.PARTICLES and word_of(parts[0]).forms
    return label[0] if verb else " ".join(parts)


def tags_of(words: list[str]) -> str:
    """Return the tags of the words as a string of one letter per word; see :class:`~shoe.lexicon.phrases.words.Tag`."""
    tags = _tags_in_order(words)
    may_start = len(words) > 2 and tags[0] in VERB_FORMS | {NOUN}
    after_article = _tags_in_order(["the", *words])[1:] if may_start else ""
    return after_article if may_start and _starts_subject(words, tags, after_article) else tags


def _starts_subject(words: list[str], tags: str, after_article: str) -> bool:
    """Return whether the first word belongs to the subject of a later verb: "tired boy carried", "wet dad bathing"."""
    known, following = word_of(words[0]), word_of(words[1])
    acts, done = _PERSON_ACTS.match(after_article), _IS_DONE.match(after_article) if "by" in words else None
    compound = is_expression(tuple(words[:2]), "object")
    if tags[0] == ING:
        alone = known.adjective or base_of(words[0]) in table("posture")
        subject = acts is not None and ((done is not None and acts[1] in (PAST, Tag.BE)) or alone)
        return _IS_DONE.match(after_article) is not None if compound else subject
    if tags[0] == PAST or known.person or (known.adjective and after_article[0] == ADJ):
        return bool(acts or done)
    common = following.plural or words[1] in text.WORD_CLASSES["persons"] | table("pronoun").keys()
    named = compound or known.rather_noun or after_article[0] == ADJ or after_article[1] == PAST
    return bool((acts and known.noun and (compound or (following.person and not common))) or (done and named))


def _tags_in_order(words: list[str]) -> str:
    fixed = closed_classes()
    tags: list[str] = []
    for i, word in enumerate(words):
        tag = fixed.get(word) or (ADV if is_adverb(word) else VERB if "_" in word else "")
        tags.append(_tag_closed_class(words, i, tag, tags) if tag else tag_open_class(words, i, tags))
    return "".join(tags)


def _tag_closed_class(words: list[str], i: int, tag: str, tags: list[str]) -> str:
    """Return the tag of word ``i``, a function word with usual tag ``tag``; ``tags`` are the tags before it."""
    word, before = words[i], tags[-1] if tags else ""
    if tag == PREP and before in (DET, Tag.POSS) and word_of(word).noun:
        return NOUN
    close = word == "close" and words[i + 1 : i + 2] == ["to"] and before != NOUN
    if close or (tag == ADV and before in VERB_FORMS and is_expression((words[i - 1], word), "verb")):
        return PREP
    after = tag_alone(words, i + 1)
    if tag == ADV and (before == Tag.TO or (not tags and after == DET)) and "b" in word_of(word).forms:
        return VERB
    if word == "'s":
        pronoun = i > 0 and (words[i - 1] in table("pronoun") or words[i - 1] in ("who", "there", "that"))
        return Tag.BE if pronoun or _verb_follows(words, i + 1) else Tag.POSS
    if word == "to":
        return Tag.TO if after in (Tag.BE, ADV) or _starts_infinitive(words, i + 1) else PREP
    if word in _EMPHATIC and after in (NOUN, ADJ) and tag_alone(words, i + 2) in (DET, PREP):
        return tag if "b" in word_of(words[i + 1]).forms else _MAIN_VERBS[word]
    if word in _MAIN_VERBS:
        participle = after in NOMINAL and i + 1 < len(words) and "e" in word_of(words[i + 1]).forms
        return _MAIN_VERBS[word] if after in (PREP, *NOMINAL) and not participle else tag
    if (word == "that" and before not in (NOUN, PERSON, VERB, ING)) or (word == "of" and before == DET):
        return DET
    if word == "neither" and after in (PREP, *NOUNS_ADJ):
        return NOUN if after == PREP else DET
    if after == Tag.TO and before in VERB_FORMS and word.endswith(("self", "selves")):
        return ADV
    if word == "her":
        seen = after == ING and (i == 0 or tag_alone(words, i + 2) in (DET, PREP))
        back = after == PREP and before == PREP and word_of(words[i + 1]).noun
        return DET if back or ((after in NOMINAL or after in ING_PAST) and not seen) else PERSON
    if word == "one":
        return DET if (after in NOMINAL and before != ADJ) or words[i + 1 : i + 2] == ["of"] else PERSON
    if word == "can" and before in (DET, ADJ, NOUN, ING) and after not in (Tag.BE, AUX, ADV, NEG):
        return tag if "b" in word_of((words[i + 1 :] or [","])[0]).forms else NOUN
    return tag


def _starts_infinitive(words: list[str], i: int) -> bool:
    """Return whether the word after "to" is a verb, and not a noun without article ("next to motorcycle")."""
    known, led = word_of((words[i:] or [""])[0]), words[i - 2] if i > 1 else "about"
    if "b" not in known.forms or closed_classes().get(words[i], Tag.BE) not in (Tag.BE, AUX) or led in table("to_noun"):
        return False
    pair = tuple(words[i : i + 2])
    compound = len(pair) > 1 and is_expression(pair, "object")
    after, sense = tag_alone(words, i + 1 + compound), senses_of(words[i])[:1]
    thing = known.person or known.rather_noun or compound
    if (after in NOMINAL and not (thing and led == "on")) or led in table("seen"):
        return True
    return base_of(led) in table("filler").keys() | table("stoop") or (
        (not thing or sense == ("noun.act",)) and MATERIAL.isdisjoint(sense)
    )


def _verb_follows(words: list[str], i: int) -> bool:
    """Return whether, from word ``i`` on without adverbs, an -ing form follows that is a verb and not a modifier."""
    while i < len(words) and (is_adverb(words[i]) or closed_classes().get(words[i]) in (ADV, NEG)):
        i += 1
    gerund = i + 1 < len(words) and "g" in word_of(words[i]).forms
    verb = gerund and tag_alone(words, i + 1) in (DET, PERSON, PREP, NOUN)
    return verb and not is_expression(tuple(words[i : i + 2]), "object")
