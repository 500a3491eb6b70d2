"""Yes and no in replies: answers to yes/no questions, and marks that confirm or deny an item of a list.

Examples of marks are ``- [ ] riding``, ``❌ riding``, ``~~riding~~``, ``riding? no``, ``riding (false)``, and the
heading ``Interactions NOT present:`` above a list.
"""

import re
from functools import lru_cache
from typing import Any

from shoe.core.io.tolerant import values_in
from shoe.lexicon.phrases.words import patterns
from shoe.predictions.field_names import ANSWERS, holds_data, is_verdict, meaning
from shoe.predictions.vlm.boxes import AGAINST, stance, verdict_of
from shoe.predictions.vlm.denials import BOX_LIKE, REPLY
from shoe.predictions.vlm.images import plain
from shoe.predictions.vlm.replies import answer_of

# Yes and no in English, German, French, Spanish, Portuguese, Russian, Chinese, Japanese and Korean, and as marks.
_NO_MARK, _YES_MARK = "[✗✘❌✖❎☐☒🚫👎]", "[✓✔✅☑👍]"
_NO_WORD, _YES_WORD, _NO, _YES = (patterns(kind, REPLY) for kind in ("no_word", "yes_word", "no", "yes"))
_CLAUSE = re.compile(
    rf"\W*?(?:is )?(?:({_YES})(?!\w).*|(?:{_NO})(?: (?:he|she|it|they|there|this|that|the|i)\b.*)?)\W*", re.I
)
_END = re.compile(r"[.!?,;:/。，、；：！？\n()—–]+|\s-\s|\b(?:and|or|but)\b", re.I)
_LEAD_IN = re.compile(r"\b(?:answer|conclusion|verdict|therefore|thus|hence|so|say|definitely|probably)\b", re.I)
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
_COMMA = re.compile(r"[,;]\s*")
_SEPARATOR = re.compile(r"(?<!\s)\s*[:=|,?–—→…(\[]\s*|\s[-=]+>?\s+|[.!]\s+")
_PLACED = re.compile(rf"{BOX_LIKE.pattern}|\ue000")
_HEAD = re.compile(rf"[^:：]{{0,60}}?\b(?:{AGAINST})(?:\W+\w+)?\W*", re.I)  # "Wrong candidates"
_LONGEST_MARK = 200
_YET = re.compile(r"(?<=not |n't )yet ", re.I)  # "is not yet riding"
_DOUBT = re.compile(r"\W*(?:it|there|i|we)\b[^\d\ue000.,]{0,60}?\bthat\b", re.I)  # "It is ruled out that he rides"
_DENIES = re.compile(
    rf"\b(?:({AGAINST})|(?:is|are|was|do|does|did|would|could|can|will) not|cannot|never|unable|\w+n['’]t)\b"
    r"|\A\W*(?:(?:there (?:is|are)|i (?:see|find|found)) )?(?:not|no|none|nothing)\b",
    re.I,
)
_LISTED = re.compile(r"\s*(?:[-*•+]\s|\(?\d{1,3}[.):])")


@lru_cache(4096)
def _stated(text: str) -> frozenset[bool]:
    """Return the verdicts of clauses that say only yes or no; clauses after "the answer is" take precedence."""
    for part in (_LEAD_IN.split(text)[-1], text):
        clauses = ((clause, _CLAUSE.fullmatch(clause)) for clause in _END.split(part))
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
    """Return a text without a mark such as ✅ or "? no", and True if the mark confirms, False if it denies, or None.

    >>> split_verdict("riding bicycle? no"), split_verdict("✅ riding"), split_verdict("riding")
    (('riding bicycle', False), ('riding', True), ('riding', None))
    """
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


def denies(heading: str) -> bool:
    """Return whether a heading introduces things that are absent: "What I do not see", "Candidates I dismissed"."""
    # "What I do not reject" holds a word that denies and a negation, and denies nothing.
    return len({each[1] is None for each in _DENIES.finditer(heading)}) == 1


def split_denied(text: str) -> tuple[str, str]:
    """Return the lines of a text that are not denied, and the denied lines; both without marks and denying headings."""
    text, lines = _YET.sub("", text), dict[bool, list[str]]({True: [], False: []})
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
