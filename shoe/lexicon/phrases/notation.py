"""Parser for interactions in a notation: list marks, labels, Markdown, brackets, arrows, and keys with values."""

import re
from functools import cache
from typing import NamedTuple

from shoe.lexicon import text
from shoe.lexicon.phrases.words import base_of, table, word_of
from shoe.lexicon.senses import find

_ARTICLE_CHOICE = re.compile(r"\ba/an\b|\ba\(n\)")
_SENTENCE = re.compile(r"[a-z']+(?: [a-z']+)+\.?")
_CAMEL_AMONG_WORDS = re.compile(r"(?<=[a-z]{2})(?=[A-Z][a-z])|(?<=\b[A-Z][a-z])(?=[A-Z][a-z])")
_CAMEL_WORD = re.compile(r"\b[A-Za-z]*[a-z][A-Z][a-z]\w*")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_COMMAND = re.compile(r"\\[a-z]+\{|\$")
_BOX = re.compile(r"<(\w*box|quad)>[^<]*</\1>|[\[(](?:\s*-?\d+(?:\.\d+)?\s*,?){4}[\])]")
_IN_BRACKETS = re.compile(r"[(\[{<]([\w ]+)[)\]}>] ([\w ]+) [(\[{<]([\w ]+)[)\]}>]")
_WITH = re.compile(r" w(?:/ ?|\. )")
_ITEM = re.compile(r"\s+\d{1,2}[.)]\s+")
_LETTER = re.compile(r"(?<=[a-z]) [A-H](?=[\s.,;:]|$)")
_REFERENCE = re.compile(r"[\[({](?:id|no|#)?[ =:#]*\d+[\])}]|#\d+\b(?=\s+[a-z])")
_IS_TRIPLET = re.compile(
    r"(?:the )?(?:\w+ )?(?:hoi|interaction|action|relation|triplet|answer) (?:\w+ )?is:? (?=[(<\[{\"])"
)
_NUMBER = re.compile(
    r"(?<=[a-z])(?:(?:\s(?:id|no\.|number)[ =:#]*\d+|\s?#\d+|[_.\-: ]\d+)\b(?!-\w)|(?<=[a-z]{3})\d+\b)(?!\.\d|%)"
)
_APPOSED = re.compile(rf"\b(?:the |an? )?(?:{'|'.join(table('key_object'))})\s*(?:\(([^()]+)\)|, (?=(?:an?|the) ))")
_LIST_MARK = re.compile(
    r"\s*(?:[-*>•–—]+\s+|\(?[a-h]\)\s+|\(?\d{1,3}[.):](?=\s|\D)\s*|#+\s*\d*[.:)]?\s+|#\d+[.:)]?\s*)"
)
_MARKDOWN = re.compile(r"\*+|`+|(?<!\w)_+|_+(?!\w)")
_CELLS = re.compile(r"<([^<>]+)>\s*")
_CALL = re.compile(
    r"\s*(?:\w+\.)?[ -]*(\w[\w -]*?)\s*(?:\(([^()]*)\)|[<\[]([^<>\[\]]*,[^<>\[\]]*)[>\]])\W*(?:(?:true|yes|1)\W*)?"
)
_ASIDE = re.compile(r"(?<=\w)\s*\([^()]*\)\s*$")
_SURENESS = r"(?:\w+ )?(?:confidence|conf|score|probability|prob|certainty|likelihood)"
_SCORE = re.compile(
    rf"[\s:,;|(=\[@]*(?:{_SURENESS}\s*[:=]?\s*)?(?<!\w)(?:[01]?\.\d+|\d{{1,3}} ?%)[)\]]*\s*$"
    rf"|\s*[(\[]{_SURENESS}(?:[ :=]+\w+)?[)\]]\s*$"
)
_PLUS = re.compile(r"(?:([a-z_]+)[+.])?([a-z_]+)[+.]([a-z_]+)")  # "talk_on+cell_phone", "person.ride.horse"
_TAG = re.compile(r"</?[^<>]*>")
_ARROW = re.compile(r"\s*(?:-+\[|\]-+>|[-=—]+>|→|⟶|⇒|\|)\s*")
_COMMA = re.compile(r"\s*[,;]\s*|\s\+\s")
_VERBS = re.compile(r"([\w ]+(?:(?:\s*[,;]|\s\+)\s*[\w ]+)+?)(?:\s*(?:[/:|]|-+>|→)\s*|\s+-\s+)([\w ]+)")
_JOINT = re.compile(r"\s+-+\s+|\s*-{2,}\s*|\s*[:/]+\s*")
_SETS = r"(?:[-=]*>|(?<!:):(?!:)|[=\]]| is(?= \")|\s-\s|\s?[\[(](?=[^)\]]*[\])]))"  # between a key and its value
_LONGEST_FIELD = 5
_TO_BE = [[word] for word in text.WORD_CLASSES["be"]]
_BRACKETS = "|<>()[]{}\"'`. "


class Fields(NamedTuple):
    """Verb and object of a phrase in a notation like "(man, ride, horse)".

    ``sure`` is false if the phrase may be an ordinary list of words ("ride, horse").
    """

    verb: str
    object: str
    sure: bool = True


def fields_or_sentence(phrase: str) -> Fields | str:
    """Return verb and object if a phrase is in a notation such as "(man, ride, horse)"; else the phrase in lower case.

    List marks, Markdown, tags, box coordinates, scores and numbers are removed from the phrase. A notation with a
    single field, or with a passive verb between two persons ("child held by woman"), is returned as text.
    """
    if not phrase[1:].islower():
        if " " not in phrase.strip():
            phrase = text.at_capitals(phrase)
        elif _CAMEL_AMONG_WORDS.search(phrase):
            phrase = _CAMEL_WORD.sub(_split, phrase)
        phrase = _LETTER.sub("", phrase)
    plain = _WITH.sub(" with ", text.plain(phrase).replace(" w/o ", " without "))
    if joined := _PLUS.fullmatch(plain):
        verb, noun = (word_of(part) for part in (joined[2].split("_")[0], joined[3].split("_")[-1]))
        told = verb.forms and noun.noun and "g" not in noun.forms and _is_person(joined[1] or "person")
        plain = "|".join(filter(None, joined.groups())) if told else plain
    if _SENTENCE.fullmatch(plain):
        return plain
    plain = _BOX.sub(" ", _COMMAND.sub(" ", _ARTICLE_CHOICE.sub("a", _THOUSANDS.sub("", plain))))
    plain = _SCORE.sub("", _REFERENCE.sub(" ", plain.replace("(not ", ", not ")))
    cells = [cell for cell in _CELLS.findall(plain) if not cell.startswith("/")]
    if len(cells) == 3 and "</" not in plain and not _CELLS.sub("", plain).strip():
        plain = "|".join(cells)
    plain = _APPOSED.sub(r"\1", _MARKDOWN.sub("", _NUMBER.sub("", plain)))
    while mark := _LIST_MARK.match(plain):
        plain = plain[mark.end() :]
    plain = _ITEM.sub(", ", plain)
    if marked := _IN_BRACKETS.fullmatch(plain.strip(" .")):
        plain = "|".join(marked.groups())
    bare = _IS_TRIPLET.sub("", plain)
    keyed = _by_key(bare)
    if isinstance(keyed, Fields):
        return keyed
    plain = (keyed or (_TAG.sub(" ", plain) if "</" in plain else bare)).strip("\"' ")
    return _call(plain) or _row(plain) or _ASIDE.sub(" ", plain).strip(_BRACKETS)


def _split(word: re.Match[str]) -> str:
    """Return a word split at its capitals ("LeanOn"); a word in the lexicon ("MacBook") is unchanged."""
    return word[0] if find([word[0].lower()], "object") else _CAMEL_AMONG_WORDS.sub(" ", word[0])


def _by_key(plain: str) -> Fields | str:
    """Return the fields of "action: ride; object: horse", or the text of a single field; "" without a key."""
    keys = list(_keys().finditer(plain))
    values: dict[str, str] = {}
    for key, following in zip(keys, [*keys[1:], None], strict=False):
        role = next(role for role, found in key.groupdict().items() if found)
        value = plain[key.end() : following.start() if following else len(plain)]
        value = (_TAG.sub(" ", value) if "</" in plain else value).removesuffix(" and").strip(" ,;|&\"'}{]\n")
        value = value if "(" in value else value.strip(" )")
        if role not in values or (role == "object" and _is_person(values[role])):
            values[role] = value
    if "object" in values and "verb" not in values and _like_verb(values.get("subject", "")):
        values["verb"] = values["subject"]  # "human: sits on | object: bench"
    if "verb" in values and "object" in values:
        parts = [values.get("subject", ""), values["verb"], values["object"]]
        return _passive_of_person(parts) or Fields(parts[1], parts[2])
    return values.get("verb") or values.get("phrase") or values.get("subject") or ""


@cache
def _keys() -> re.Pattern[str]:
    roles = ("verb", "object", "subject", "phrase", "other")
    named = "|".join(f"(?P<{role}>{'|'.join(table('key_' + role))})" for role in roles)
    key = rf"(?<!\bno )(?:(?!no[ _])\w+[ _])??(?:{named})(?: of \w+)?(?:[ _](?:{'|'.join(table('key_suffix'))}|\d+))?"
    return re.compile(rf"(?:^|[\s,;|&{{(\[<>])[\"']?{key}(?: is(?=:))?[\"']?\s*{_SETS}\s*[\"']?")


def _call(plain: str) -> Fields | str | None:
    """Return the fields of "ride(person, horse)"; None for other notations."""
    found = _CALL.fullmatch(plain)
    if not found:
        return None
    name, arguments = found[1], [part.strip(_BRACKETS) for part in (found[2] or found[3] or "").split(",")]
    if len(arguments) > 1 and name in table("key_verb").keys() | table("key_phrase").keys():
        return _of_parts(arguments, sure=True)
    things = [part for part in arguments if part and not _is_person(part)] or (arguments if _like_verb(name) else [])
    verb, _, thing = name.replace("_", " ").partition(" ")
    if thing and _is_person(found[2] or "") and word_of(verb).forms and find(thing.split(), "object"):
        return Fields(verb, thing)
    if len(things) == 1 or len(arguments) == 2:
        thing = (things or arguments)[-1]
        if "(" in plain.split()[0] or len(arguments) == 2:
            return Fields(name, thing)
        words = name.split()
        short = len(words) == 1 or words[0] == "no" or words[-1] in text.PREPOSITIONS
        return _of_parts([name, thing], sure=True) if short else None
    return None


def _row(plain: str) -> Fields | str | None:
    """Return the fields of "person -> ride -> horse", "<person, ride, horse>" or "ride, horse"; else None."""
    inner = plain.strip(_BRACKETS)
    if listed := _VERBS.fullmatch(inner):
        verbs = [verb.strip() for verb in _COMMA.split(listed[1])]
        short = all(_like_verb(verb) and _short(verb) for verb in verbs) and _short(listed[2])
        if short and not _like_clause(listed[2]):
            return Fields(" and ".join(verbs), listed[2])
    for separator in (_ARROW, _COMMA, _JOINT):
        parts = [part.strip(_BRACKETS) for part in separator.split(inner)]
        choice = separator is _JOINT and len(parts) == 2 and "/" in inner and _like_verb(parts[1])
        if 2 <= len(parts) <= 3 and not choice:
            return _of_parts(parts, sure=separator is _ARROW or plain.lstrip()[:1] in ("<", "(", "[", "{"))
    words = inner.split("-")
    return Fields(words[1], words[2]) if len(words) == 3 and _is_person(words[0]) and " " not in inner else None


def _of_parts(parts: list[str], sure: bool) -> Fields | str | None:
    if len(parts) == 3 and _is_person(parts[2]) and not _is_person(parts[0]):
        first = word_of((parts[0].split() or [""])[0])
        parts = [parts[2], *(parts[:2] if not first.rather_noun and "b" in first.forms else parts[1::-1])]
    if any(len(part.split()) > _LONGEST_FIELD for part in parts) or parts[-1].split()[:1] in _TO_BE:
        return None
    if sentence := _passive_of_person(parts):
        return sentence
    pair = parts[0].split(" and ")
    if len(parts) == len(pair) == 2 and _is_person(pair[0]) and _like_verb(parts[1]):
        return Fields(parts[1], pair[1], sure)
    verb, noun = parts[-2:]
    if not sure and _is_person(noun) and word_of(verb.split()[0] if verb else "").rather_noun:
        return None
    if len(parts) == 2 and _is_person(verb):
        return None
    if len(parts) == 2 and _like_thing(verb) and _like_verb(noun) and not _like_thing(noun):
        verb, noun, sure = noun, verb, False
    # "the old man", not "the man pulls a heavy"
    doer = len(parts) != 3 or (_is_person(parts[0]) and text.DETERMINERS.isdisjoint(text.tokens(parts[0])[1:]))
    bare = len(parts) == 3 or (text.PREPOSITIONS | text.PARTICLES).issuperset(text.tokens(verb)[1:])
    plain = doer and bare and _short(verb) and _short(noun) and (_like_verb(verb) or verb in table("nothing"))
    poses = len(parts) == 3 and verb.endswith("ing") and base_of(verb) not in table("transitive")
    acts = poses and "s" in word_of(noun.split()[0]).forms and " " in noun and not find(noun.split(), "object")
    if not sure and (acts or not plain or _like_clause(noun)):  # acts: "girl, laughing, waves flag"
        return None
    return Fields(verb, noun, sure or len(parts) == 3)


def _passive_of_person(parts: list[str]) -> str:
    """Return "child held by woman" for the fields of a passive between two persons, "" for other fields."""
    persons = all(word_of((text.tokens(part) or [""])[-1]).person for part in parts[::2])
    return " ".join(parts) if len(parts) == 3 and persons and parts[1].endswith(" by") else ""


def _is_person(part: str) -> bool:
    """Return whether a field names a person; words that can be verbs ("guide") do not count, except "man" etc."""
    words = text.tokens(part)
    known = word_of(words[-1]) if words else None
    return known is not None and known.person and ("b" not in known.forms or words[-1] in text.WORD_CLASSES["persons"])


def _short(part: str) -> bool:
    return len(part.split()) <= 3


def _like_verb(part: str) -> bool:
    words = text.tokens(part)
    if not words or words[0] in text.WORD_CLASSES["persons"] or not text.DETERMINERS.isdisjoint(words):
        return False
    return (words[0] in text.AUXILIARIES or bool(word_of(words[0]).forms)) and not _is_person(part)


def _like_thing(part: str) -> bool:
    words = text.tokens(part)
    return len(words) == 1 and word_of(words[0]).rather_noun


def _like_clause(part: str) -> bool:
    words = text.tokens(part)
    if not words:
        return True
    first, several = word_of(words[0]), len(words) > 1
    if words[0] in text.AUXILIARIES | text.PREPOSITIONS or (several and words[0] in table("pronoun")):
        return True
    verb = several and not first.rather_noun and first.forms.strip("ge") != ""
    return ("g" in first.forms or verb) and not find(words, "object")
