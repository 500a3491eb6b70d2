"""Rewrite lines of a pair, such as "holding: person [box], book [box]", into the order person, verb, object."""

import re
from itertools import takewhile

from shoe.lexicon import text
from shoe.lexicon.senses import bases
from shoe.predictions.field_names import meaning
from shoe.predictions.vlm.box_marks import can_be_verb, is_label, is_person, is_thing
from shoe.predictions.vlm.denials import BOX_LIKE, compiled, says_none
from shoe.predictions.vlm.markup import scored_labels, take_confidence
from shoe.predictions.vlm.words import split_verbs

LEAD, _BOX, _ABOUT_IT = compiled("line_lead line_box about_it")
LABELLED, ADDS = compiled("pair_label adds", re.I)  # ADDS: words of a correction that take nothing back
_NOUN = r"(?P<noun>(?:(?:an?|the)\s+)?[A-Za-z][\w '-]{0,30}?)\s*[:=]?\s*"
_VERB = r"(?P<verb>[A-Za-z][A-Za-z_ ,/&-]{1,40}?)"
_BEFORE = re.compile(rf"\W{{0,3}}(?:{_VERB}\s*(?:[:=(→,]|->|\s[-–—]\s)\W{{0,3}})?{_NOUN}")
_BETWEEN = re.compile(rf"\s*(?:[,;:&|/+–→-]|->|and\b)\W{{0,3}}{_NOUN}")
_AFTER = re.compile(rf"\W{{0,3}}?(?:(?:[:=→–—-]|->)\s*{_VERB})?\W*")
_VERB_LINE = re.compile(rf"(?:(?:verbs?|actions?|interactions?)\W{{1,4}})?{_VERB}\W*", re.I)
_PARTICLES, _GROUPS = text.PREPOSITIONS | text.PARTICLES, {"pair", "match", "set", "group", "tag"}
_DRAFT, _FINAL, _CORRECTED, _RETRACTED, _RESTATED = compiled(
    "first_draft final_list corrected_list retracted restated", re.I | re.M
)


def without_draft(reply: str) -> str:
    """Return a reply without draft before the final answer ("After review:"), or sentence before a correction."""
    reply = _RESTATED.sub(_if_other_boxes, _RETRACTED.sub("", reply))
    draft = _DRAFT.search(reply)
    start = draft.end() if draft else 0
    finals = list((_FINAL if draft else _CORRECTED).finditer(reply, start))
    heads = [head[0].split() for head in finals]  # a repeated one may be that of each person's answer
    is_final = finals and (draft or heads[-1] not in heads[:-1])
    if is_final and BOX_LIKE.search(reply, start, (last := finals[-1]).start()):
        final = reply[last.end() :]
        return final if BOX_LIKE.search(final) or says_none(final) else reply
    return reply


def _if_other_boxes(both: re.Match[str]) -> str:
    """Return the second of two sentences if it has the same boxes as the first and does not add to it, else both."""
    said, instead = both["said"], both["instead"]
    is_same = _BOX.findall(said) == _BOX.findall(instead)
    return instead if is_same and not ADDS.search(instead) else both[0]


def rewrite_pair_lines(reply: str) -> str:
    """Return a text whose lines with a verb beside, or below, two boxes have the verb between the boxes."""
    lines = reply.split("\n")
    split = [_BOX.split(line) if len(line) < 400 else [] for line in lines]
    rewritten = [_rewrite(parts, lines[i + 1 :]) if len(parts) == 5 else "" for i, parts in enumerate(split)]
    return "\n".join(new or line for new, line in zip(rewritten, lines, strict=True))


def _rewrite(pieces: list[str], following: list[str]) -> str:
    """Return the sentences of a line with two boxes; "" if it is not the line of a pair."""
    before, first, between, second, after = (re.sub("[*`]", "", piece) for piece in pieces)
    listed = scored_labels(after.lstrip(" :=-–—"))
    (before, leading), (after, trailing) = map(take_confidence, (LABELLED.sub("", LEAD.sub("", before)), after))
    head, middle = _BEFORE.fullmatch(before), _BETWEEN.fullmatch(between)
    if not head or not middle or not all(map(_may_be_noun, nouns := (head["noun"], middle["noun"]))):
        return ""
    boxed, has_person = [f"{nouns[0]} {first}", f"{nouns[1]} {second}"], [*map(is_person, nouns)]
    if has_person == [False, True]:
        if not head["verb"] and (about := _ABOUT_IT.match(after)):  # "chair [b]: the person [b] is sitting on it"
            return f"{boxed[1]}{about[1]} the {boxed[0]}{after[about.end() :]}"
        boxed.reverse()
    if any(has_person) and len(listed) > 1 and all(score and _is_verb(verb) for verb, score in listed):
        return "\n".join(f"{boxed[0]} - {verb} - {boxed[1]} ({score})" for verb, score in listed)
    if not any(has_person) or not (tail := _AFTER.fullmatch(after)):
        return ""
    below = [_VERB_LINE.fullmatch(LEAD.sub("", line)) for line in takewhile(str.strip, following)]
    said = head["verb"] or tail["verb"]
    verbs = [said] if said else [match["verb"] if match else "" for match in below]
    score = f"({leading or trailing})" if leading or trailing else ""
    return "\n".join(f"{boxed[0]} - {verb} - {boxed[1]} {score}" for verb in verbs) if all(map(_is_verb, verbs)) else ""


def _may_be_noun(noun: str) -> bool:
    words = text.tokens(text.plain(noun))
    is_noun = 0 < len(words) < 5 and text.PREPOSITIONS.isdisjoint(words) and is_label(noun)
    return is_noun and meaning(noun).side != "object" and (not words[0].endswith("ing") or is_thing(noun))


def _is_verb(words: str) -> bool:
    """Return whether words are only verbs: "holding", "sit_on, read", "no interaction"; not "pair" and "objects"."""
    lists = [text.tokens(text.plain(each)) for each in split_verbs(words, "") or [words]]
    return text.says_no_interaction(lists[0]) or all(
        verb[:1]
        and (verb[0].endswith("ing") or verb[0] in bases(verb[0], "verb"))
        and _PARTICLES.issuperset(verb[1:])
        and not (is_person(verb[0]) or meaning(verb[0]).side or verb[0] in _GROUPS)
        for verb in lists
    )


def is_statement(line: str) -> bool:
    """Return whether a line has words, and is neither a key ("Interaction") nor an introduction of the next lines."""
    words = text.tokens(line)
    is_key = len(words) == 1 and bool(meaning(words[0]).part) and not can_be_verb(line)
    return bool(words) and not is_key and not line.rstrip(" *").endswith(":")
