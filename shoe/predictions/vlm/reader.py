"""Read the records of a file: each is an interaction, a list of the interactions of an image, or a raw reply."""

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from typing import Any

import msgspec

from shoe.core.errors import InputError, quote
from shoe.core.interactions import Rows
from shoe.core.io.json import describe_value
from shoe.predictions.field_names import (
    ANSWERS,
    ANSWERS_WITH_BOXES,
    CHATS,
    REFUSALS,
    RUNS,
    is_prompt,
    is_truth,
    is_version_of_answer,
    marks_truth,
    meaning,
    names_prediction,
    outdated,
)
from shoe.predictions.notes import TWO, ReadNotes
from shoe.predictions.source import Source
from shoe.predictions.vlm.answers import Answer, are_parts, best_answer, caption_interactions, context_fields
from shoe.predictions.vlm.box_marks import has_points
from shoe.predictions.vlm.boxes import box_of
from shoe.predictions.vlm.collector import NO_ITEM, Columns, Origin
from shoe.predictions.vlm.denials import refuses, says_none
from shoe.predictions.vlm.fields import Fields
from shoe.predictions.vlm.images import contains_file_name, has_own_image, image_of, is_file_name, is_image_key, plain
from shoe.predictions.vlm.items import interactions_in, pair_of
from shoe.predictions.vlm.markup import split_label, split_verdict, verdicts_in
from shoe.predictions.vlm.parsed_reply import Problem, Reading, UnreadableError
from shoe.predictions.vlm.replies import (
    Reply,
    Wrapper,
    answer_of,
    holds_box,
    is_chat,
    open_other_keys,
    open_wrapper,
    parse_json_text,
    reply_of,
)
from shoe.predictions.vlm.words import parse_pair_words

ITEMS = "a list of items with human_box, object_box, verb and object"
_MOST_KEYS = 6  # shown in a message
_MOST_KINDS = 3  # of unread replies, shown in addition to the first
_DEEPEST = 12
_BOXES = re.compile(r"[\[(<{](?:\D{0,9}\d+){4}")
_REPLIES = ANSWERS[: ANSWERS.index("answer")]
_SINGLE_ANSWERS = ANSWERS_WITH_BOXES | {"prediction", "pred"}


class Tally:
    """Counts of unreadable records and items by cause, which become notes, and the first error of each cause."""

    def __init__(self, notes: ReadNotes) -> None:
        self._notes = notes
        self._first: dict[str, UnreadableError] = {}  # by note code
        self._first_unread = ""
        self._keys: dict[str, None] = {}
        self._none: list[dict[Any, Any]] = []

    def leave_out(self, error: UnreadableError, cause: str = "", count: int = 1) -> None:
        """Count interactions left out because of an error, by ``cause`` (default: name of the field with the error)."""
        self._notes.add("left_out", cause or error.field or "item", count, first=str(error))
        self._first.setdefault("left_out", error)

    def add_failed(self, place: str, error: str) -> None:
        """Count a record with an error instead of an answer; an error of a safety filter counts as a refusal."""
        if plain(error) in REFUSALS:
            self.add_refused(place, error)
            return
        self._notes.add("failed", error)
        self._first.setdefault("failed", UnreadableError(place, "error", describe_value(error), "an answer"))

    def add_refused(self, place: str, reply: str) -> None:
        """Count a reply in which the model refuses to answer; it has no predictions."""
        self._notes.add("refused", first=reply)
        self._first.setdefault("refused", UnreadableError(place, "response", describe_value(reply), "an answer"))

    def add_unread(self, place: str, answer: Answer, *, has_cut: bool) -> None:
        """Count a reply in which nothing was read; if ``has_cut`` (it has left-out items), note no details of it."""
        if has_cut:  # the problems of its items are already noted
            self._notes.add("unread")
            return
        self._keys.update(answer.reading.keys)
        self._notes.set_examples("keys_seen", list(self._keys)[:_MOST_KEYS])
        found = "items with one box each" if answer.reading.single else describe_value(answer.raw)
        found = "points" if answer.reading.is_points or has_points(answer.reply.text) else found
        if "unread" not in self._first:
            self._first["unread"] = UnreadableError(place, "response", found, ITEMS)
            self._notes.add("unread", first=str(self._first["unread"]))
            self._first_unread = found
            return
        others = self._notes.examples("unread")
        is_new = found not in (self._first_unread, *others) and len(others) <= _MOST_KINDS
        self._notes.add("unread", found if is_new else "")

    def add_none(self, answer: Any, record: dict[Any, Any]) -> None:
        """Count a reply that states that there are no interactions; :meth:`check` seeks ground truth in its record."""
        self._none.append(record)
        in_words = isinstance(answer, str) and answer[:1].isalpha() and says_none(answer)
        self._notes.add("none", answer if in_words else "")

    def check(self, source: Source, triplets: int) -> None:
        """Raise InputError if most replies are unreadable; without any triplet, if anything is unreadable or refused.

        The message has the number of unreadable replies and the first error. InputError is also raised if all replies
        state that there are no interactions, but a record contains ground truth.
        """
        notes = self._notes
        useless = notes.count("unread") + notes.count("failed")
        is_none = not triplets and notes.count("none") == notes.replies
        for key, value in chain.from_iterable(record.items() for record in self._none if is_none):
            if is_truth(key, value) and (isinstance(value, str) or holds_box(value)):
                found = f"no interaction in any reply; the key {str(key)!r} contains ground truth, not predictions"
                raise InputError(source.path, found=found, expected=ITEMS)
        if not triplets:
            useless += notes.count("refused")
        causes = ("left_out", "unread", "failed", "refused")
        error = next((self._first[cause] for cause in causes if cause in self._first), None)
        if error is None or (triplets and 2 * useless <= notes.replies):
            return
        lines = (notes.sentence(code, brief=True) for code in ("refused", "unread", "failed"))
        raise error.to_input_error(source, "; ".join(filter(None, lines)))


class Record(msgspec.Struct):
    """One record of a file."""

    image: Any  # image name or ID as written; None if there is none
    answer: Wrapper | None  # possible answers; None if the record contains interactions directly
    outer: dict[Any, Any] = {}  # fields of the record besides the answer


def without_reference(record: dict[Any, Any]) -> dict[Any, Any]:
    """Return a record without its "answer" if another key, such as "prediction", has the reply or null.

    In VLMEvalKit, "answer" is the ground truth. From lmms-eval records (with "filtered_resps"), "target" is removed.
    Interactions under keys such as "targets" are removed beside a key of the reply.
    """
    if "filtered_resps" in record:
        record = {key: value for key, value in record.items() if key != "target"}
    if any(plain(str(key)) in _REPLIES for key in record):
        beside = {k: v for k, v in record.items() if is_truth(k, v, has_answer=True) and not is_truth(k, v)}
        data = {key: parse_json_text(value) if isinstance(value, str) else value for key, value in beside.items()}
        record = {k: v for k, v in record.items() if k not in data or not interactions_in([data[k]]).pairs}
    if "answer" not in record or not any(isinstance(record.get(key, ()), str | float | None) for key in _REPLIES):
        return record
    return {key: value for key, value in record.items() if key != "answer"}


def parse_record(record: dict[Any, Any]) -> Record:
    """Split a record into image, answer and other fields."""
    image = image_of(record)
    caption = record.get("caption", record.get("text"))
    if isinstance(record.get("entities"), list) and isinstance(caption, str):
        return Record(image, Wrapper([[caption, record["entities"]]]), record)
    keys = {plain(key): key for key in record if isinstance(key, str)}
    chat_keys = [keys[name] for name in CHATS if name in keys and is_chat(record[keys[name]])]
    boxed = [{key: value} | (value if isinstance(value, dict) else {}) for key, value in record.items()]
    has_pair = sum(any(box_of(value, key) is not None for key, value in each.items()) for each in boxed) > 1
    names = [name for name in ANSWERS if name in keys]
    answer_keys = [keys[name] for name in names if not has_pair or _is_reply(name, record[keys[name]])]
    versions = [key for key in record if is_version_of_answer(key)]
    if not outdated(tuple(key for key, value in record.items() if value)).isdisjoint(keys[name] for name in names):
        answer_keys = [*versions, *answer_keys]  # {"raw_output": "I think it is held", "extracted_answer": "ride"}
    if not has_pair:
        answer_keys = [*(key for key in record if names_prediction(key) and _is_answer(record[key])), *answer_keys]
    for key in [*answer_keys, *chat_keys]:
        wrapper = open_wrapper(record[key])
        if wrapper.answers or wrapper.error:
            wrapper.add_ending(open_other_keys(record, record))
            others = [
                k for k in record if names_prediction(key) and meaning(k).part == "phrase" and _is_answer(record[k])
            ]
            used = {key, *chat_keys, *others}  # {"caption": "A person [...] rides ...", "gpt4o": "A person [...] ..."}
            return Record(image, wrapper, {k: value for k, value in record.items() if k not in used})
    if has_pair and any(record[key] is None for key in answer_keys):
        return Record(image, Wrapper([None]), {key: value for key, value in record.items() if key not in answer_keys})
    kept = (key for key, value in record.items() if marks_truth(key, value) or not is_truth(key, value))
    candidates = {key: record[key] for key in kept if not is_prompt(key)}
    wrapper = open_other_keys(record, [key for key in candidates if holds_box(candidates[key])])
    if wrapper.error or not (has_pair or any(map(holds_box, candidates.values()))):
        is_bare = all(meaning(key).part in ("image", "width", "height") for key in record)
        if (answer_keys or is_bare) and not wrapper.answers and not wrapper.error:
            wrapper.answers.append(None)
        if wrapper.answers or wrapper.error:
            return Record(image, wrapper)
    return Record(image, None, candidates)


def _is_answer(value: Any) -> bool:
    """Return whether a value is an answer with boxes or says that there is no interaction: no name of a model."""
    is_text = isinstance(value, str)
    return holds_box(value) or (is_text and (says_none(value) or _BOXES.search(value) is not None))


def _is_reply(name: str, value: Any) -> bool:
    """Return whether a value beside two boxes is a reply, because of its key, as a model's message, or as a verdict."""
    is_message = isinstance(value[0] if isinstance(value, list) and value else value, dict) and not holds_box(value)
    answers = open_wrapper(value).answers if is_message else []
    return name in ANSWERS_WITH_BOXES or any(isinstance(each, str) for each in answers) or bool(verdicts_in(value))


def records_by_image(opened_record: Record) -> list[dict[Any, Any]]:
    """Return the records in an answer if each names its image (two or more if the outer record has one); else []."""
    answers = opened_record.answer.answers if opened_record.answer else []
    answer = answers[-1] if answers else None
    if isinstance(answer, str):
        if not contains_file_name(answer):
            return []
        data = parse_json_text(answer_of(answer))
        answer = reply_of(answer, lambda *_: 1).values if data is None else data
    while isinstance(answer, list) and len(answer) == 1:
        answer = answer[0]
    if isinstance(answer, dict) and answer and all(map(is_file_name, answer)):
        records = list(_records_of_object(answer, 0))
    else:
        items = answer if isinstance(answer, list) else [answer]
        records = [item for item in items if isinstance(item, dict) and is_file_name(image_of(item))]
        records = records if len(records) == len(items) else []
    return records if len(records) > (opened_record.image is not None) else []


def records_in(document: Any, depth: int = 0) -> Iterator[Any]:
    """Yield a document's records: items of (nested) lists, rows of a table of columns, or values of a dict by image."""
    if isinstance(document, list):
        if len(document) in (2, 3) and is_image_key(document[0]):
            yield {"image": document[0], "response": document[-1]}
            return
        for inner in document:
            if isinstance(inner, list) and depth < _DEEPEST:
                yield from records_in(inner, depth + 1)
            else:
                yield inner
    elif isinstance(document, dict):
        yield from _records_of_object(document, depth)
    else:
        yield document


def _records_of_object(document: dict[Any, Any], depth: int) -> Iterator[Any]:
    if document and all(is_image_key(key) for key in document):
        for key, value in document.items():
            yield {"image": key, **_record_of_entry(value)}
        return
    lists = {key: value for key, value in document.items() if isinstance(value, list | dict) and value}
    if image_of({k: v for k, v in document.items() if not isinstance(v, list | dict)}) is None and depth < 3:
        if rows := _rows_of_columns(document):
            yield from rows
            return
        inside = [key for key, value in lists.items() if key != "images" and _holds_records(value)]
        inside = [key for key in inside if not is_truth(key, lists[key])] or inside
        if len(inside) > 1:
            found = f"records under {', '.join(map(quote, inside))}"
            raise UnreadableError("document", None, found, "one list of predictions; leave out the others")
        if inside:
            images = [image for image in lists.get("images", ()) if isinstance(image, dict) and "id" in image]
            names = {repr(image["id"]): image.get("file_name") for image in images}
            for record in records_in(lists[inside[0]], depth + 1):
                name = names.get(repr(record.get("image_id"))) if isinstance(record, dict) else None
                yield record | {"image": name} if isinstance(name, str) else record
            return
    yield document


def _holds_records(value: Any) -> bool:
    """Return whether a list or an object with elements holds records of images."""
    if isinstance(value, dict):
        return all(map(is_image_key, value))
    first, last = (image_of(item) if isinstance(item, dict) else None for item in (value[0], value[-1]))
    are_named = None not in (first, last) and first != last and not is_chat(value)  # by any key
    return isinstance(value[0], dict) and (are_named or has_own_image(value[0]))


def _rows_of_columns(document: dict[Any, Any]) -> list[dict[Any, Any]]:
    """Return the rows of a table stored as columns (lists of equal length or dicts with equal keys); else []."""
    names: Any = document.get("columns")
    rows: Any = document.get("data")
    is_table = isinstance(names, list) and isinstance(rows, list)
    if is_table and all(isinstance(row, list) and len(row) == len(names) for row in rows):
        return [dict(zip(names, row, strict=True)) for row in rows]
    columns = {key: list(value.values()) if isinstance(value, dict) else value for key, value in document.items()}
    rows_of = {tuple(value) if isinstance(value, dict) else len(columns[key]) if isinstance(value, list) else None
             for key, value in document.items()}  # fmt: skip
    if len(rows_of) != 1 or None in rows_of:
        return []
    has_names = any(len(column) > 1 and all(map(is_file_name, column)) for column in columns.values())
    if not (has_names or has_own_image(document)):
        return []
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _record_of_entry(value: Any) -> dict[Any, Any]:
    if isinstance(value, dict) and parse_record(value).answer is not None:
        return value
    texts = value if isinstance(value, list) and value else [value]
    return {"response": value} if all(isinstance(text, str) for text in texts) else {"interactions": value}


class _StandardRecord(msgspec.Struct, forbid_unknown_fields=True):
    """An interaction in the form that shoe writes."""

    image: str | int
    human_box: tuple[float, float, float, float]
    object_box: tuple[float, float, float, float]
    verb: str
    object: str
    score: float | None = None
    width: float | None = None
    height: float | None = None


class Reader:
    """Collector of the interactions in a file's records; the notes of the file count unreadable records and items."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._notes = source.notes
        self._columns = Columns(source)
        self._tally = Tally(source.notes)
        self._images_with_reply: list[int] = []
        self._chats: list[tuple[list[Answer], Answer, Origin, dict[Any, Any], str]] = []  # earlier and last answers
        self._runs: dict[str, dict[Any, array[int]]] = {}  # record numbers, by key (such as "model") and its value
        self._outer = ReadNotes()  # of keys beside replies: most are metadata, but a verdict has two values

    def add(self, number: int, record: Any) -> None:
        """Add a record's interactions, or count an unreadable reply; UnreadableError if the record is invalid."""
        if self._add_standard(record, number):
            return
        if not isinstance(record, dict):
            raise UnreadableError(self._source.record_name(number), None, describe_value(record), "an object")
        record = without_reference(record)
        parsed_record = parse_record(record)
        if image_parts := records_by_image(parsed_record):
            for part in image_parts:
                self.add(number, part)
            return
        origin = Origin(self._columns.image(number, parsed_record.image, record), number)
        for key in RUNS & record.keys():
            values = self._runs.setdefault(key, {})
            if isinstance(record[key], str | int) and (record[key] in values or len(values) <= _MOST_KEYS):
                values.setdefault(record[key], array("q")).append(number)
        outer = {key: value for key, value in parsed_record.outer.items() if meaning(key).part != "image"}
        if parsed_record.answer is None:
            self._add_structured(origin, outer)
        else:
            for key, value in outer.items():
                is_answer = plain(str(key)) in _SINGLE_ANSWERS or is_version_of_answer(key)
                if is_answer and isinstance(value, str) and value not in parsed_record.answer.answers:
                    self._notes.add_unread(str(key), [value])
            self._add_reply(origin, parsed_record.answer, context_fields(outer), record)

    def rows(self) -> Rows:
        """Return the collected rows. Raises InputError if most replies are unreadable, or no phrase can be parsed."""
        self._add_chats()
        for error in self._columns.add_deferred():
            self._tally.leave_out(error)
        self._tally.check(self._source, len(self._columns))
        for key, values in self._runs.items():
            if 1 < len(values) <= _MOST_KEYS:
                self._notes.add("runs", key, self._columns.count_shared([*values.values()], key))
        self._notes.unread |= {key: counts for key, counts in self._outer.unread.items() if len(counts) == TWO}
        self._notes.add("several_replies", count=sum(count > 1 for count in Counter(self._images_with_reply).values()))
        return self._columns.rows()

    def _add_standard(self, record: Any, number: int) -> bool:
        """Add a record in the form that shoe writes, whose words need no parsing; return whether it has this form."""
        try:
            plain = msgspec.convert(record, _StandardRecord)
        except msgspec.ValidationError:
            return False
        words = (plain.verb, plain.object)
        is_marked = any(split_verdict(word)[1] is not None or split_label(word)[0] != word for word in words)
        if " and " in plain.verb or plain.score != plain.score or is_marked:  # a NaN is counted as unread
            return False
        origin = Origin(self._columns.image(number, plain.image, record), number, loose=False)
        self._columns.add_plain(origin, plain.verb, plain.object, plain.score, plain.human_box, plain.object_box)
        return True

    def _add_structured(self, origin: Origin, item: dict[Any, Any]) -> None:
        """Add a record without a reply. Raises UnreadableError if it is a single, unreadable interaction."""
        reading = interactions_in([item])
        if any(isinstance(value, list) and value and isinstance(value[0], dict) for value in item.values()):
            self._images_with_reply.append(origin.image)
            self._notes.replies += 1
            self._add_answer(origin, Answer(item, reading, Reply([item], [item])), item)
            return
        place, pairs = self._source.record_name(origin.record), reading.pairs
        for problem in reading.items:
            if isinstance(problem, Problem):
                raise UnreadableError(place, *problem)
        if not pairs and not reading.says_none:
            found = ", ".join(map(quote, list(reading.keys)[:_MOST_KEYS])) or "no known key"
            raise UnreadableError(place, None, found, "an interaction: two boxes, and words for the action")
        for key, value in reading.unread:
            self._notes.add_unread(key, [value])
        for key in reading.joined:
            self._notes.add("joined", key)
        for i, pair in enumerate(pairs):
            self._columns.add_pair(origin._replace(item=i if len(pairs) > 1 else NO_ITEM, loose=False), pair)

    def _add_reply(self, origin: Origin, wrapper: Wrapper, context: Fields, record: dict[Any, Any]) -> None:
        self._notes.replies += 1
        verdicts = [*verdicts_in(wrapper.answers[-1])] if wrapper.answers and context.has_words else []
        if len(verdicts) == 1 and len(context.entities) > 1:  # the answer to a yes/no question
            self._columns.add_pair(origin, pair_of(context)._replace(verdicts=(("", verdicts[0]),)))
            return
        texts = {context.keys_of[text]: text for text in context.texts}
        for key, value in (texts | context.unread | context.verdicts).items():
            self._outer.add_unread(key, [value])
        self._notes.add("cut_off", count=wrapper.is_cut)
        self._notes.add("several_answers", count=wrapper.choices > 0)
        self._images_with_reply.append(origin.image)
        place = self._source.record_name(origin.record)
        if not wrapper.answers:
            self._tally.add_failed(place, wrapper.error)
            return
        is_missing = wrapper.answers == [None] and context.has_words  # of a candidate
        if verdicts or is_missing:  # without a candidate, or unclear
            self._tally.add_unread(place, Answer(wrapper.answers[-1], Reading(), Reply()), has_cut=False)
            return
        answer = best_answer(wrapper.answers, context)
        if not any(answer.rank[:3]) and (other_answers := open_other_keys(record, ()).answers):
            answer = max(answer, best_answer(other_answers, context), key=lambda answer: answer.rank)
        if not any((words := parse_pair_words(pair)) and words.interactions for pair in answer.reading.pairs):
            from_caption = caption_interactions(answer.raw, record)
            answer = answer._replace(reading=from_caption) if from_caption.pairs else answer
        if earlier := [each for raw in wrapper.earlier if (each := best_answer([raw], context)).reading.pairs]:
            self._chats.append((earlier, answer, origin, record, wrapper.error))
        else:
            self._add_answer(origin, answer, record, wrapper.error)

    def _add_chats(self) -> None:
        """Add the last turn with interactions of each chat, or all about different boxes; others may be examples."""
        turns = {(str(turn.raw), origin.image) for earlier, _, origin, *_ in self._chats for turn in earlier}
        images = Counter(text for text, _ in turns)
        for earlier, answer, origin, record, error in self._chats:
            own = [turn for turn in earlier if images[str(turn.raw)] == 1]
            own += [answer] if answer.reading.pairs or not own else []
            if len(own) > 1 and are_parts([turn.reading.pairs for turn in own]):
                self._notes.add("joined_turns")
            else:
                self._notes.add("earlier_turns", count=any(turn.reading.pairs != own[-1].reading.pairs for turn in own))
                own = own[-1:]
            for turn in own:
                self._add_answer(origin, turn, record, error)

    def _add_answer(self, origin: Origin, answer: Answer, record: dict[Any, Any], error: str = "") -> None:
        """Add the interactions of an answer; leave out and count unreadable items."""
        left_out, denied, has_pair = self._notes.count("left_out"), self._notes.count("denied"), False
        place = self._source.record_name(origin.record)
        self._notes.add("several_answers", count=answer.others > 0 or answer.reading.replaced > 0)
        self._notes.add("fixed", count=answer.reply.damaged)
        self._notes.add("drafts", count=answer.reply.drafts > 0)
        for key, value in answer.reading.unread:
            self._notes.add_unread(key, [value])
        for key in answer.reading.joined:
            self._notes.add("joined", key)
        for i, item in enumerate(answer.reading.items):
            try:
                if isinstance(item, Problem):
                    raise UnreadableError(self._columns.place(origin._replace(item=i)), *item)
                has_pair |= self._columns.add_pair(origin._replace(item=i), item)
            except UnreadableError as unreadable:
                self._tally.leave_out(unreadable)
        if answer.reply.lost:
            incomplete = UnreadableError(place, "response", "an incomplete item", ITEMS)
            self._tally.leave_out(incomplete, "incomplete", answer.reply.lost)
        if has_pair:
            if answer.reply.values and answer.unused:
                unused = UnreadableError(place, "response", f"{answer.unused} boxes that are in no item", ITEMS)
                self._tally.leave_out(unused, "incomplete", (answer.unused + 1) // 2)
            else:
                self._notes.add("unused_boxes", count=answer.unused)
            return
        if answer.says_none or self._notes.count("denied") > denied:
            self._tally.add_none(answer.raw, record)
        elif error:
            self._tally.add_failed(place, error)
        elif isinstance(answer.raw, str) and refuses(answer.raw):
            self._tally.add_refused(place, answer.raw)
        else:
            self._tally.add_unread(place, answer, has_cut=self._notes.count("left_out") > left_out)
