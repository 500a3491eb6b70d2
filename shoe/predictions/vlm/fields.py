"""Sort the fields of one item of a reply by their content: boxes, words, references, and lists of further items."""

import re
from functools import lru_cache
from itertools import chain
from typing import Any, NamedTuple

import msgspec

from shoe.core.io.tolerant import values_in
from shoe.lexicon import text
from shoe.predictions.field_names import (
    PARTS,
    Meaning,
    is_denied,
    is_of_pair,
    judges,
    marks_truth,
    meaning,
    meaning_of_kind,
    name_predictions,
    only_judges,
    outdated,
    rank,
    superseded,
    unmapped,
    verb_details,
)
from shoe.predictions.vlm.box_marks import Entity, can_be_verb, entity_of, is_person, verb_likeness, words_of_boxes
from shoe.predictions.vlm.boxes import box_of, corners_in, number_of, replaced_boxes, score_of, verdict_of
from shoe.predictions.vlm.markup import split_verdict, verdicts_in

_AROUND_ALL = {"union", "interaction", "hoi", "pair", "relation", "relationship", "image", "predicate", "action"}
_NUMBERED = {"hoi", "verb", "action", "interaction", "predicate", "relation"}
_SHORT, _LONGEST_WORD = 40, 4
_IMAGE_PARTS = ("image", "width", "height")
_DIGIT, _DIGITS = re.compile(r"\d"), re.compile(r"\W*_*\d+")


class Verb(NamedTuple):
    """A verb with its score as written (None without a score)."""

    text: str
    score: Any = None


class Fields(msgspec.Struct):
    """Content of one JSON object (item) of a reply, sorted by meaning."""

    entities: list[Entity] = []  # boxes of the item
    references: dict[str, Any] = {}  # references to boxes elsewhere in the reply, by side (human, object), or by key
    labels: dict[str, str] = {}  # words for the human and the object, by side
    verbs: list[Verb] = []  # verbs as written
    phrase: str = ""  # a sentence or triplet as text
    names: list[str] = []  # labels under keys that name no side (human or object)
    texts: list[str] = []  # texts under unknown keys, in order
    keys_of: dict[str, str] = {}  # key of each text in ``names`` and ``texts``
    score: Any = None  # score as written
    children: list[tuple[object, Any]] = []  # lists and objects inside the item, with their keys
    outer_key: str = ""  # key of the item in the enclosing JSON object, if the key may be words for the interaction
    list_key: str = ""  # key of the list that contains the item
    points: bool = False  # whether the item has points instead of boxes
    empty_lists: list[str] = []  # keys with an empty list
    invalid_boxes: dict[str, Any] = {}  # invalid values under keys of boxes, by side
    invalid_word: tuple[str, Any] | None = None  # key that should have a word as value, and its value
    verdicts: dict[str, Any] = {}  # by key, values that say whether the interaction is present (boxes.verdict_of)
    unread: dict[str, Any] = {}  # values that are not used, by key
    joined: list[str] = []  # keys of different verbs, all of which are used

    @property
    def label(self) -> str:
        """First of ``names``; "" if there is none."""
        return self.names[0] if self.names else ""

    @property
    def has_words(self) -> bool:
        """Whether the JSON object has words for the interaction: verbs or a phrase."""
        return bool(self.verbs or self.phrase)


def fields_of(record: dict[Any, Any]) -> Fields:
    """Return the content of the JSON object ``record``, sorted by the meaning of keys and the form of values."""
    fields, record = Fields(), name_predictions(record)
    details = {k for k in verb_details(tuple(record)) if "secondary" not in str(k) or len(str(record[k]).split()) > 2}
    details |= unmapped(tuple(k for k, v in record.items() if v and isinstance(v[0] if type(v) is list else v, str)))
    details |= outdated(tuple(key for key, value in record.items() if value and type(value) is not bool))
    record = dict(record)
    for key in [key for key in record if key in details or (is_denied(key) and verdict_of(record[key]) is None)]:
        if value := record.pop(key):
            fields.unread[str(key)] = value
    for key in [key for key, value in record.items() if marks_truth(key, value)]:  # a row of the annotations
        fields.verdicts[str(key)] = False
        del record[key]
    texts = [(key, value) for key, value in record.items() if isinstance(value, str)]
    said = [key for key, _ in texts if meaning(key).part in ("verb", "phrase")]
    # {"person": {"action": "standing", ...}, "interaction": "riding", ...}: the words of the pair count
    for key, value in [*record.items()] if said else ():
        if isinstance(value, dict) and meaning(key).side and not meaning(key).part:
            own = {k: v for k, v in value.items() if isinstance(v, str) and meaning(k).part in ("verb", "phrase")}
            fields.unread |= {f"{key}.{name}": word for name, word in own.items()}
            record[key] = {name: inner for name, inner in value.items() if name not in own}
    for key in said if len(said) > 1 else ():  # {"relation": "none", "verb": "riding"}
        if text.names_no_action(text.tokens(text.plain(record[key]))):
            fields.verdicts[str(key)] = False
    for key, value in texts:
        if (verdict := _verdict(key, value)) is not None:
            fields.verdicts[str(key)] = verdict if verdict_of(value) is None else value
            del record[key]
    for key in superseded(tuple(record)):
        del record[key]
    for key in replaced_boxes(tuple(record)):
        fields.unread[str(key)] = record.pop(key)
    for verb, score in _ranked_verbs(record):
        fields.verbs.append(Verb(record.pop(verb), record.pop(score)))
    verbs = {k: v for k, v in record.items() if isinstance(v, str) and meaning_of_kind(k).part == "verb"}
    if len({_DIGITS.sub("", str(key)) for key in verbs}) > 1 < len(set(verbs.values())):
        fields.joined = [*map(str, verbs)]
    corners = corners_in(record)
    fields.entities = [Entity(box, side) for side, box, _ in corners]
    corner_keys = {key for _, _, keys in corners for key in keys}
    word_key_of, score_key = words_of_boxes(record), ""
    for key, value in sorted(record.items(), key=_order):
        info = meaning_of_kind(key) if meaning_of_kind(key).side else meaning(key)  # of "pred_object", not a "pred"
        if info.part == "verb" and "spatial" in info.words and any(map(_is_interaction_key, record)):
            continue
        if info.part in _IMAGE_PARTS or key in corner_keys or key in word_key_of.values():
            continue
        if key in word_key_of:
            box = box_of(value, key)
            fields.entities += [Entity(box, "", record[word_key_of[key]])] if box else []
            continue
        if value is None or value == "":
            if info.part == "box" and info.side:
                fields.invalid_boxes[info.side] = value
            elif info.part in ("verb", "phrase"):
                fields.invalid_word = (info.part, value)
            continue
        if judges(key) and (verdict_of(value) is not None or (only_judges(key) and not isinstance(value, list))):
            fields.verdicts[str(key)] = value
        elif info.part == "score" and isinstance(value, dict) and _scores_verbs(info, value):
            fields.verbs += _judged_verbs(value)
        elif info.part == "score":
            if not info.side and (fields.score is None or key in ("score", "confidence")):
                by_part = value.items() if isinstance(value, dict) else ()
                parts = [part for part, _ in by_part if meaning(part).part in ("phrase", "verb", "score")]
                part = next(chain(filter(is_of_pair, dict(by_part)), parts), None)
                fields.unread |= {score_key: fields.score} if score_key else {}
                fields.unread |= {f"{key}.{other}": score for other, score in by_part if other != part and parts}
                fields.score, score_key = value if part is None else value[part], str(key)
            elif info.side or rank(key) < 2:
                fields.unread[str(key)] = value
        elif isinstance(value, dict | list):
            _sort_structure(fields, key, info, value)
        elif isinstance(value, str):
            _sort_text(fields, key, info, value)
        elif type(value) in (int, float):
            if info.part in ("verb", "phrase"):
                fields.invalid_word = (info.part, value)
            if info.part == "id" and not info.side:
                if fields.invalid_word is None and not _NUMBERED.isdisjoint(info.words):
                    fields.invalid_word = (str(key), value)
                continue
            of_item = info.part == "label" and not info.side
            (fields.unread if of_item else fields.references)[info.side or str(key)] = value
        else:
            fields.unread[str(key)] = value
    if is_of_pair(score_key) and len(fields.verbs) == 1 and fields.verbs[0].score is not None:
        fields.unread["score of the verb"] = fields.verbs[0].score
        fields.verbs = [Verb(fields.verbs[0].text)]
    return fields


def _ranked_verbs(record: dict[Any, Any]) -> list[tuple[Any, Any]]:
    """Return the keys of each verb and its own score, in ("verb_1", "score_1"), ("verb_2", "score_2"), ...

    >>> _ranked_verbs({"verb": "ride", "score": 0.9, "second_verb": "hold", "second_score": 0.2})
    [('verb', 'score'), ('second_verb', 'second_score')]
    """
    keys: dict[str, dict[frozenset[str], Any]] = {"verb": {}, "score": {}}
    for key, value in record.items():
        info = meaning(key)
        is_own = isinstance(value, str) if info.part == "verb" else number_of(value) is not None
        if info.part in keys and not info.side and is_own:
            own = PARTS[info.part]
            keys[info.part][frozenset(word for word in info.words if word not in own)] = key
    both = [(keys["verb"][name], keys["score"][name]) for name in keys["verb"] if name in keys["score"]]
    return both if len(both) > 1 else []


def _scores_verbs(info: Meaning, value: dict[Any, Any]) -> bool:
    """Return whether a value under a key such as "verb_scores" has a score for each of several verbs."""
    of_verbs = any(meaning(word).part == "verb" for word in info.words)
    kinds = [meaning(name) for name in value if len(meaning(name).words) == 1]
    of_parts = any(kind.side or kind.part in ("verb", "phrase", "score") for kind in kinds)  # {"verb": 1, "object": 1}
    return of_verbs and not of_parts and bool(_judged_verbs(value))


def _order(item: tuple[object, Any]) -> int:
    """Return the rank of a field: names, then other words of a side, then lists of two words."""
    (key, value), info = item, meaning(item[0])
    is_pair = info.part == "phrase" and isinstance(value, list) and len(value) == 2
    return 3 if is_pair else rank(key) if info.side or info.part == "score" else 0


@lru_cache(1 << 14)
def _verdict(key: object, words: str) -> bool | None:
    """Return True if a text under a key only says that an interaction is present, False if absent; else None."""
    if judges(key) and not only_judges(key):
        return next(iter(stated)) if len(stated := verdicts_in(words)) == 1 and not words.isdigit() else None
    is_word = meaning(key).part in ("verb", "phrase") or str(key).isdigit()  # the keys of an item in a list are numbers
    rest, verdict = split_verdict(words)
    return verdict if is_word and not rest else None


def _is_interaction_key(key: object) -> bool:
    info = meaning(key)
    return info.part in ("verb", "phrase") and "spatial" not in info.words


def _sort_structure(fields: Fields, key: object, info: Meaning, value: Any) -> None:
    if info.part == "point":
        fields.points = True
        return
    if not value:
        fields.empty_lists.append(str(key))
        return
    count, entity = len(value), entity_of(value, key, info.side)
    may_be_boxes = info.part == "box" if info.side and count != 2 else count == 2 and info.part in ("box", "", "label")
    if entity is not None:
        if not (_AROUND_ALL.intersection(info.words) and info.part == "box" and not info.side):
            fields.entities.append(entity)
    elif isinstance(value, dict):
        _sort_object(fields, key, info, value)
    elif is_pointer_pair(value):
        fields.references |= {f"{key} 1": value[0], f"{key} 2": value[1]}
    elif all(isinstance(inner, str) for inner in value):
        _sort_words(fields, key, info, value)
    elif may_be_boxes and all(box_of(inner, key) for inner in value):
        fields.entities += [Entity(box, info.side) for inner in value if (box := box_of(inner, key))]
    elif info.part == "box" or (info.side and all(type(inner) in (int, float) for inner in value)):
        fields.invalid_boxes[info.side] = value
        if any(isinstance(inner, dict) for inner in value):
            fields.children.append((key, value))
    elif info.side and len(value) == 1 and isinstance(value[0], dict):
        _sort_structure(fields, key, info, value[0])
    else:
        fields.children.append((key, value))


def _judged_verbs(value: dict[Any, Any]) -> list[Verb]:
    """Return the verbs of {verb: score, or yes or no}: {"ride": "95%"}, {"ride": "likely", "hold": "no"}; else []."""
    verdicts = {name: verdict_of(each) for name, each in value.items()}
    scores = {name for name, each in value.items() if each not in (None, "") and score_of(each)[0] is not None}
    are_judged = [name in scores or verdict is not None for name, verdict in verdicts.items()]
    are_verbs = not any(meaning(name).part or meaning(name).side for name in value)
    if not all(isinstance(name, str) for name in value) or not (all(are_judged) or (any(are_judged) and are_verbs)):
        return []
    if any(number_of(value[name]) not in (0, 1) for name in scores):
        verdicts |= dict.fromkeys(scores)
    kept = [name for name, verdict in verdicts.items() if verdict is not False]
    return [Verb(name, None if verdicts[name] else value[name]) for name in kept] or [
        Verb(f"{name}: no") for name in value
    ]


def _sort_object(fields: Fields, key: object, info: Meaning, value: dict[Any, Any]) -> None:
    if info.part in ("verb", "phrase") and (verbs := _judged_verbs(value)):
        fields.verbs += verbs
        return
    is_flat = not any(isinstance(inner, dict | list) for inner in value.values())
    texts = {name: inner for name, inner in value.items() if isinstance(inner, str)}
    if info.side and is_flat:
        ids = [inner for name, inner in value.items() if meaning(name).part == "id" and isinstance(inner, str | int)]
        if ids:
            fields.references[info.side] = ids[0]
        labels = [inner for name, inner in texts.items() if meaning(name).part != "id"]
        if labels:
            fields.labels.setdefault(info.side, labels[0])
        if not ids and not labels:
            fields.invalid_boxes[info.side] = value
    elif info.part in ("verb", "phrase") and is_flat and texts and not (inner_fields := fields_of(value)).entities:
        names = [verb.text for verb in inner_fields.verbs] or list(texts.values())[:1]
        if inner_fields.verbs and inner_fields.names:
            inner_fields.labels.setdefault("object", inner_fields.names[0])
        for side, label in inner_fields.labels.items():
            fields.labels.setdefault(side, label)
        fields.verbs += [Verb(name, inner_fields.score) for name in names]
    else:
        fields.children.append((key, value))


def _sort_words(fields: Fields, key: object, info: Meaning, value: list[str]) -> None:
    entities = [entity_of(inner, key, info.side) for inner in value] if len(value) == 2 else []
    if entities and None not in entities:
        fields.entities += [entity for entity in entities if entity]
    elif info.part == "phrase" and _is_triplet(info, value) and not _are_verbs(value, fields):
        *subject, verb, target = value
        if verb_likeness(verb) == -1 < verb_likeness(target) and not subject:
            verb, target = target, verb
        fields.verbs.append(Verb(verb))
        fields.labels.setdefault("object", target)
        for word in subject:
            fields.labels.setdefault("subject", word)
    elif info.part in ("verb", "phrase"):
        fields.verbs += [Verb(text) for text in value]
    elif info.side:
        fields.labels.setdefault(info.side, text.ALTERNATIVES.join(value) if info.side == "object" else value[0])
    elif len(value) == 1:
        _sort_text(fields, key, info, value[0])
    elif info.part == "label" and len(value) == 2:
        fields.names += value
    else:
        fields.children.append((key, value))


def _is_triplet(info: Meaning, value: list[str]) -> bool:
    """Return whether words are one interaction, (verb, object) or (subject, verb, object), and not several."""
    have_ids = all(sum(map(str.isdigit, word)) > 1 for word in value)  # "p0 ride o0"
    if have_ids or any(len(word.split()) > _LONGEST_WORD or "," in word or _is_clause(word) for word in value):
        return False
    if len(value) == 3:
        return is_person(value[0]) or "triplet" in info.words
    return len(value) == 2 and not any(word.endswith("s") and word != "s" for word in info.words)


def _are_verbs(value: list[str], fields: Fields) -> bool:
    """Return whether two texts are two interactions, and not a verb and its object, given the record's other fields."""
    words = [each.replace("_", " ").lower().split() for each in value]
    if len(value) != 2 or not all(map(can_be_verb, value)):
        return False
    (first, second), are_ends = words, [each[-1] in text.PREPOSITIONS | text.PARTICLES for each in words]
    if not are_ends[0] and len(first) > 1 < len(second):  # "ride horse", "feed horse"
        return True
    labels = (entity.label or entity.key for entity in fields.entities if entity.side != "human")
    if thing := fields.labels.get("object") or next((each for each in labels if each and not is_person(each)), ""):
        return {*thing.lower().split()[-1:]}.isdisjoint(first + second)
    return all(end or (len(each) == 1 and each[0].endswith("ing")) for end, each in zip(are_ends, words, strict=True))


def _is_clause(phrase: str) -> bool:
    """Return whether a phrase has a person as subject and a verb: "person_1 riding horse_2"."""
    first, _, rest = phrase.partition(" ")
    return bool(rest) and is_person(first) and can_be_verb(rest)


def _sort_text(fields: Fields, key: object, info: Meaning, value: str) -> None:
    is_data = value.startswith(("[", "{")) and len(value) > _SHORT and box_of(value, key) is None
    if is_data and (inner := values_in(value)) and inner[0].value is not None:
        fields.children.append((key, inner[0].value))
        return
    entity = entity_of(value, key, info.side) if _DIGIT.search(value, 0, 200) else None
    if entity is not None:
        fields.entities.append(entity)
    elif info.part == "id":
        if info.side:
            fields.references[info.side] = value
    elif info.part == "box":
        fields.invalid_boxes[info.side] = value
    elif info.side and info.part in ("", "label", "phrase"):
        fields.labels.setdefault(info.side, value)
    elif info.part == "verb":
        fields.verbs.append(Verb(value))
    elif info.part == "phrase":
        fields.phrase = fields.phrase or value
    elif info.part == "label":
        fields.names.append(value)
        fields.keys_of[value] = str(key)
    elif len(value) <= 100:
        fields.texts.append(value)
        fields.keys_of[value] = str(key)
    else:
        fields.unread[str(key)] = value


def is_pointer_pair(value: Any) -> bool:
    """Return whether a value is a list of two integers, which may be the indices of two boxes."""
    return isinstance(value, list) and len(value) == 2 and all(type(inner) is int for inner in value)


def _is_flat_box(value: list[Any]) -> bool:
    return bool(value) and not isinstance(value[0], list) and box_of(value) is not None


def rows_of(record: dict[Any, Any]) -> list[dict[Any, Any]] | None:
    """Return [{"box": b1, "verb": v1}, ...] for lists {"box": [b1, ...], "verb": [v1, ...]}; None for other records.

    Values that are no lists, and a single box (of the person), are repeated in each row. Keys with numbers, {"box_1":
    b1, "verb_1": v1, "box_2": b2, "verb_2": v2}, are rows, too.
    """
    if numbered := _numbered_rows(record):
        return numbered
    lists = {key: v for key, v in record.items() if isinstance(v, list) and len(v) > 1 and not _is_flat_box(v)}
    if len(lists) < 2:
        return None
    boxes = {key: len(value) for key, value in lists.items() if all(box_of(inner) for inner in value)}
    lengths = set(boxes.values())
    if len(lengths) != 1 or len(boxes) not in (1, 2):
        return None
    count = lengths.pop()
    linked = {word for key, value in lists.items() if all(map(is_pointer_pair, value)) for word in meaning(key).words}
    if linked and any(meaning(key).side for key in boxes):  # box indices, not positions, define the pairs
        return None
    columns = [
        key
        for key, value in lists.items()
        if len(value) == count and not (linked and (linked & {*meaning(key).words} or _is_interaction_key(key)))
    ]
    if len(columns) < 2:
        return None
    rest = {key: value for key, value in record.items() if not isinstance(value, list) or _is_flat_box(value)}
    return [rest | {key: lists[key][i] for key in columns} for i in range(count)]


def _numbered_rows(record: dict[Any, Any]) -> list[dict[Any, Any]]:
    """Return one row per number in the keys of a record; [] if there is one number, or a row lacks box or words."""
    rows: dict[str, dict[Any, Any]] = {}
    shared = {}
    for key, value in record.items():
        numbers = [word for word in meaning(key).words if word.isdigit()]
        if len(numbers) == 1 and str(key).count(numbers[0]) == 1:
            rows.setdefault(numbers[0], {})[str(key).replace(numbers[0], "").strip("_ -")] = value
        else:
            shared[key] = value

    def is_interaction(row: dict[Any, Any]) -> bool:
        has_words = any(meaning(key).part in ("verb", "phrase") for key in row)
        return has_words and any(map(box_of, row.values()))

    are_rows = len(rows) > 1 and all(map(is_interaction, rows.values()))
    return [shared | row for row in rows.values()] if are_rows else []


def relations_of(record: dict[Any, Any]) -> list[dict[Any, Any]] | None:
    """Return [{"pair": [0, 1], "verb": v1}, ...] for lists {"pair": [[0, 1], ...], "verb": [v1, ...]}; else None."""
    lists = {key: value for key, value in record.items() if isinstance(value, list) and value}
    if len(lists) < 2:
        return None
    pointers = [key for key, value in lists.items() if all(map(is_pointer_pair, value))]
    if len(pointers) != 1:
        return None
    linked, count = set(meaning(pointers[0]).words), len(lists[pointers[0]])
    columns = [
        key
        for key, value in lists.items()
        if len(value) == count and (linked & {*meaning(key).words} or meaning(key).part in ("verb", "phrase"))
    ]
    return [{key: lists[key][i] for key in columns} for i in range(count)] if len(columns) > 1 else None
