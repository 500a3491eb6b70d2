"""Words and confidence of a label with markup ("2. riding (92%)"), and the label that a sentence about a pair states."""

import re
from functools import lru_cache

from shoe.lexicon import text
from shoe.lexicon.expressions import bases
from shoe.predictions.vlm.box_marks import can_be_verb, is_person
from shoe.predictions.vlm.keys import meaning
from shoe.predictions.vlm.verdicts import split_verdict

_NAMED = r"(?:confiden(?:ce|t)|certainty|likelihood|sure|conf|score|probability|prob|p)\b\.?(?:\s+score)?"
_LEVEL = r"(?:very\s+)?(?:high|low)|medium|moderate|certain|(?:un)?likely"
_NUMBER = r"\d*\.?\d+\s*%|\d+(?:\.\d+)?\s*/\s*100?\b|[01]?\.\d+|1\.0*"
CONFIDENCE = rf"(?:{_NAMED}\W{{0,3}})?(?:{_NUMBER}|{_LEVEL})(?:\s+{_NAMED})?"
_CONFIDENCE = re.compile(
    rf"\s*[(\[{{<（]\s*(?:{_NAMED}\W{{0,3}})?({_NUMBER}|{_LEVEL})(?:\s+{_NAMED})?\s*[)\]}}>）]"
    rf"|[\s,;:=@|/~→–—-]+(?:({_NUMBER})(?:\s+{_NAMED})?|{_NAMED}\W{{0,3}}({_NUMBER}|{_LEVEL})|({_LEVEL})\s+{_NAMED})[\W_]*\Z"
    rf"|\A\s*({_NUMBER})[\s:–—-]+(?=[^\W\d])",
    re.I,
)
_IS_NAMED = re.compile(_NAMED, re.I)
_ROLE = r"(?:verb|action|predicate|relation(?:ship)?|interaction|object|obj|target|thing|class|category|label)(?: \d+)?"
_LEAD = re.compile(
    r"\A\s*(?:[-*•+]\s+|[(\[]?#?\d{1,4}[.):\]]+\s*|#\d{1,4}\s+|\d{1,4}\s*[-–]\s+|[(\[]?[a-z][.)\]]\s+|id\s*\d+\s*[:=]\s*"
    rf"|[(\[{{<]?(?:{_ROLE})(?:[)\]}}>]\s*[:=]?|\s*[:=→])\s*)",
    re.I,
)
_TAIL = re.compile(r"\s*(?:[(\[{<（]([^()\[\]{}<>（）]*)[)\]}>）]|(?:\s*[#~]|_|\s_)\s*\d+)\s*\Z")
_PRONOUN = re.compile(r"(?<=\w)\s(?:it|them)\Z")
_ECHO = re.compile(rf"(?:{_ROLE})\W*\d*|[a-z]{{0,5}}\W*\d+|[^a-zA-Z]*", re.I)
_OWNER = re.compile(
    r"\A(?:(?:the|an?)\s+)?(?:his|her|their|its|this|that|these|some|one|my|your|our|(\w+)['’]s)\s+(?=\w)", re.I
)
_QUOTES = " .\t\n\"'`*_~«»“”‘’„…;,!"
_BRACKETED = re.compile(r"\A[\[{<](\w[^\[\]{}<>]*)[\]}>]\Z")
_LIST = re.compile(r"\A\s*\[[^\[\]]*,[^\[\]]*\]\s*\Z")
_SHORT, _LONGEST = 4, 50
_LETTER = re.compile("[a-zA-Z]")
_AND = re.compile(r"\s*(?:[,;|\n]|\s/\s|\band\b)\s*")


def take_confidence(phrase: str) -> tuple[str, str | None]:
    """Return a phrase without its first confidence, such as "(92%)" or "[high]", and the confidence; None if absent."""
    if (match := _CONFIDENCE.search(phrase)) is None:
        return phrase, None
    gap = "" if phrase[match.end() :][:1] in (":", ",", ";", ".") else " "
    return f"{phrase[: match.start()]}{gap}{phrase[match.end() :]}".strip(), next(filter(None, match.groups()))


@lru_cache(1 << 14)
def split_label(label: str) -> tuple[str, str | None]:
    """Return the words of a label without markup, such as numbering, and the confidence in it; None if absent.

    >>> split_label("2. riding (92%)"), split_label("ride (骑)"), split_label("object: his horse")
    (('riding', '92%'), ('ride', None), ('horse', None))
    """
    words, score = take_confidence(label)
    before = ""
    while words != before:
        before = words
        words = _LEAD.sub("", words)
        if tail := _TAIL.search(words):
            inner, rest = tail[1] or "", words[: tail.start()]
            if not _LETTER.search(rest) and _LETTER.search(inner):
                words = inner
            elif _ECHO.fullmatch(inner) or (tail[0][0] == " " and "[" not in rest and _stems(inner) & _stems(rest)):
                words = rest
        if len(words.split()) < _SHORT:
            words = _PRONOUN.sub("", words)
        if (
            len(words.split()) <= _SHORT
            and (owner := _OWNER.match(words))
            and (owner[1] is None or is_person(owner[1]))
        ):
            words = words[owner.end() :]
        words = _BRACKETED.sub(r"\1", words.strip(_QUOTES))
    return (words, score) if words and not _IS_NAMED.fullmatch(words) else (label, None)


def _stems(phrase: str) -> frozenset[str]:
    words = [word for word in text.tokens(text.plain(phrase)) if word != "to"]
    return frozenset(base for word in words[:1] for base in (word, *bases(word, "verb"), *bases(word, "object")))


def scored_labels(phrase: str) -> list[tuple[str, str | None]]:
    """Return the labels of a list with their confidences, "ride (0.9), wash (0.1)"; for other phrases, one label."""
    parts = [split_label(part) for part in _AND.split(phrase)]
    is_list = _LIST.match(phrase) or all(words and score for words, score in parts)
    return parts if len(parts) > 1 and is_list else [split_label(phrase)]


# Sentences about a pair: "The action being performed is 'riding'."
_NOUN = (
    r"\b(?:actions?|activit(?:y|ies)|verbs?|predicates?|interactions?|relation(?:ship)?s?|labels?|categor(?:y|ies)"
    r"|class|options?|choice|answer|term|word|most (?:likely|probable))\b"
)
_COLON = re.compile(rf"\A[^:=→\n]*?{_NOUN}[^:=→]{{0,80}}?[:=→]\s*(?=\S)(.+)\Z", re.I | re.S)
_HAS_NOUN = re.compile(_NOUN, re.I)
_COPULA = re.compile(r"\b(?:is|are|was|were|be|being|appears?|seems?)\b(?:\s+to\s+be\b)?\W*", re.I)
_QUOTED = re.compile(
    r"(not |than |instead of )?(?:[\"“«]|\*\*|(?<!\w)['‘`])([^\"“”«»*'‘’`]{2,40})(?:[\"”»]|\*\*|['’`](?!\w))"
)
_INTRO = re.compile(
    r"\A\W*(?:(?:\w+ly|best|most|more|also)\s+)*(?:\w+ed\s+(?:as|by|with|to be)\s+)?(?:(?:one|that)\s+of\s+)?"
    rf"(?:(?:the|an?)\s+{_NOUN}\s*(?:of\s+)?)?(?:to\s+(?=\w))?",
    re.I,
)
_REASON = re.compile(
    r"[,;]?\s*\b(?:because|since|due to|given that|rather than|instead of|as (?:the|he|she|they|it|his|her|indicated|shown))\b.*"
    r"|,?\s*\bnot\b.*|\s*[-–—(]\s*(?:not|the|an?|his|her|their|he|she|they|it)\s.*|;.*",
    re.I | re.S,
)
_LABELLED = re.compile(r"\A\W*(\w+(?: \w+){0,2}?)(?:\s+[-–—]|:)\s+\w+(?: \S+){3}")
_ENDS = re.compile(r"(?:[\"”»]|\*\*|['’`])\W*\Z")
_HEADING = re.compile(
    r"\W*(?:explanation|reason(?:ing)?|rationale|justification|note|because|evidence|why|comment)\b", re.I
)
_OTHERS = re.compile(
    r"\W*(?:less (?:likely|probable)|unlikely|alternatives?|runner-up|other (?:options|candidates))\b", re.I
)
_SENTENCE = re.compile(r"\n+|(?<=[.!?;])\s+")
_CLAUSE = re.compile(r"\W*(?:the|an?|his|her|their|he|she|they|it|this|there|i|one)\s", re.I)
_KEY = re.compile(r"(?:\A|[,;|\n])\W*([A-Za-z][\w ]{0,20}?)\W*[:=]")
_THING = re.compile(
    r"\b(?:the|an?|his|her|their|and|with|to|of)\s+((?:(?!the\b|an?\b)[a-z]+ )??[a-z]+)(?=\s*(?:[,:;]|\b(?:the|is|are|was|can|could|should|would|appears)\b))",
    re.I,
)


@lru_cache(1 << 14)
def stated_labels(sentence: str) -> tuple[str, ...]:
    """Return the labels that a sentence with a noun such as "action" states about a pair; () for other sentences.

    >>> stated_labels("The verb that best describes the interaction is 'ride'."), stated_labels("riding a horse")
    (('ride',), ())
    """
    if not _HAS_NOUN.search(sentence) or (match := _COLON.match(sentence)) is None:
        match = None
    unquoted = _QUOTED.sub(" ", sentence)
    if match is not None and not _QUOTED.search(match[1]):
        inner = stated_labels(match[1])
        rest = _REASON.sub("", match[1]).strip(" .")
        return inner or ((rest,) if rest and not _keys(match[1]) else ())
    has_noun = _HAS_NOUN.search(unquoted) is not None
    if not has_noun and not (
        _QUOTED.search(sentence[-_LONGEST:]) and _ENDS.search(sentence) and len(unquoted.split()) > _SHORT
    ):
        return ()
    if quoted := [
        q[2].strip(" .,")
        for q in _QUOTED.finditer(sentence)
        if not q[1] and (can_be_verb(q[2]) or len(sentence) - q.end() < 3)
    ]:
        return tuple(quoted)
    for copula in reversed([*_COPULA.finditer(sentence)]):
        rest = _REASON.sub("", _INTRO.sub("", sentence[copula.end() :])).strip(" .")
        if _HAS_NOUN.search(sentence[: copula.start()]) and can_be_verb(rest) and not is_person(rest):
            return (rest,)
    return ()


def thing_of(sentence: str) -> str:
    """Return the noun of the object in a sentence "The interaction between the person and the horse is riding."."""
    nouns = [noun for noun in _THING.findall(sentence) if not _HAS_NOUN.search(noun)]
    return nouns[-1] if nouns else ""


def _keys(line: str) -> list[str]:
    return [key for key in _KEY.findall(line) if meaning(key).side or meaning(key).part == "box"]


def labels_of_reply(reply: str) -> str:
    """Return the lines of a reply about a known pair that state its interaction, without explanations and frames."""
    sentences = [each for each in _SENTENCE.split(reply) if each.strip()]
    if any(map(_keys, sentences)):
        return reply
    kept, stated, is_reason = list[str](), list[str](), False
    denied = [each for each in sentences if split_verdict(each)[1] is False]
    for sentence in sentences:
        is_reason = bool(_HEADING.match(sentence)) or (is_reason and not _KEY.match(sentence))
        if sentence not in denied and (is_reason or _OTHERS.match(sentence)):
            continue
        kept.append(sentence)
        stated += stated_labels(sentence)
    if stated:
        score = next(
            (found for each in kept if (found := take_confidence(f" {each}")[1]) and not stated_labels(each)), ""
        )
        return "\n".join(
            f"{each} ({score})" if score and not take_confidence(each)[1] else each for each in stated + denied
        )
    if kept and (label := _LABELLED.match(kept[0])) and can_be_verb(label[1]) and not _HAS_NOUN.search(label[1]):
        kept[0] = label[1]
    if kept and 0 < len(_REASON.sub("", kept[0]).split()) < _SHORT and can_be_verb(kept[0]):
        kept = [_REASON.sub("", kept[0]), *(each for each in kept[1:] if each in denied or not _CLAUSE.match(each))]
    return reply if len(kept) == len(sentences) and kept == sentences else "\n".join(kept)
