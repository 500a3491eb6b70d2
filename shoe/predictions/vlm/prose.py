"""Find interactions in text that is not JSON: sentences with box marks ([m]), and records of text_records.py."""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import product, takewhile
from typing import NamedTuple

from msgspec.structs import replace

from shoe.core.errors import quote
from shoe.lexicon import text
from shoe.lexicon.phrases.words import patterns
from shoe.lexicon.senses import bases
from shoe.predictions.field_names import meaning
from shoe.predictions.vlm.box_marks import (
    MARK,
    Entity,
    MarkedText,
    can_be_verb,
    insert_marks,
    is_label,
    is_person,
    mark_boxes,
    numberless,
)
from shoe.predictions.vlm.boxes import Box
from shoe.predictions.vlm.denials import BOX_LIKE, REPLY, compiled, says_none
from shoe.predictions.vlm.fields import Fields, Verb
from shoe.predictions.vlm.items import interactions_in, pair_of
from shoe.predictions.vlm.markup import labels_of_reply, split_denied, stated_labels, take_confidence
from shoe.predictions.vlm.pair_lines import ADDS, LABELLED, LEAD, is_statement, rewrite_pair_lines, without_draft
from shoe.predictions.vlm.parsed_reply import Pair, Problem, Reading
from shoe.predictions.vlm.text_records import assigned_records, key_value_items, table_records, tagged_records
from shoe.predictions.vlm.words import Interaction, parse_pair_words

# Sentences with marks in place of boxes: "A man [1] rides a horse [2] and holds a rope [3]".

# Words that announce a box or name its side. If nouns follow their boxes, "at" belongs to the verb.
FIELD_LABEL, LEADING_LABEL = (re.compile(patterns("box_label", REPLY) % at, re.I) for at in ("located|at", "located"))
NUMBERED, _COPULA, _LISTED = compiled("mark_number copula_end mark_separator")
LONG_NOUN = 4


def names_in(sentences: list[str]) -> dict[str, int]:
    """Return {name: m} from sentences with only names and box marks ("P1: [m]"; [m] is the placeholder of box m)."""
    names: dict[str, int] = {}
    for sentence in sentences:
        marks = MARK.findall(sentence)
        if len(marks) > 1 and (numbered := numbered_list(sentence, len(marks))):
            names |= {name: mark for name, mark in numbered.items() if name not in names}
        if len(marks) != 1:
            continue
        unlabelled = sentence if NUMBERED.match(sentence) else FIELD_LABEL.sub(" ", sentence)
        words = _without_marks(unlabelled) or _without_marks(sentence)  # "Person: [m]" is a label and a name
        words = _COPULA.sub("", words)
        if 0 < len(words.split()) <= LONG_NOUN:
            names.setdefault(words, int(marks[0]))
    return names


def legend_of(lines: list[str]) -> tuple[dict[str, int], dict[int, str], set[str]]:
    """Return {ID: m} and {m: noun} of lines like "O1 (horse): [m]" ([m]: placeholder of box m), and IDs without noun.

    The noun of a line without a noun is "person" if its ID ("Person 1", "P1") or heading ("People:") is of a person.
    """
    marks: dict[str, int] = {}
    words: dict[int, str] = {}
    unknown: set[str] = set()
    heading = ""
    for line in lines:
        heading = heading if MARK.search(line) else line.strip(" *_:#")
        entry = _ENTRY.fullmatch(FIELD_LABEL.sub(" ", line)) or _ENTRY.fullmatch(line)
        kind = entry["id"].rstrip(" _#0123456789") if entry else ""
        if not entry or not (len(kind) == 1 or meaning(kind).side):
            continue  # "horse 2 [m]" is no ID
        noun = numberless(_COPULA.sub("", f" {entry['noun'] or entry['words'] or ''}"))  # "Person 1 is at [m]"
        is_of_person = is_person(kind) or kind in ("P", "H") or (is_person(heading) and meaning(kind).side != "object")
        if is_of_person and not (noun and is_label(noun)):
            noun = "person"
        if noun and is_label(noun) and marks.get(entry["id"], int(entry["mark"])) == int(entry["mark"]):
            marks[entry["id"]], words[int(entry["mark"])] = int(entry["mark"]), noun
        else:
            unknown.add(entry["id"])
    return {name: mark for name, mark in marks.items() if name not in unknown}, words, unknown


def listed_names(sentence: str) -> list[tuple[str, int]]:
    """Return [(name, m)] of a sentence such as "There is a man [m]" ([m]: placeholder of box m); [] for others."""
    start, names = _THERE.match(sentence), list[tuple[str, int]]()
    plain = FIELD_LABEL.sub(" ", sentence[start.end() :]).translate(_BLANKS).strip(" .") if start else ""
    for part in _LISTED.split(plain) if _MARKED in plain else ():
        words, *rest = MARK.split(part)
        name = numberless(words.lower()).split()
        is_clause = words.split()[:1] == name[:1] and "".join(name[:1]).endswith("ing")  # not "a parking meter"
        is_name = 0 < len(name) < LONG_NOUN and _AFTER_VERBS.isdisjoint(name)
        if len(rest) != 2 or rest[1].strip() or is_clause or not is_name:
            return []
        names.append((" ".join(name), int(rest[0])))
    return names


def adjacent_names(sentences: list[str]) -> dict[int, dict[str, int]]:
    """Return {sentence index: {name: m}} for sentences without box marks [m], from adjacent lines with marks.

    These are the lines directly after a sentence, or before it if their names occur more often in the sentences.
    """
    unmarked = [i for i, sentence in enumerate(sentences) if not MARK.search(sentence)]
    after = {i: names_in([*takewhile(MARK.search, sentences[i + 1 :])]) for i in unmarked}
    before = {i: names_in([*takewhile(MARK.search, reversed(sentences[:i]))]) for i in unmarked}

    def mentioned(names: dict[int, dict[str, int]]) -> int:
        return sum(name.lower() in sentences[i].lower() for i in unmarked for name in names[i])

    return after if mentioned(after) >= mentioned(before) else before


def add_person(sentence: str, names: dict[str, int]) -> str:
    """Return a sentence with the missing person of two ``names`` in front: "flying a kite" to "man flying a kite"."""
    unmentioned = [name for name in names if name.lower() not in sentence.lower()]
    is_left_out = len(names) == 2 and len(unmentioned) == 1 and is_person(unmentioned[0])
    return f"{unmentioned[0]} {sentence}" if is_left_out and sentence.split()[0].lower().endswith("ing") else sentence


def _without_marks(sentence: str) -> str:
    return MARK.sub(" ", sentence).replace("*", " ").strip(" :-–—.,()\"'`=")


def numbered_list(sentence: str, count: int) -> dict[str, int]:
    """Return {name: m} if a sentence lists ``count`` names like "horse 2 [m]" ([m]: placeholder of box m); else {}."""
    parts = _LISTED.split(sentence.strip(" ."))
    if len(parts) != count:
        return {}
    names = {MARK.sub("", part).strip(): int(mark[1]) for part in parts if (mark := MARK.search(part))}
    are_names = all(numberless(name) != name and len(name.split()) <= LONG_NOUN for name in names)
    return names if len(names) == count and are_names else {}


_LINE, _PRED, _REF, _APART, _FINITE, _ENTRY, _THERE, _END, _HEAD = compiled(
    "sentence_end pred ref apart finite entry there clause_break head"
)
_MAY_LABEL, _INTRODUCTION, _QUESTION, _FORMER = compiled("may_label introduction question former", re.I)
_FORMER_CLAUSE, _ANSWER_LEAD, _DETERMINER = compiled("former_clause answer_lead determiner", re.I)
_HUMAN_BOX, _MARK_END, _BEFORE_NOUN, _NO_ANSWER, _IT, _AGAIN = compiled(
    "human_box mark_end before_noun no_answer it again", re.I
)
_PRONOUNS, _DOERS = frozenset(("he", "she", "they", "his", "her")), frozenset(("him", "her", "them"))
_AFTER_VERBS = text.DETERMINERS | text.PREPOSITIONS | text.PARTICLES | {"→", "->"}
_BRACKETS, _WORD = re.compile(r"[\[\]{}]+|\([\s,;]*\)"), re.compile(r"\w")
_BLANKS = str.maketrans("()*", "   ")
_DATA, _LONGEST = re.compile(r"[{}]|</|/>|\w[\"']\s*:"), 300
_MARKED = "\ue000"
_OTHERS = {"another", "other", "others", "second", "else", "nobody", "by", "enjoy", "enjoys", "interact", "interacting"}
_SELF = _PRONOUNS | {"person", "individual", "human", "subject"}
_Named = tuple[list[int], list[list[str]]]  # marks of the person and the thing, and the words of both
_COUNTS = "as many human boxes as object boxes, or only one human or object box"


def interactions_of_sentences(marked: MarkedText) -> Reading:
    """Return the interactions in the sentences of a text; the noun next to a box mark tells persons from objects."""
    reading, raw = Reading(), marked.text
    if "<pred>" in raw or "<rel>" in raw:
        # All-Seeing: a predicate with the boxes of subject and object, which also follow their nouns.
        return Reading(list(_predicates(marked)))
    if not marked.boxes:
        return reading
    lines = (LABELLED.sub("", LEAD.sub("", line).strip()) for line in _LINE.split(_FORMER_CLAUSE.sub("\n", raw)))
    sentences = [line for line in lines if line]
    names, adjacent = names_in(sentences), adjacent_names(sentences)
    words = {mark: name.split(None, 1)[-1] for name, mark in names.items() if NUMBERED.match(name)}
    names |= {name.split(None, 1)[0]: mark for name, mark in names.items() if mark in words}
    ids, nouns, unknown = legend_of(sentences)
    adjacent = {i: {k: mark for k, mark in found.items() if k not in unknown} for i, found in adjacent.items()}
    names = {name: mark for name, mark in names.items() if mark not in nouns and name not in unknown} | ids
    words |= nouns
    listed, listed_at, entries = dict[str, int](), -2, list[tuple[str, int]]()
    people, named, start = list[int](), None, 0  # named: the last sentence with boxes; start: number of items before it
    for i, sentence in enumerate(" ".join(line.split()) for line in sentences):
        marks = [int(mark[1]) for mark in MARK.finditer(sentence)]
        if marks:
            named, start = _named_pair(sentence, marks), len(reading.items)
        if stated := listed_names(sentence):
            entries, listed_at = [*(entries if i == listed_at + 1 else ()), *stated], i
            counts = [name for name, _ in entries]
            listed = {name: mark for name, mark in entries if counts.count(name) == 1}
            people = [mark for name, mark in listed.items() if is_person(name)]
            people = people if len(people) == 1 else []
            continue
        is_question = named and marks and "?" in sentence[-3:] and _QUESTION.match(sentence)
        if is_question or (len(marks) > 1 and numbered_list(sentence, len(marks))):
            continue
        if not marks and len(names | listed) > 1:
            own_names = adjacent.get(i, {}) | listed
            sentence = insert_marks(add_person(sentence, own_names), names | own_names, words)
            first, *others = *map(int, MARK.findall(sentence)), -1
            noun = (nouns | {mark: name for name, mark in listed.items()}).get(first, "")
            if len(others) > 1 and noun and not is_person(noun) and " by " not in sentence:
                continue  # a relation between things, or an act of a thing: "The horse carries the man"
        if named and not MARK.search(sentence):
            (person, other), both = named
            human, thing = (Entity(marked.boxes[mark][0]) for mark in (person, other))
            _add_follow_up(human, thing, both, sentence, reading, start, turned=person > other)
        count = len(reading.items)
        people = _read_sentence(marked, sentence, people, reading)
        if len(marks) == len(people) == 1 and people != marks and (new := Reading(reading.items[count:]).pairs):
            noun = next((each.object for each in _interactions(new[-1])), "")
            named = ([*people, *marks], [["person"], noun.split()]) if noun else None
    if not reading.items:
        found = f"{len(marked.boxes)} boxes without words for an interaction"
        reading.items.append(Problem("words", found, "an interaction of two boxes"))
    return reading


def _named_pair(sentence: str, marks: list[int]) -> _Named | None:
    """Return the marks of the person and the thing in a sentence with two marks, and the words of both; else None."""
    first, _, second, *_ = MARK.split(FIELD_LABEL.sub(" ", sentence)) if len(marks) == 2 else ("", "", "")
    labels = [" ".join(label.replace("*", " ").split()).strip(" :")[-_LONGEST:] for label in (first, second)]
    people = [_names_person(label, after_box=False, acts=not i) for i, label in enumerate(labels)]
    nouns = [_DETERMINER.split(label)[-1].lower().split()[-3:] for label in labels]
    order = slice(None, None, 1 if people[0] else -1)
    return (marks[order], nouns[order]) if people.count(True) == 1 else None


def _add_follow_up(
    human: Entity, thing: Entity, nouns: list[list[str]], sentence: str, reading: Reading, start: int, *, turned: bool
) -> None:
    """Add what a sentence without boxes, such as "He is riding it", says about the pair of the sentence before.

    "Interaction: riding" and corrections ("Wait, no, he is riding it.") replace the items from ``start`` on. ``nouns``
    are the words of the person and the thing; ``turned``: whether the thing is named first, as "the former".
    """
    back = _TAKEN_BACK.match(f"\n{sentence}", 1)
    said = _ANSWER_LEAD.sub("", sentence[back.end() - 1 :] if back else sentence)
    if no := _NO_ANSWER.match(said):
        said, denied = said[no.end() :], Reading(reading.items[start:]).pairs
        reading.items[start:] = [pair._replace(verdicts=(("", False),)) for pair in denied]
        start = len(reading.items)
    said = said.replace(" the same ", " the ")
    known = [each for pair in Reading(reading.items[start:]).pairs for each in _interactions(pair)]
    noun = known[0].object if known else " ".join(nouns[1])
    said = _IT.sub(f"the {noun}", _FORMER.sub(lambda at: " ".join(nouns[(at[1].lower() == "latter") != turned]), said))
    words, labels = text.tokens(said.lower()), stated_labels(said)
    is_label = any(":" in said or label.split()[0].endswith("ing") for label in labels)
    if says_none(said) and all(each.verb.startswith("being") for each in known):
        said, is_label = "no interaction", True
    pair = Pair(human, thing, "", noun if is_label else "", (), said.strip(" ."))
    acts = words[:1] and (words[0].endswith("ing") or not _SELF.union(nouns[0][-1:]).isdisjoint(words[:5]))
    if not (is_label or (acts and _OTHERS.isdisjoint(words))) or _NUMBER.search(said) or not _is_clear(pair):
        return
    if is_label or (back and not ADDS.search(said)):
        reading.replaced += back is not None
        del reading.items[start:]
        known = []
    verbs, things = [bases(old.verb.split()[0], "verb") for old in known], (noun.lower(), noun.lower().split()[-1])
    for each in _interactions(pair):
        if each.object.split(" / ")[0].lower() in things and bases(each.verb.split()[0], "verb") not in verbs:
            reading.items.append(pair._replace(phrase="", verbs=(Verb(each.verb),), target=noun))
    reading.items += [pair] * (not _interactions(pair))  # which the sentence denies


def _interactions(pair: Pair) -> tuple[Interaction, ...]:
    return words.interactions if (words := parse_pair_words(pair)) else ()


def _read_sentence(marked: MarkedText, sentence: str, previous_people: list[int], reading: Reading) -> list[int]:
    """Add the interactions of a sentence to ``reading``; return the box marks of people for "he" or "they"."""
    pieces = MARK.split(sentence)
    numbers = [int(number) for number in pieces[1::2]]
    if len(numbers) == 2 and [_HUMAN_BOX.search(label) is not None for label in pieces[:4:2]] == [False, True]:
        numbers.reverse()  # "petting giraffe: object box [m], human box [m]"
    for first, statement in _statements(tuple(pieces[::2])) if numbers else ():
        marks = numbers[first : first + statement.count(_MARKED)]
        relations = _relations(statement, bool(previous_people))
        if len(marks) > 2 and not relations.people and relations.people is not None:
            found = f"{len(marks)} boxes in one sentence, none of them labelled as a person"
            reading.items.append(Problem("words", found, "one sentence per interaction"))
            continue
        for subjects, things, phrase, target in relations.relations:
            if not things:
                reading.items += _about_last_thing(marked.boxes[marks[0]], phrase, reading)
                continue
            people, objects = (
                previous_people if subjects is None else [marks[i] for i in subjects],
                [marks[i] for i in things],
            )
            reading.items += _pairs_of_marks(marked.boxes, people, objects, phrase, target, relations.score)
        previous_people = previous_people if relations.people is None else [marks[i] for i in relations.people]
    return previous_people


def _about_last_thing(people: list[Box], phrase: str, reading: Reading) -> list[Pair]:
    """Return the pairs of people and the thing of the last interaction, "it" in ``phrase``; [] without such a thing."""
    last = next(filter(_interactions, reversed(reading.pairs)), None)
    if last is None:
        return []
    phrase = _IT.sub(f"the {_interactions(last)[0].object}", phrase)
    return [Pair(Entity(box), last.object, "", "", (), phrase) for box in people]


@lru_cache(1 << 14)
def _statements(parts: tuple[str, ...]) -> tuple[tuple[int, str], ...]:
    """Return (index of the first mark, statement) per statement of a sentence with ``parts`` between the marks.

    A statement starts after a sentence end, or at a box only called a person: "man [1] holds cup [2] person [3] ...".
    """
    statements: list[tuple[int, str]] = []
    first, statement = 0, parts[0]
    for i in range(1, len(parts)):
        *_, end = [None, *_END.finditer(parts[i])] if i < len(parts) - 1 else (None,)
        head, lead = (parts[i][: end.start()], parts[i][end.end() :]) if end else ("", parts[i])
        runs_on = i + 2 < len(parts) and _is_only_person(lead) and not _is_only_person(parts[i + 1])
        if parts[0].strip() and i - first > 1 and (end or runs_on):
            statements.append((first, statement + _MARKED + head))
            first, statement = i, lead
        else:
            statement += _MARKED + parts[i]
    return (*statements, (first, statement))


def _is_only_person(words: str) -> bool:
    """Return whether words before a mark only name a person: "and a young woman at"; not "hugs a man"."""
    words = FIELD_LABEL.sub(" ", words.strip(" ,;().") + _MARKED).strip(f" ({_MARKED}")
    *modifiers, head = numberless(_clause(words)).split() or [""]
    return is_person(head) and len(modifiers) < LONG_NOUN and not any(is_person(w) or can_be_verb(w) for w in modifiers)


class _Relations(NamedTuple):
    """Relations in a sentence. A mark (reference to a box) is given by its index among the marks of the sentence."""

    # Per relation: marks of the people (None: people of the preceding sentence), marks of the thing, words for the
    # interaction, and noun of the thing ("" if the words contain the noun).
    relations: tuple[tuple[tuple[int, ...] | None, tuple[int, ...], str, str], ...]
    people: tuple[int, ...] | None  # marks of the people that the next sentence may refer to; None: as before
    score: str | None  # confidence as written


@lru_cache(1 << 14)
def _relations(sentence: str, has_human: bool) -> _Relations:
    """Return the relations in a sentence; ``has_human``: whether "he" may refer to people of an earlier sentence."""
    sentence = sentence.replace("**", "")
    plain, value = take_confidence(sentence)
    if _MAY_LABEL.search(plain):
        plain = (LEADING_LABEL if plain.lstrip().startswith(_MARKED) else FIELD_LABEL).sub(" ", plain)
    plain = _INTRODUCTION.sub("", plain.replace("`", " "))
    parts = [" ".join(part.split()).strip(" :") for part in plain.split(_MARKED)]
    if (count := len(parts) - 1) == 0:  # the box stood in the introduction or in the confidence
        return _Relations((), None, value)
    boxes_first = not parts[0]  # the boxes stand before their nouns
    labels = [part if _WORD.search(part) else "" for part in (parts[1:] if boxes_first else parts[:-1])]
    is_last = boxes_first and not any(labels[:-1])  # all words follow all boxes, and name no box
    is_pair = count == 2 and not boxes_first
    acts = is_pair and _FINITE.match(parts[1]) is not None
    named = (i for i, label in enumerate(labels) if _names_person(label, after_box=boxes_first, acts=acts and i == 0))
    people = () if is_last else tuple(named)
    if count == 1:
        words = parts[0].split()
        is_again = not _PRONOUNS.isdisjoint(word.lower() for word in words[:2])  # "and he holds a cup"
        if has_human and (same := _AGAIN.match(parts[0])) and is_person(same["noun"] or "person"):
            phrase = f"a person {parts[0][same.end('subject') :]}"  # "Additionally, the same person is holding a cup"
            return _Relations(((None, (0,), phrase, ""),), None, value)
        is_clause = len(words) > 2 and words[0].lower().endswith("ing") and words[1].lower() in _AFTER_VERBS
        if has_human and (is_again or (is_clause and not people)):  # "holding a cup", not "washing machine"
            return _Relations(((None, (0,), f"a person {' '.join(words[is_again:])}", ""),), None, value)
        about = _IT.search(parts[1]) if people and not boxes_first else None  # "A person [m] is riding it"
        relation = ((0,), (), f"{parts[0]} {parts[1]}", "")
        return _Relations((relation,) if about else (), (0,) if people else None, value)
    if count > 2 and not people:
        return _Relations((), (), value)
    subjects = _acting_people(people, count) or (0,)
    objects = tuple(i for i in range(count) if i not in subjects) or (1,)
    subjects = tuple(i for i in subjects if i not in objects)
    if is_pair and _APART.match(parts[-1]):
        again = {"it", "them", "its", "their", "the", *labels[1].lower().split()[-1:]}
        parts[-1] = parts[-1] if again & set(parts[-1].lower().strip(".").split()) else ""
    said, head = parts[-1].lstrip(" -–—:,;"), _HEAD.match(plain)
    has_subject = any(is_person(word) or word.lower() in _PRONOUNS for word in said.split()[:3])
    are_nouns = all(is_label(label) and len(label.split()) < LONG_NOUN and not _FINITE.match(label) for label in labels)
    stated, noun = ("", ""), labels[objects[0]]  # words of the interaction, and noun of the thing if it is not in them
    if is_pair and len(said.split()) >= LONG_NOUN and has_subject and are_nouns:  # "man [m], dog [m]: he walks the dog"
        stated = said, noun
    elif head and len(head[1].split()) > 1 and count == 2 and not is_person(parts[1].split(" ")[0]):
        stated = head[1], ""  # "The man rides a horse: man [m], horse [m]"
    elif (len(objects) == 1 or boxes_first) and stated_labels(unmarked := _MARK_END.sub("", plain)):
        stated = unmarked, _BEFORE_NOUN.sub("", noun)
    if stated[0]:
        return _Relations(((subjects, objects[:1], *stated),), subjects, value)
    if len(objects) == 1 or boxes_first:
        text = " ".join(part for part in parts if part)
        has_separate_noun = boxes_first and bool(labels[subjects[0]]) and not _is_only_person(labels[subjects[0]])
        nouns = [labels[i] if has_separate_noun and len(labels[i].split()) < LONG_NOUN else "" for i in objects]
        relations = tuple((subjects, (i,), text, noun) for i, noun in zip(objects, nouns, strict=True))
        return _Relations(relations, subjects, value)
    return _Relations(tuple((subjects, (i,), f"a person {_clause(parts[i])}", "") for i in objects), subjects, value)


def _acting_people(people: tuple[int, ...], count: int) -> tuple[int, ...]:
    """Return the first consecutive marks of people, but without the last mark if all ``count`` marks are people."""
    run = list(people[:1])
    for index in people[1:]:
        if index == run[-1] + 1:
            run.append(index)
    return tuple(run[:-1] or run if len(run) == count else run)


def _names_person(label: str, *, after_box: bool, acts: bool) -> bool:
    """Return whether the words before a mark (or after it, ``after_box``) name its box as a person.

    These are the last word, the head noun of a subject that ``acts`` ("the man in a white shirt [m] is ..."), or the
    doer of a passive ("ridden by the man on the left [m]").
    """
    words = label.split()
    if after_box:
        return any(is_person(word) for word in words[:3])
    words = [word for word in words if word.strip(",.()<>|")]
    _, by, doer = f" {label}".rpartition(" by ")
    if (acts and is_person(label)) or (by and (is_person(doer) or doer.strip().lower() in _DOERS)):
        return True
    return bool(words) and is_person(words[-1].strip(",.()<>|#\"'-_0123456789") or words[0])


def _clause(words: str) -> str:
    """Return a clause without a leading conjunction: "and holding a rope" becomes "holding a rope"."""
    return re.sub(r"^[\s,;]*(?:and|while|also|then|as well as)?\s*", "", words, flags=re.I)


def _pairs_of_marks(
    boxes: list[list[Box]], humans: list[int], things: list[int], phrase: str, target: str, score: str | None
) -> list[Pair | Problem]:
    """Return the pairs of the boxes of marks, with the words ``phrase`` and the noun ``target`` of the thing or ""."""
    first, second = ([box for mark in marks for box in boxes[mark]] for marks in (humans, things))
    if isinstance(pairs := _pair_boxes(first, second), Problem):
        return [pairs]
    words = _BRACKETS.sub(" ", phrase).strip(" .,:;-–—|/")
    if words[:1] + words[-1:] == "()":
        words = words[1:-1].strip(" .,:;-–—|/")
    if _DATA.search(phrase) or len(words) > _LONGEST:
        return [Problem("words", quote(words), "words for an interaction")]
    return [Pair(Entity(a), Entity(b), "", numberless(target), (), words, (), score) for a, b in pairs]


def _pair_boxes(first: list[Box], second: list[Box]) -> list[tuple[Box, Box]] | Problem:
    """Return pairs of boxes: by position for lists of equal length, all pairs if a list has one box."""
    if len(first) == len(second):
        return list(zip(first, second, strict=True))
    if 1 in (len(first), len(second)):
        return [*product(first, second)]
    return Problem("pairs", f"{len(first)} human and {len(second)} object boxes", _COUNTS)


def _predicates(marked: MarkedText) -> Iterator[Pair | Problem]:
    labels: dict[tuple[float, ...], str] = {}
    for match in _REF.finditer(marked.text):
        for box in marked.boxes[int(match[2])]:
            labels.setdefault(box.numbers, match[1])
    for match in _PRED.finditer(marked.text):
        pairs = _pair_boxes(*(marked.boxes[int(mark)] for mark in (match[2], match[3])))
        if isinstance(pairs, Problem):
            yield pairs
            continue
        for human, thing in pairs:
            subject, target = (numberless(labels.get(box.numbers, "")) for box in (human, thing))
            yield Pair(Entity(human), Entity(thing), subject, target, (Verb(match[1]),), "", is_relation=True)


(_NUMBER, _VERB_BLOCK) = compiled("number verb_block")
_HEADINGS, _RULED, _TAKEN_BACK, _NEXT_LABEL, _NO_WORD, _OUTWEIGHED, _NO_FIRST = compiled(
    "headings ruled taken_back next_label no_verb outweighed no_first", re.I | re.M
)
_UNSURE = re.compile(rf"{patterns('refusal')}|\A\W*(?:un(?:clear|known|certain)|(?:hard|difficult) to)\b")
_BLOCK = re.compile(r":[ \t]*\n" + r"[ \t]*-[ \t]+(\d{1,5}(?:\.\d{1,9})?)[ \t]*(?:\n|\Z)" * 4)  # YAML's list of lines
_BULLET = re.compile(r"[ \t]*[-*][ \t]+|\n")
_WIDEST = 20
_GAP = re.compile(rf"\s{{{_WIDEST},}}")  # wider gaps are shortened, because they are slow to match
LONGEST, _LONGEST_REPLY = 20_000, 2000  # characters of a text, and of a reply about one pair, that are read


def interactions_of_text(text: str, context: Fields) -> Reading:
    """Return the interactions in a text that is no JSON; ``context`` are the other fields of its record."""
    text = text[:LONGEST]
    if "   " in text or "\n\n\n" in text or "\t" in text:
        text = _GAP.sub(lambda gap: "\n" if "\n" in gap[0] else " " * _WIDEST, text)
    if "\n" in text and "- " in text:
        text = _BLOCK.sub(r": [\1, \2, \3, \4]\n", text)
        text = _VERB_BLOCK.sub(lambda m: f"{m[1]}: {', '.join(filter(None, _BULLET.split(m[2])))}\n", text)
    if len(context.entities) == 2 and len(text) <= _LONGEST_REPLY and not BOX_LIKE.search(text):
        text = text if context.has_words else _NO_FIRST.sub("", text)
        text = labels_of_reply(_NEXT_LABEL.sub("\n", text))
    if len(text) <= _LONGEST_REPLY and (shorter := _OUTWEIGHED.sub(r"\g<kept>", text)).strip(" .,"):
        text = shorter
    final = without_draft(text)
    if len(context.entities) == 2 and not BOX_LIKE.search(final):
        *_, last = _TAKEN_BACK.split(final)
        final = final if ADDS.search(last) or not last.strip() else last
    if final != text:
        reading = Reading(says_none=True) if says_none(final) else interactions_of_text(final, context)
        return replace(reading, replaced=reading.replaced + 1)
    text = text if context.entities else rewrite_pair_lines(text)
    text = _HEADINGS.sub(r"Human: \1; Verb: \2; Object: \3", text)
    text, denied = (text, "") if _RULED.search(text) else split_denied(text)  # a column of a table may say yes or no
    if denied:
        pairs = [pair._replace(verdicts=(("", False),)) for pair in interactions_of_text(denied, context).pairs]
        return Reading([*interactions_of_text(text, context).items, *pairs])
    for records in (assigned_records(text), table_records(text), tagged_records(text), key_value_items(text)):
        if records:
            reading = interactions_in(records, context, [records])
            if reading.pairs and all(pair.has_words for pair in reading.pairs):
                return reading
    marked = mark_boxes(text)
    boxes = [box for mark in marked.boxes for box in mark]
    if len(boxes) == 2 and (context.has_words or context.label):
        return Reading([pair_of(replace(context, entities=[Entity(box) for box in boxes], verdicts={}))])
    if not boxes and len(context.entities) == 2:
        lines = [*filter(is_statement, (LEAD.sub("", line) for line in text.split("\n")))]
        unclear = [Problem("words", quote(line), "a verb") for line in lines if _NO_WORD.fullmatch(line)]
        lines = [line for line in lines if not _NO_WORD.fullmatch(line)]
        reading = Reading()
        for line in lines:
            pair, start = pair_of(replace(context, verbs=[], phrase=line, names=[], verdicts={})), len(reading.items)
            reading.items += [pair] * (not context.has_words or _is_clear(pair))
            others = _LINE.split(line)[1:]
            nouns = [["person"], found[0].object.split()] if others and (found := _interactions(pair)) else []
            for other in others if nouns else ():  # "The person is boarding the bus. They are also loading it."
                _add_follow_up(pair.human, pair.object, nouns, other, reading, start, turned=False)
        return Reading([*reading.items, *unclear])
    return interactions_of_sentences(marked)


def _is_clear(pair: Pair) -> bool:
    """Return whether the words of a pair surely state or deny an action, unlike "maybe" and "I can't tell"."""
    is_unsure = _UNSURE.search(text.plain(pair.phrase)) or not (" " in pair.phrase or can_be_verb(pair.phrase))
    words = None if is_unsure else parse_pair_words(pair)
    return words is not None and not words.doubtful and bool(words.interactions or words.denied)
