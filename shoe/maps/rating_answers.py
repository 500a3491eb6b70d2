"""Parse ratings from the text of a language model: the form is free, but the value must be clear.

Markup is removed first. A rating is found after a word like "rating" or, in an answer about several pairs, after the
pair's ID. It is valid if it is a whole number from 0 to 4, the text does not contain a different rating of the same
pair, and the text does not name another scale than 0 to 4.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from shoe.llm.errors import REFUSALS
from shoe.llm.ledger import State

_LONGEST = 200_000
_TAGS = "think|thinking|thought|reasoning|reflection"
_THOUGHT = re.compile(rf"<({_TAGS})>(?:(?!</?\1>).)*</\1>", re.DOTALL | re.IGNORECASE)
_THOUGHT_END = re.compile(f"</(?:{_TAGS})>", re.IGNORECASE)
_THOUGHT_START = re.compile(f"<(?:{_TAGS})>", re.IGNORECASE)

_QUOTES = r"[\"'`*_\s]{0,6}"
# A whole number; or any other word that starts with a digit, which counts as an invalid rating.
_VALUE = (
    r"(?P<value>[+-]?\w*(?:[.,]\w+)*%?)"
    r"(?P<more>(?:[ \t]{1,9}[^\W\d]{1,20})?[ \t]{0,9}"  # any short word, such as "von", because of other languages
    r"(?:->?|→|–|—|~|\.\.+|/|[^\W\d]{1,4}|out[ \t]of|,[ \t]{0,9}(?:or|and|maybe|perhaps))[ \t]{0,9}"
    r"(?:(?:a|maybe|perhaps)[ \t]+)?(?P<other>\d[\d.]*))?"
)
_LABEL = r"(?:\b|(?<=_))(?:ratings?|rated?|scores?|answer|similarity|likeness)\b"
_BY_US = (  # as in "the rating that I would give this pair is 3"
    r"(?:[ \t](?:that[ \t])?(?:i|we)(?:['’](?:d|ll)|[ \t](?:would|will|can))?[ \t]"
    r"(?:give|assign|choose|pick|suggest|propose)(?:[ \t][a-z]{1,10}){0,4}?)?"
)
_OF = (
    rf"{_BY_US}(?:\s{{0,3}}\([^()\n]{{0,40}}\))?\s{{0,3}}"
    r"(?:(?:is|are):?|of|as|at|(?:would|should|will)[ \t]be|[:=]|->|→)"
)
_OPEN = r"[\"'`*_\s(\[]{0,8}"
_LABELLED = re.compile(f"{_LABEL}{_QUOTES}(?:{_OF}{_OPEN}|[(\\[ \t]{{1,2}})(?=[-+\\d]){_VALUE}", re.IGNORECASE)
_ANOTHER = re.compile(r"[ \t]{0,9}(?:[,;|][ \t]{0,9}\d|or\b|\+|-\s*$)", re.IGNORECASE)  # also "3 or higher", "3+"
_BOXED = re.compile(rf"\\boxed\{{\s*(?:\\[a-z]{{1,10}}\{{)?(?=[-+\d]){_VALUE}\s*\}}")
_ALONE = re.compile(
    rf"^[ \t>*_`\"'#:]{{0,20}}(?=[-+\d]){_VALUE}[*_`\"' \t]{{0,20}}(?:[.!]?[ \t]*$|(?:[-–—:=][ \t]|\().*$)",
    re.MULTILINE,
)
# A lone word in any language and a number are the whole answer: "Bewertung: 3".
_NAMED = re.compile(rf"\s*[^\W\d]{{1,20}}(?:[ \t][^\W\d]{{1,20}})?\s{{0,3}}[:=]\s{{0,3}}(?=[-+\d]){_VALUE}[.!]?\s*")
_BY_ID = re.compile(
    rf"(?<![\w.])(?P<id>\w{{1,40}}){_QUOTES}(?:[:=|]|->|→|=>|[-–—](?=[ \t*\"'])){_QUOTES}"
    rf"(?:\{{[^{{}}]{{0,300}}?\"(?:rating|score)\"\s*:\s*\"?|(?:{_LABEL}{_QUOTES}[:=]?{_QUOTES})?)(?=[-+\d]){_VALUE}",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:i|we)(?:['’](?:d|ll)|\s+(?:would|will))?\s+(?:say|rate|give|choose|pick|go\s+with|settle\s+on)"
    rf"(?:\s+(?:it(?:['’]s)?|this|that|them|this pair|a|an))*[ \t\"'`*_:]{{1,8}}(?=[-+\d]){_VALUE}"
    r"(?![.,]?\w)(?=[ \t\"'`*_)]{0,9}(?:[.,;:!(–—-]|$|(?:as|because|since)\b))",
    re.IGNORECASE | re.MULTILINE,
)
_OBJECT = re.compile(r"\{[^{}]*\}")
_OBJECT_ID = re.compile(r"[\"'](?:id|pair|pair_id)[\"']\s*:\s*[\"']?(?P<id>\w{1,40})", re.IGNORECASE)
_OBJECT_RATING = re.compile(rf"[\"'](?:rating|score)[\"']\s*:\s*[\"']?(?=[-+\d]){_VALUE}", re.IGNORECASE)
# With the lookbehind, each run of characters is matched from its start only, which takes linear time.
_CUT = re.compile(r"(?<![\w.,+-])[\w.,+-]+\Z")
_OF_FOUR = re.compile(r"[ \t]*(?:/|(?:out[ \t])?of)[ \t]*4\.?")
_WHOLE = re.compile(r"\+?([0-4])(?:\.0{1,6})?")
_PLAIN = re.compile(r'\s{0,9}\{\s{0,9}"rating"\s{0,9}:\s{0,9}([0-4])\s{0,9}\}\s{0,9}')
_DECLINED = re.compile(
    r"\b(?:i|we)\s+(?:really\s+|just\s+|simply\s+)?(?:can['’]?t|can ?not|could ?not|couldn['’]?t|won['’]?t|will not)\s+"
    r"(?:help|assist|comply|rate|judge|provide|answer|do|fulfill?|complete|continue|engage|discuss|evaluate|compare|give"
    r"|support|respond|participate|offer|process|generate)\b"
    r"|\b(?:i|we)(?:['’]m|['’]re| am| are)\s+(?:unable|not able|not comfortable|not willing)\b"
    r"|\b(?:i|we)\s+(?:must|have to|need to|am going to|would)?\s?(?:decline|refuse)\b"
    r"|\b(?:i|we)\s+(?:do not|don['’]t)\s+feel\s+comfortable\b"
    r"|\b(?:this|the|your)\s+(?:request|content|prompt|question)\s+"
    r"(?:violates|goes against|is against|was blocked|was flagged|cannot be)\b",
    re.IGNORECASE,
)
_LOOK_FOR_DECLINING = 300
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_LABEL_TAG = re.compile(rf"<(?:\w{{1,20}}_)?({_LABEL})(?:[ \t]value=|>)", re.IGNORECASE)
_MARKUP = re.compile(r"</?\|?[a-zA-Z]\w{0,19}\|?>|\\[()\[\]]|[*`#$]|(?<![^\W_])_+|_+(?![^\W_])")
_BRACKETED = re.compile(r"[\[(]{1,3}[ \t]{0,3}([-+]?\d[\d.]{0,9})[ \t]{0,3}[\])]{1,3}")
_SCALE = re.compile(
    r"(?:(?:\bon[ \t]{1,3}(?:a|the|this)[ \t]{1,3})?\bscale\b[^\w\n]{1,6}(?:(?:of|from|is)[ \t]{1,3})?"
    rf"|[\"']max(?:imum)?[\"']\s?:\s?|(?P<label>{_LABEL})[ \t]?\((?=\d{{1,4}}[ \t]?(?:-|–|to)))"
    r"(?P<low>\d{1,4})(?:[ \t]?(?:-|–|to)[ \t]?(?P<high>\d{1,4}))?\)?",
    re.IGNORECASE,
)
"""Scale named in a text, such as "on a scale of 1 to 10" or "Rating (1-5)"; a single number is the highest rating."""
_HIGHEST = re.compile(
    r"(?:\(\s?out of |\bout_of\b\W{1,6}|\bmax(?:imum)?\b\W{1,6}|\brange\b\W{1,6}(?:0\W{1,4})?|\}\s?/\s?)(\d{1,4})\b"
    r"|\b(\d{1,4})[ -]points? scale",
    re.IGNORECASE,
)
"""Highest rating named in a text, such as "(out of 5)" or "max: 10", or the number of points ("5-point scale")."""


def read_chat(raw: Mapping[str, Any], ids: Sequence[str]) -> list[int]:
    """Parse a chat completion that answers the questions ``ids``: a rating 0 to 4, or a negative ``State``, per ID."""
    choices = raw.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = found if isinstance(found := choice.get("message"), dict) else {}
    reason, refusal, error = choice.get("finish_reason"), message.get("refusal"), raw.get("error")
    refuses = isinstance(refusal, str) and refusal.strip() != ""
    is_filtered = isinstance(error, dict) and isinstance(code := error.get("code"), str) and code in REFUSALS
    if refuses or reason == "content_filter" or is_filtered:
        return _declined(ids)
    text = _content(message.get("content"))
    if reason == "length":
        text = _CUT.sub("", text)
    return read_text(text, ids)


def read_text(text: str, ids: Sequence[str]) -> list[int]:
    """Parse a model's answer to the questions with the IDs ``ids``; return a rating or negative state per ID.

    If there are several IDs, each rating must follow its ID. Texts over 200,000 characters count as unparsable.
    """
    if len(ids) == 1 and (plain := _PLAIN.fullmatch(text)):
        return [int(plain[1])]  # nearly all answers have this form
    if len(text) > _LONGEST:
        return [State.UNPARSED_ONCE] * len(ids)
    # Without reasoning in tags such as <think>; a tag without its counterpart removes the text on its side.
    said = _THOUGHT_START.split(_THOUGHT_END.split(_THOUGHT.sub(" ", text))[-1])[0]
    written = _LABEL_TAG.sub(r"\n\1: ", said.translate(_FULL_WIDTH))  # <rating> becomes "rating:"
    written = _BRACKETED.sub(r" \1 ", _MARKUP.sub(" ", written))
    scales = [(found[1] or "4", found[2] or "5") for found in _HIGHEST.finditer(said)]
    if any(highest != "4" or points not in ("4", "5") for highest, points in scales) or any(
        (found["low"], found["high"]) not in (("0", "4"), ("4", None)) for found in _SCALE.finditer(written)
    ):
        return [State.UNPARSED_ONCE] * len(ids)
    written = _SCALE.sub(lambda found: found["label"] or " ", written)
    given: dict[str, set[int | None]] = defaultdict(set)
    for name, rating in _given_by_id(written, frozenset(ids)):
        given[name].add(rating)
    if len(ids) == 1 and not any(found["id"] not in ids for found in _OBJECT_ID.finditer(written)):
        given[ids[0]].update(_single_ratings(written, ids[0]))
    if not any(given.values()) and _DECLINED.search(written.strip()[:_LOOK_FOR_DECLINING]):
        return _declined(ids)
    agreed = (given[name].pop() if len(given[name]) == 1 else None for name in ids)
    return [State.UNPARSED_ONCE if rating is None else rating for rating in agreed]


def read_by_id(ids: Sequence[str], raw: Mapping[str, Any]) -> list[int]:
    """Return the rating per ID from the stored answer ``{"ratings": {id: rating}}`` of raters that write no text."""
    return [raw["ratings"][name] for name in ids]


def _declined(ids: Sequence[str]) -> list[int]:
    return [State.REFUSED if len(ids) == 1 else State.REFUSED_TOGETHER] * len(ids)


def _single_ratings(text: str, own_id: str) -> Iterator[int | None]:
    """Yield each rating in a text about a single pair, or None for an invalid rating; skip the ID of the pair."""
    labelled = [
        None if _ANOTHER.match(text, found.end()) else _rating(found)
        for pattern in (_LABELLED, _BOXED)
        for found in pattern.finditer(text)
    ]
    said = labelled or [_rating(found) for found in _SAID.finditer(text)]
    if not said and (named := _NAMED.fullmatch(text)):
        said = [_rating(named)]
    yield from said or (_rating(found) for found in _ALONE.finditer(text) if found["value"] != own_id)


def _given_by_id(text: str, ids: frozenset[str]) -> Iterator[tuple[str, int | None]]:
    """Yield (ID, rating) for each rating that follows one of ``ids`` in a text; None for an invalid rating."""
    for part in _OBJECT.findall(text):
        named = {found["id"] for found in _OBJECT_ID.finditer(part)}
        if len(named) == 1 and named <= ids:
            name = named.pop()
            yield from ((name, _rating(found)) for found in _OBJECT_RATING.finditer(part))
    for found in _BY_ID.finditer(text):
        if found["id"] in ids:
            yield found["id"], _rating(found)


def _rating(found: re.Match[str]) -> int | None:
    """Return the rating in a match, or None if it is invalid; "3/4" and "3 out of 4" are 3, a range is invalid."""
    whole = _WHOLE.fullmatch(found["value"])
    is_range = found["more"] is not None and _OF_FOUR.fullmatch(found["more"]) is None
    return None if whole is None or is_range else int(whole[1])


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return ""
