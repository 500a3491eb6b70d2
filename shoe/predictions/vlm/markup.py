"""Markup around the words of an interaction: confidences and numbering, and marks that confirm or deny it.

Examples are "2. riding (92%)", ``- [ ] riding``, ``❌ riding``, ``~~riding~~``, ``riding? no``, ``riding (false)``, and
the heading ``Interactions NOT present:`` above a list. Answers to yes/no questions are read here, too.
"""

import re
from functools import lru_cache
from typing import Any

from shoe.core.io.tolerant import values_in
from shoe.lexicon.phrases.words import patterns
from shoe.predictions.field_names import ANSWERS, holds_data, is_verdict, meaning
from shoe.predictions.vlm.box_marks import can_be_verb, is_person
from shoe.predictions.vlm.boxes import AGAINST, stance, verdict_of
from shoe.predictions.vlm.denials import BOX_LIKE, REPLY, compiled, denies
from shoe.predictions.vlm.images import plain
from shoe.predictions.vlm.replies import answer_of

# Yes and no in English, German, French, Spanish, Portuguese, Russian, Chinese, Japanese and Korean, and as marks.
_NO_MARK, _YES_MARK = "[✗✘❌✖❎☐☒🚫👎]", "[✓✔✅☑👍]"
_NO_WORD, _YES_WORD, _NO, _YES = (patterns(kind, REPLY) for kind in ("no_word", "yes_word", "no", "yes"))
_ONLY_VERDICT = re.compile(
    rf"\W*?(?:is )?(?:({_YES})(?!\w).*|(?:{_NO})(?: (?:he|she|it|they|there|this|that|the|i)\b.*)?)\W*", re.I
)
_END, _LEAD_IN, _YET, _DOUBT = compiled("verdict_end lead_in yet doubt", re.I)
_COMMAND, _DECORATION = re.compile(r"\\[a-z]+\s*\{([^{}]*)\}"), re.compile(r"[$*`\"'#>\ufe0f]")
_STRUCK, _WORD = re.compile(r"~~([^~\n]+)~~"), re.compile(r"\w")
_TOPIC = r"(?:[\w' ]{0,60}?\b)?"  # "The following interactions are" before "not present:"
_BEFORE = re.compile(
    rf"\W*?(?:({_NO_MARK}|it is (?:false|untrue|not true) that\b|{_TOPIC}(?:{_NO})\s*[:：])|{_YES_MARK}"
    rf"|{_TOPIC}(?:{_YES})\s*[:：](?!.*[\d\ue000]))\W*|\s*(?:#|\*\*)\W*{_TOPIC}(?:({_NO})|{_YES})\W*\Z",
    re.I,
)
_AFTER = re.compile(
    rf"(?:(?:(?<!\s)\s*[:=|,?–—→(\[]|\s[-=]+>?\s)\s*(?:({_NO})|{_YES})|\s(?:(no|false|{_NO_MARK})|(?:yes|true|{_YES_MARK}))"
    rf"|\A\W*(?:({_NO_WORD})|(?:{_YES_WORD})))[)\]]?(?:\s*\([\d. ]+%?\))?[\s.!*]*\Z",
    re.I,
)
_COMMA, _SEPARATOR, _LISTED = compiled("comma separator listed")
_PLACED = re.compile(rf"{BOX_LIKE.pattern}|\ue000")
_HEAD = re.compile(rf"[^:：]{{0,60}}?\b(?:{AGAINST})(?:\W+\w+)?\W*", re.I)  # "Wrong candidates"
_LONGEST_MARK = 200
_ASIDE_OF_HEADING = re.compile(r"\s\([^()\d\n]{1,60}\)(?=:\**[ \t]*$)", re.M)  # "Discarded (no evidence):"


@lru_cache(4096)
def _stated(text: str) -> frozenset[bool]:
    """Return the verdicts of clauses that say only yes or no; clauses after "the answer is" take precedence."""
    for part in (_LEAD_IN.split(text)[-1], text):
        clauses = ((clause, _ONLY_VERDICT.fullmatch(clause)) for clause in _END.split(part))
        found = frozenset(match[1] is not None if match else stance(clause) for clause, match in clauses) - {None}
        if found:
            return frozenset(bool(said) for said in found)
    return frozenset()


def verdicts_in(answer: Any) -> frozenset[bool]:
    """Return {True} for yes, {False} for no, {True, False} for an answer with both; an empty set for other answers."""
    if isinstance(answer, str):
        text = _COMMAND.sub(r"\1", _COMMAND.sub(r"\1", answer_of(answer)))
        if holds_data(text):
            return verdicts_in([found.value for found in values_in(text)])
        stated = frozenset[bool]() if BOX_LIKE.search(text) else _stated(_DECORATION.sub("", text))
        letter = verdict_of(text) if len(text) == 1 else None
        return stated or frozenset([] if letter is None else [letter])
    if isinstance(answer, dict):
        if any(meaning(key).part in ("box", "verb") for key in answer):
            return frozenset()
        known = [inner for key, inner in answer.items() if is_verdict(key) or plain(str(key)) in ANSWERS]
        return frozenset().union(*map(verdicts_in, known or [each for each in answer.values() if type(each) is bool]))
    if isinstance(answer, list):
        return frozenset().union(*(verdicts_in(each) for each in answer if type(each) not in (int, float)))
    return frozenset([bool(answer)] if answer in (0, 1) else [])


@lru_cache(1 << 14)
def split_verdict(text: str) -> tuple[str, bool | None]:
    """Return a text without a mark, and True if it confirms ("✅ riding"), False if it denies ("riding? no")."""
    struck = _STRUCK.sub(" ", text)
    if struck != text and not _WORD.search(struck):
        return text.replace("~~", " ").strip(), False
    marks = _BEFORE.match(struck) or _AFTER.search(struck)
    rest = (struck[: marks.start()] + struck[marks.end() :]).strip(" \t*_`\"'") if marks else struck
    if marks is None or is_verdict(rest) or (marks.start() == 0 and _stated(rest)):  # "present: no" is a field
        return _split_stance(struck)
    return rest if _LEAD_IN.split(rest)[-1].strip() else "", not any(marks.groups())


def _split_stance(text: str) -> tuple[str, bool | None]:
    """Return a text without words that confirm or deny it, before a colon or "that", or after a separator."""
    for separator in _SEPARATOR.finditer(text):
        before, after = text[: separator.start()], text[separator.end() :]
        if not _WORD.search(before) or (is_verdict(before) and _stated(after)):
            continue
        if len(after) <= _LONGEST_MARK and (said := stance(after.rstrip(")]* "))) is not None:
            return before, said
        if separator[0].strip() == ":" and _WORD.search(after):
            if not _PLACED.search(before) and (stance(before) is False or (_HEAD.fullmatch(before) and denies(before))):
                return after, False
            if stance(before) and not _PLACED.search(after):
                return after, True
    if (doubt := _DOUBT.match(text)) and denies(doubt[0]):
        return text[doubt.end() :], False
    return text, None


def split_denied(text: str) -> tuple[str, str]:
    """Return the lines of a text that are not denied, and the denied lines; both without marks and denying headings."""
    text, lines = _ASIDE_OF_HEADING.sub("", _YET.sub("", text)), dict[bool, list[str]]({True: [], False: []})
    heading, is_listed = True, False
    for line in text.split("\n"):
        items, starts = _COMMA.split(line), _LISTED.match(line) is not None
        are_judged = len(items) > 1 and all(split_verdict(item)[1] is not None for item in items)
        for rest, verdict in map(split_verdict, items if are_judged else [line]):
            if verdict is not None and not _WORD.search(rest):
                heading, is_listed = verdict, False
                continue
            is_title = rest.startswith("#") or (rest.startswith("**") and rest.rstrip().endswith("**"))
            if is_title or rest.rstrip(" *").endswith(":"):
                heading = bool(_PLACED.search(rest)) or not denies(rest)
                if not heading:
                    is_listed = False
                    continue
            heading |= is_listed and bool(rest.strip()) and not starts
            is_listed |= starts
            lines[heading if verdict is None else verdict].append(rest)
    return "\n".join(lines[True]), "\n".join(lines[False])


# Labels with a confidence, and sentences that state a label.

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
_TAIL, _WRAPPED, _QUOTED = compiled("label_tail wrapped quoted")
_ECHO, _LETTER = re.compile(rf"{_ROLE}\W*\d*|[a-z]{{0,5}}\W*\d+|[^a-zA-Z]*", re.I), re.compile("[a-zA-Z]")
_LIST, _AND = (
    re.compile(r"\A\s*\[[^\[\]]*,[^\[\]]*\]\s*\Z"),
    re.compile(r"\s{0,9}(?:[,;|\n]|\s/\s|\band\b)\s{0,9}(?:followed by\s)?"),
)
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
