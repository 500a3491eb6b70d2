"""Notes on reading a prediction file: assumptions, repairs and omissions, which every report shows."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from shoe.core.arrays import Ints, Mask
from shoe.core.errors import pluralize, printable, quote
from shoe.core.interactions import Interactions
from shoe.predictions.boxes.conventions import Convention, Conventions

_EXAMPLES = 3
TWO, _FEW, _SAMPLE, _WORDS = 2, 4, 1000, 50  # values of a key that is not read
_NATIVE_BOXES = "the table says"
_SINGULAR_PLURAL = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")

SENTENCES = {
    "two_scales": "scores mix two scales, so their ranking means nothing: {second:,} in 0..1, {count:,} outside",
    "box_ids": "box IDs seem to be off by one: they should count from 0, but no triplet of any image has the box 0",
    "other_boxes": "box IDs seem to belong to other boxes: those of {count:,} of {second:,} subject_id have another "
    "object than most: are the predictions of an image in another order than when the IDs were given?",
    "verbs_as_classes": "class IDs were read as interactions, because boxes have no category_id, but all are below "
    "{count:,}, the number of verbs: are they verbs? Their boxes then need the category_id of the object",
    "bad_fit": "boxes: of {count:,} prediction[|s] with an invalid box, {first}",
    "refused": "{of_replies} [refuses|refuse] to answer, which counts as no prediction: {quoted}",
    "numbered": "image numbers were read as the numbers in the file names: {first}",
    "sizeless": "{count:,} prediction[|s] left out, because relative boxes need the image size, "
    "which is not known for {images}: {first}",
    "several_replies": "{count:,} image[|s] [has more than one reply: its|have more than one reply: their] "
    "interactions are joined",
    "conventions": "boxes were read as {examples:counted}",
    "no_score": "no score given for {all_triplets}: score 1 assumed{suggestion}",
    "some_scores": "no score (or NaN) for {count:,} of {triplets:,} triplets: they rank below all triplets with a score"
    "{suggestion}",
    "unparsed": "no verb and object found in {count:,} phrase[|s], which match no class: {examples:some}",
    "numeric_words": "{count:,} word[|s] [is a number, which matches|are numbers, which match] no label: "
    "{examples:some}",
    "roles": "{count:,} verb[|s] [states|state] a role ({examples:some}): read as the action with this role",
    "several_verbs": "{count:,} row[|s] [lists|list] several verbs ({examples:some}): read as one triplet per verb",
    "fixed": "{of_replies} [was|were] not clean JSON: complete items were read",
    "left_out": "{count:,} item[|s] left out ({examples:causes}); first: {first}",
    "flat_boxes": "{count:,} item[|s] left out because a box has no area; first: {first}",
    "unused_boxes": "{count:,} group[|s] of four numbers in the text of replies, perhaps boxes, [belongs|belong] to "
    "no interaction that was read",
    "unread": "{of_replies} [contains|contain] no interaction that can be read{details}",
    "failed": "{of_records} [contains|contain] an error instead of an answer: {examples:quoted}",
    "none": "{of_replies} [says|say] that there is no interaction{details}",
    "unanswered": "{count:,} sample[|s] without an answer in this unfinished log [is|are] left out",
    "cut_off": "{of_replies} [was|were] cut off at the length limit",
    "several_answers": "{of_records} [contains|contain] several answers: the first choice was read, else the last "
    "answer with interactions",
    "earlier_turns": "{of_replies} [has|have] other interactions in earlier turns of the chat: only the last turn with "
    "interactions was read",
    "joined_files": "the predictions of {count:,} of {images} are in two parts of the file: does the file join two "
    "models or runs?",
    "runs": "{count:,} pair[|s] of boxes [has|have] predictions with several values of {examples:some}: does the file "
    "join models or runs?",
    "joined_turns": "{of_replies} [is|are] chats whose turns are about different boxes: the interactions of all turns "
    "were joined",
    "joined": "predictions under several keys were joined: {examples:quoted}; delete keys that hold no predictions",
    "drafts": "{of_replies} [contains|contain] several lists or drafts: the last was read",
    "reversed": "all boxes start with their lower right corner: read as x1, y1, x2, y2",
    "exchanged": "{count:,} of {triplets:,} relations have a thing as subject and a person as object: they were read "
    "with the person as subject",
    "turned": "{count:,} passive relation[|s] (as 'bench, used by, person') [was|were] read with the "
    "second box as the human box",
    "denied": "{count:,} interaction[|s] left out because the file denies [it|them]{details}",
    "no_action": "{count:,} interaction[|s] whose verb is {examples:some} [was|were] read as no_interaction",
    "doubtful": "{count:,} phrase[|s] ({examples:some}) may be misread: `shoe resolve --phrase` shows how a phrase "
    "is read",
    "scores_fit": "scores were already from 0 to 1 before the conversion {first}: is it right?",
    "scores_converted": "confidences were converted: {examples:counted}",
    "scores_unread": "{count:,} score[|s] could not be read as confidences: {examples:first}",
    "columns_unread": "{unread_keys} not read: {first}",
    "unread_verbs": "{examples:first}: not read, but [it holds|they hold] verbs: if these are the predictions, rename "
    "it to pred_verb",
    "alternatives": "a list of words as an object was read as alternatives: {examples:some}",
    "clipped": "{count:,} word[|s] longer than 200 characters [was|were] cut to 200 characters",
    "columns_by_truth": "the columns of the file are the {count:,} images of the ground truth, in the same order",
    "predictor": "made by shoe predict: {predictor} (sha {digest})",
}
"""Sentence templates by note code, in report order. Of ``[one|several]``, a count of 1 selects the first text."""


class Examples(Counter[str]):
    """Counter of example texts; f"{examples:some}" lists some of the texts, f"{examples:counted}" all with counts."""

    def __format__(self, style: str) -> str:
        if style == "some":
            return ", ".join(map(quote, list(self)[:_EXAMPLES])) + (", ..." if len(self) > _EXAMPLES else "")
        if style == "first":
            return ", ".join(list(self)[:_EXAMPLES])
        each = {"counted": "{} ({:,})", "quoted": "{} ({:,})", "causes": "{} {:,}"}[style]
        return ", ".join(each.format(quote(key) if style == "quoted" else key, count) for key, count in self.items())


def _shown(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "empty" if value is None or not text else printable(text, longest=30)


@dataclass(slots=True)
class Note:
    """A remark about reading a file, with the number of cases (such as triplets or replies) to which it applies.

    ``code`` is the key of its sentence in :data:`SENTENCES`, ``first`` a text about the first case, ``second`` the
    number at ``{second}`` in the sentence. ``examples`` counts texts that occur in the cases, such as verbs.
    """

    code: str
    count: int = 0
    first: str = ""
    second: int = 0
    examples: Examples = field(default_factory=Examples)

    def add(self, other: "Note") -> None:
        """Add the counts and examples of another note with the same code, and its ``first`` if ``self.first`` is ""."""
        self.count += other.count
        self.second += other.second
        self.first = self.first or other.first
        self.examples.update(other.examples)


class _StoredNotes(msgspec.Struct):  # the field names are part of the format of native tables
    boxes: str
    scores_defaulted: int
    scores_as: str
    said: list[str]


@dataclass(slots=True)
class ReadNotes:
    """Metadata and remarks about reading one file.

    Attributes:
        boxes: name of the box convention; all names, the most frequent first, if triplets have several conventions.
        conventions: box conventions of the triplets, in the order of the table; None if no convention was applied.
        images, triplets: numbers of images and triplets in the table.
        scores_defaulted: number of triplets without a score; they get score 1 if no triplet has one, else rank last.
        scores_as: name of the score conversion; "" if scores are unchanged.
        kept: mask of the triplets in the file, False if left out by ``bad_boxes="drop"``; None for "refuse" and .npz.
        replies: number of raw model replies.
        phrases: for each (verb, object), up to three phrases that were parsed to it, in order of first appearance.
        native_lines: for a native file (.npz), its stored report lines about the file from which it was made.
        numbering: name of the applied numbering by part, such as {"objects": "coco-0"}; empty if the file has words.
        chosen_numbering: numberings chosen by the user, such as "verbs=hico-det-1"; "" if the format decides.
        verbs_with_roles: the verbs of the file and the (n,) index of each triplet's verb, if verbs state a role.
        unread: for each ignored key or column, how often each value occurs; many values, or those after five, as "...".
        unread_words: for each ignored key or column, some of its texts.
        predictor, predictor_digest: model and settings in the first line of a file of ``shoe predict``, and the first 8
            hex digits of the SHA-256 of this line; "" for other files.
        remarks: the notes by their code.
    """

    format: str = ""
    boxes: str = ""
    triplets_by_convention: Counter[str] = field(default_factory=Counter)
    conventions: Conventions | None = None
    images: int = 0
    triplets: int = 0
    scores_defaulted: int = 0
    scores_as: str = ""
    kept: Mask | None = None
    replies: int = 0
    phrases: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    native_lines: list[str] = field(default_factory=list)
    numbering: dict[str, str] = field(default_factory=dict)
    chosen_numbering: str = ""
    verbs_with_roles: tuple[tuple[str, ...], Ints] | None = None
    unread: dict[str, Counter[Any]] = field(default_factory=dict)
    unread_words: dict[str, set[str]] = field(default_factory=dict)
    predictor: str = ""
    predictor_digest: str = ""
    remarks: dict[str, Note] = field(default_factory=dict)

    @classmethod
    def from_native(cls, table: Interactions, stored: bytes) -> "ReadNotes":
        """Return the notes of a table from a native file (.npz); ``stored`` is the JSON of the notes in the file."""
        notes = cls("native", _NATIVE_BOXES, images=len(table.images), triplets=len(table))
        with suppress(msgspec.DecodeError, UnicodeDecodeError):
            known = msgspec.json.decode(stored, type=_StoredNotes)
            notes.boxes, notes.scores_defaulted, notes.scores_as = known.boxes, known.scores_defaulted, known.scores_as
            notes.native_lines = known.said
        return notes

    def add(self, code: str, example: str = "", count: int = 1, *, first: str = "", second: int = 0) -> None:
        """Add ``count`` cases to the note with a code, with an example ("" for none); do nothing if ``count`` is 0.

        The text ``first`` is ignored if the note already has one; ``second`` is added to the note's ``second``.
        """
        if count:
            examples = Examples({example: count} if example else {})
            self.remarks.setdefault(code, Note(code)).add(Note(code, count, first, second, examples))

    def add_unread(self, key: str, values: Sequence[Any]) -> None:
        """Count the values of an ignored key or column in :attr:`unread`; lists and objects are not counted."""
        counts, words = self.unread.setdefault(key, Counter()), self.unread_words.setdefault(key, set())
        if len(words) < _WORDS:
            words.update(value for value in values[:_SAMPLE] if isinstance(value, str))
        with suppress(TypeError):
            are_few = len(values) > 1 and len(set(values[:_SAMPLE])) <= _FEW
            many = [(values[0] if len(values) == 1 else "...", len(values))]
            for value, count in Counter(values).items() if are_few else many:
                counts[value if value in counts or len(counts) <= _FEW else "..."] += count

    def set_examples(self, code: str, examples: Sequence[str]) -> None:
        """Replace the examples of a note, each with count 1; remove the note if there are none."""
        self.remarks.pop(code, None)
        for example in examples:
            self.add(code, example)

    def count(self, code: str) -> int:
        """Return the number of cases (such as triplets) to which a note applies; 0 if there is no such note."""
        return self.remarks[code].count if code in self.remarks else 0

    def examples(self, code: str) -> Mapping[str, int]:
        """Return {example: count} of a note; {} if there is no such note."""
        return self.remarks[code].examples if code in self.remarks else {}

    def merge(self, others: Sequence["ReadNotes"]) -> "ReadNotes":
        """Return the notes of several files as one: summed counts; conventions and numbering of the largest file."""
        parts = [self, *others]
        largest = max(parts, key=lambda notes: notes.triplets)
        merged = ReadNotes(conventions=largest.conventions, numbering=largest.numbering)
        for name in ("format", "boxes", "scores_as", "chosen_numbering", "predictor", "predictor_digest"):
            setattr(merged, name, ", ".join(dict.fromkeys(filter(None, (getattr(notes, name) for notes in parts)))))
        for notes in parts:
            for name in ("images", "triplets", "scores_defaulted", "replies"):
                setattr(merged, name, getattr(merged, name) + getattr(notes, name))
            merged.triplets_by_convention.update(notes.triplets_by_convention)
            merged.phrases |= notes.phrases
            merged.native_lines += [line for line in notes.native_lines if line not in merged.native_lines]
            for key, counts in notes.unread.items():
                merged.unread.setdefault(key, Counter()).update(counts)
            for code, note in notes.remarks.items():
                merged.remarks.setdefault(code, Note(code)).add(note)
        if not all(notes.count("reversed") for notes in parts):
            merged.remarks.pop("reversed", None)
        return merged

    def to_json(self) -> bytes:
        """Return the notes as the JSON that is stored in a native file (.npz)."""
        return msgspec.json.encode(_StoredNotes(self.boxes, self.scores_defaulted, self.scores_as, self.lines()))

    @property
    def scores(self) -> str:
        """Origin of the scores, for signatures: "given", "assumed" (no triplet has a score) or "partly given".

        If scores were converted, the name of the conversion replaces "given", or follows "partly given".
        """
        if self.scores_defaulted == 0:
            return self.scores_as or "given"
        partly = f"partly given, {self.scores_as}" if self.scores_as else "partly given"
        return "assumed" if self.scores_defaulted == self.triplets else partly

    @property
    def signature_fields(self) -> dict[str, str]:
        """Fields for signatures of results: "boxes" (convention), "scores" (origin), "class-ids" (chosen numbering)."""
        chosen = {"class-ids": self.chosen_numbering} if self.chosen_numbering else {}
        return {"boxes": self.boxes, "scores": self.scores, **chosen}

    def conventions_of(self, triplets: int) -> Conventions:
        """Return the box conventions of a table of ``triplets`` rows; for a part of the rows, the most frequent one."""
        known = self.conventions or Conventions((Convention(),))
        if known.index is None or len(known.index) == triplets:
            return known
        return Conventions((known.kinds[int(np.bincount(known.index).argmax())],))

    def summary(self) -> str:
        """Return one line on what was read: counts, format and box convention."""
        triplets, images = pluralize(self.triplets, "triplet"), pluralize(self.images, "image")
        return f"{triplets} in {images}, read as {self.format}, boxes as {self.boxes}"

    def sentence(self, code: str, *, brief: bool = False) -> str:
        """Return the sentence of the note with this code, or "" if there is none; if ``brief``, no reply is quoted."""
        if (note := self._notes().get(code)) is None:
            return ""
        template = _SINGULAR_PLURAL.sub(lambda forms: forms[1 if note.count == 1 else 2], SENTENCES[code])
        return template.format(
            count=note.count,
            second=note.second,
            first=note.first,
            quoted=quote(note.first),
            examples=note.examples,
            triplets=self.triplets,
            of_replies=f"{note.count:,} of {self.replies:,} replies",
            of_records=f"{note.count:,} of {self.replies:,} records",
            images=pluralize(note.second, "image"),
            all_triplets=f"{'any of ' if self.triplets > 1 else ''}{pluralize(self.triplets, 'triplet')}",
            suggestion=f" ({note.first})" if note.first else "",
            unread_keys=pluralize(len(self.unread), "key" if self.format == "vlm" else "column"),
            details=self._details(note, brief=brief),
            predictor=self.predictor,
            digest=self.predictor_digest,
        )

    def _notes(self) -> dict[str, Note]:
        notes = dict(self.remarks)
        if self.scores_defaulted:
            some = self.scores_defaulted < self.triplets
            code, hint = "some_scores" if some else "no_score", self.remarks.get("suggestion")
            notes[code] = Note(code, self.scores_defaulted, hint.first if hint else "")
        if len(self.triplets_by_convention) > 1:
            notes["conventions"] = Note("conventions", examples=Examples(self.triplets_by_convention))
        if self.unread:
            notes["columns_unread"] = Note("columns_unread", first=self._unread_text())
        if self.predictor:
            notes["predictor"] = Note("predictor")
        if "none" in notes and not notes["none"].examples and 2 * notes["none"].count <= self.replies:
            del notes["none"]  # replies without interactions are normal for images without people
        return notes

    def _unread_text(self) -> str:
        """Return the keys that are not read, with their values if these are few; keys with two values come first."""
        few = {key: counts for key, counts in self.unread.items() if 0 < len(counts) <= _FEW and "..." not in counts}
        binary = [key for key, counts in few.items() if len(counts) == TWO < counts.total()]
        shown = list(dict.fromkeys([*binary, *few, *self.unread]))[: max(len(binary), _EXAMPLES)]
        values = (", ".join(f"{_shown(value)}: {n:,}" for value, n in few.get(key, {}).items()) for key in shown)
        texts = [f"{quote(key)} ({text})" if text else quote(key) for key, text in zip(shown, values, strict=True)]
        advice = "; if one is a verdict of the model, leave out the predictions that it rejects" if binary else ""
        return ", ".join(texts + ["..."] * (len(self.unread) > len(shown))) + advice

    def _details(self, note: Note, *, brief: bool) -> str:
        """Return the end of a sentence on verdicts, or on replies without interactions; if not brief, with a reply."""
        if note.code == "denied":
            return f": no under {note.examples:quoted}" if note.examples else " ('is not riding')"
        if note.code == "none":
            count = pluralize(sum(note.examples.values()), "phrase")
            return f", in words: {count} ({note.examples:some})" if note.examples else ""
        keys = self.examples("keys_seen")
        details = f"; keys seen: {', '.join(keys)}" if keys else ""
        if note.first and not brief:
            more = ", ..." if len(note.examples) > _EXAMPLES else ""
            besides = f"; others: {note.examples:first}{more}" if note.examples else ""
            details += f"; first: {note.first}{besides}"
        return details

    def urgent(self) -> list[str]:
        """Return the sentences of notes on problems that distort all metrics, such as two score scales; [] if none."""
        codes = [
            "two_scales",
            "box_ids",
            "other_boxes",
            "verbs_as_classes",
            "bad_fit",
            *["unparsed"] * (2 * self.count("unparsed") > self.triplets),
        ]
        codes += ["earlier_turns"] + ["left_out"] * (self.count("left_out") > self.triplets)
        return [line for line in map(self.sentence, codes) if line]

    def lines(self) -> list[str]:
        """Return all notes as report lines, urgent notes first; for a native file (.npz), only its stored lines."""
        if self.native_lines:
            return [*self.native_lines]
        return [line for line in dict.fromkeys([*self.urgent(), *map(self.sentence, SENTENCES)]) if line]
