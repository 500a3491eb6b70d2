"""Words and confidence of a label with markup ("2. riding (92%)"), and labels in sentences about a known pair."""

import re
from functools import lru_cache

from shoe.lexicon.phrases.words import patterns
from shoe.predictions.field_names import meaning
from shoe.predictions.vlm.box_marks import can_be_verb, is_person
from shoe.predictions.vlm.denials import REPLY
from shoe.predictions.vlm.verdicts import split_verdict

_KINDS = ("score", "value", "role", "noun", "clause", "lead", "aside")
_SCORE, _VALUE, _ROLE, _NOUN, _CLAUSE, _LEADS, _ASIDES = (f"(?:{patterns(kind, REPLY)})" for kind in _KINDS)
CONFIDENCE = rf"(?:{_SCORE}\W{{0,3}})?{_VALUE}(?:\s+{_SCORE})?"
_CONFIDENCE = re.compile(
    rf"(?i)\s{{0,3}}[(\[{{<（]\s?{CONFIDENCE}\s?[)\]}}>）]|[(\[,;|]?\s?{_SCORE}\s?(?:of|is|[:=])\s?(?:{_VALUE}|\d+)[)\]]?"
    rf"|[\s,;:=@|/~→–—-]{{1,8}}(?:(?=[\d.]){_VALUE}(?:\s+{_SCORE})?|{_SCORE}\W{{0,3}}{_VALUE}|{_VALUE}\s+{_SCORE})[\W_]*\Z"
    rf"|\A\s*(?=[\d.]){_VALUE}[\s:–—-]+(?=[^\W\d])"
)
_FIRST_VALUE, _SCORE_NAME = re.compile(rf"{_VALUE}|\d+", re.I), re.compile(_SCORE, re.I)
_SCORE_LINE = re.compile(rf"\s{{0,9}}\n\W{{0,9}}({_SCORE}\W{{0,3}}{_VALUE})\W*?(?=\n|\Z)", re.I)
_LEAD = re.compile(rf"\A\s*(?:{_LEADS}|[(\[{{<]?{_ROLE}(?:[)\]}}>]\s*[:=]?|\s*[:=→])\s*)", re.I)
_TAIL = re.compile(r"\s*(?:[(\[{<（]([^()\[\]{}<>（）]*)[)\]}>）]|(?:\s*[#~]|_|\s_)\s*\d+)\s*\Z")
_ECHO, _LETTER = re.compile(rf"{_ROLE}\W*\d*|[a-z]{{0,5}}\W*\d+|[^a-zA-Z]*", re.I), re.compile("[a-zA-Z]")
_WRAPPED = re.compile(r"\A(?:[\[{<](\w[^\[\]{}<>]*)[\]}>]|(\w+(?: \w+)?) (?:it|them))\Z")
_LIST, _AND = re.compile(r"\A\s*\[[^\[\]]*,[^\[\]]*\]\s*\Z"), re.compile(r"\s{0,9}(?:[,;|\n]|\s/\s|\band\b)\s{0,9}")
_LONGEST, _MARKS = 300, " .\t\n\"'`*_~«»“”‘’„…;,!"


def take_confidence(phrase: str) -> tuple[str, str | None]:
    """Return a phrase without its first confidence, such as "(92%)" or "[high]", and this confidence or None."""
    if (match := _CONFIDENCE.search(phrase)) is None or (value := _FIRST_VALUE.search(match[0])) is None:
        return phrase, None
    before, after = phrase[: match.start()], phrase[match.end() :]
    return f"{before}{'' if after[:1] in (':', ',', ';', '.') else ' '}{after}".strip(), value[0]


@lru_cache(1 << 14)
def split_label(label: str) -> tuple[str, str | None]:
    """Return the words of a label and its confidence or None: ("riding", "92%") for "2. riding (92%)"."""
    (words, score), before = take_confidence(label[:_LONGEST]), ""
    while words != before:
        before, words = words, _LEAD.sub("", words)
        if tail := _TAIL.search(words):
            inner, rest = tail[1] or "", words[: tail.start()].strip()
            is_same = " " in tail[0][:1] and "[" not in rest and inner.removeprefix("to ")[:3] == rest[:3]
            is_first = not _LETTER.search(rest) and _LETTER.search(inner)
            words = inner if is_first else rest if is_same or _ECHO.fullmatch(inner) else words
        words = _WRAPPED.sub(r"\1\2", words.strip(_MARKS))
    is_label = words and len(label) <= _LONGEST and not _SCORE_NAME.fullmatch(words)
    return (words, score) if is_label else (label, None)


def scored_labels(phrase: str) -> list[tuple[str, str | None]]:
    """Return (label, confidence or None) per label of a list "ride (0.9), wash (0.1)"; one pair for other phrases."""
    parts = [split_label(part) for part in _AND.split(phrase[:_LONGEST])]
    return parts if len(parts) > 1 and (_LIST.match(phrase) or all(map(all, parts))) else [split_label(phrase)]


_HAS_NOUN = re.compile(_NOUN, re.I)
_COLON = re.compile(rf"(?is)\A(?!.*\b(?:object|target)\W*[:=])[^:=→\n]*?{_NOUN}[^:=→]{{0,80}}?[:=→]\s*(?=\S)(.+)\Z")
_COPULA = re.compile(r"\b(?:is|are|was|were|be|being|appears?|seems?)\b(?:\s+to\s+be\b)?\W*", re.I)
_QUOTED = re.compile(r"(not |than |of )?(?:[\"“«]|\*\*|(?<!\w)['‘`])([^\"“”«»*'‘’`]{2,40})(?:[\"”»]|\*\*|['’`](?!\w))")
_INTRO = re.compile(rf"(?i)\A\W*{patterns('intro', REPLY)}(?:(?:the|an?)\s+{_NOUN}\s*(?:of\s+)?)?(?:to\s+(?=\w))?")
_REASON = re.compile(rf"(?is){patterns('reason', REPLY)}|\s{{0,3}}[-–—(]\s*(?:not\b|{_CLAUSE}).*")
_ASIDE, _STARTS = re.compile(rf"\W*{_ASIDES}\b", re.I), re.compile(rf"\W*{_CLAUSE}", re.I)
_SENTENCE, _KEY = re.compile(r"\n+|(?<=[.!?;])\s+"), re.compile(r"(?:\A|[,;|\n])\W*([A-Za-z][\w ]{0,20}?)\W*[:=]")


@lru_cache(1 << 14)
def stated_labels(sentence: str) -> tuple[str, ...]:
    """Return the labels that a sentence states: ("riding",) for "The action is 'riding'."; () for other sentences."""
    sentence = sentence[:_LONGEST]
    if (match := _COLON.match(sentence)) and not _QUOTED.search(match[1]):
        return stated_labels(match[1]) or tuple(filter(None, [_REASON.sub("", match[1]).strip(" .")]))
    quotes = [q for q in _QUOTED.finditer(sentence) if not q[1] and (can_be_verb(q[2]) or len(sentence) < q.end() + 3)]
    unquoted = _QUOTED.sub(" ", sentence)
    is_last = len(quotes) > 0 and len(sentence) < quotes[-1].end() + 3 and len(unquoted.split()) > 4
    if quotes and (is_last or _HAS_NOUN.search(unquoted)):
        return tuple(quote[2].strip(" .,") for quote in quotes)
    for copula in reversed([*_COPULA.finditer(sentence)] if _HAS_NOUN.search(sentence) else []):
        rest = _REASON.sub("", _INTRO.sub("", sentence[copula.end() :])).strip(" .")
        if _HAS_NOUN.search(sentence[: copula.start()]) and can_be_verb(rest) and not is_person(rest):
            return (rest,)
    return ()


def labels_of_reply(reply: str) -> str:
    """Return the labels, phrases and denials in a reply about two given boxes, one per line; without any, the reply."""
    sentences = [each for each in _SENTENCE.split(_SCORE_LINE.sub(r" (\1)", reply)) if each.strip()]
    denied = [each for each in sentences if split_verdict(each)[1] is False]
    kept, is_aside = list[str](), False
    for sentence in sentences:
        is_aside = bool(_ASIDE.match(sentence)) or (is_aside and not _KEY.match(sentence))
        kept += [sentence] if sentence in denied or not is_aside else []
    if not kept or any(meaning(key).side or meaning(key).part == "box" for key in _KEY.findall(reply)):
        return reply
    if stated := [label for each in kept for label in stated_labels(each)]:
        return "\n".join(stated + denied)
    if 0 < len((first := _REASON.sub("", kept[0])).split()) < 4 and can_be_verb(first):
        kept = [first, *(each for each in kept[1:] if each in denied or not _STARTS.match(each))]
    return reply if kept == sentences else "\n".join(kept)
