"""Notes on reading a prediction file: what was assumed, repaired or left out, for every report."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
import numpy as np

from shoe.core.errors import many, quote
from shoe.core.interactions import Interactions
from shoe.predictions.boxes.conventions import Convention, Conventions

_EXAMPLES = 3
_BY_ITSELF = "the table says"
_EITHER = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")

SENTENCES = {
    "two_scales": "scores mix two scales, so that their ranking means nothing: {of:,} in 0..1, {count:,} above",
    "refused": "{of_replies} [refuses|refuse] to answer, which counts as no prediction: {quoted}",
    "numbered": "numbers of images were read as those of their files: {first}",
    "sizeless": "{count:,} triplet[|s] left out, on {images} whose size is not known, as relative boxes "
    "need it: {first}",
    "several_replies": "{count:,} image[|s] [has more than one reply: its|have more than one reply: their] "
    "interactions are joined",
    "conventions": "boxes were read as {examples:counted}",
    "no_score": "no score given for {all_triplets}: 1 assumed{meant}",
    "some_scores": "no score, or NaN, given for {count:,} of {triplets:,} triplets: they rank below all that have one"
    "{meant}",
    "unparsed": "no verb and object found in {count:,} phrase[|s], which match nothing: {examples:some}",
    "fixed": "{of_replies} [was|were] not clean JSON: complete items were read",
    "left_out": "{count:,} item[|s] left out ({examples:causes}); first: {first}",
    "flat_boxes": "{count:,} item[|s] left out because a box has no area; first: {first}",
    "unused_boxes": "{count:,} group[|s] of four numbers in the text of replies, perhaps boxes, [is|are] in no "
    "interaction read",
    "unread": "{of_replies} [holds|hold] no interaction that can be read{details}",
    "failed": "{of_records} [holds|hold] an error instead of an answer: {examples:quoted}",
    "none": "{of_replies} [says|say] that there is no interaction{details}",
    "cut_off": "{of_replies} [was|were] cut off at the length limit",
    "several_answers": "{of_records} [holds|hold] several answers: the first choice was read, else the last answer "
    "with interactions",
    "drafts": "{of_replies} [holds|hold] several lists or drafts: the last was read",
    "reversed": "all boxes have their lower right corner first: read as x1, y1, x2, y2",
    "exchanged": "{count:,} of {triplets:,} relations have a thing first and a person second: they were read the other "
    "way round, as the person's",
    "turned": "{count:,} relation[|s] turned round, as their subject is a thing and their object a person",
    "denied": "{count:,} interaction[|s] left out because the reply denies [it|them], as in 'is not riding'",
    "doubtful": "{count:,} phrase[|s] ({examples:some}) may be misread: shoe resolve --phrase tells how each is read",
    "scores_converted": "confidences were converted: {examples:counted}",
    "scores_unread": "{count:,} score[|s] could not be read as confidences: {examples:first}",
    "columns_unread": "{unread_columns} not read: {examples:some}",
    "alternatives": "a list of words as an object was read as alternatives: {examples:some}",
    "clipped": "{count:,} word[|s] longer than 200 characters cut to that",
    "columns_by_truth": "the file's columns are the ground truth's {count:,} images, in its order",
    "predictor": "made by shoe predict: {predictor} (sha {digest})",
}
"""The sentence of each note, in the order of reports; of ``[one|several]`` the first is for a count of 1."""


class Examples(dict[str, int]):
    """What a note is about, in order of first appearance, and how often each came; a format names how to show it."""

    def __format__(self, style: str) -> str:
        if style == "some":
            return ", ".join(map(quote, list(self)[:_EXAMPLES])) + (", ..." if len(self) > _EXAMPLES else "")
        if style == "first":
            return ", ".join(list(self)[:_EXAMPLES])
        each = {"counted": "{} ({:,})", "quoted": "{} ({:,})", "causes": "{} {:,}"}[style]
        return ", ".join(each.format(quote(key) if style == "quoted" else key, count) for key, count in self.items())


@dataclass(slots=True)
class Note:
    """One kind of remark on a reading.

    Attributes:
        code: key of :data:`SENTENCES`.
        count: how often it applies.
        first: text of the first case.
        of: second number, if the sentence has one.
        examples: the cases and how often each came.
    """

    code: str
    count: int = 0
    first: str = ""
    of: int = 0
    examples: Examples = field(default_factory=Examples)

    def add(self, other: "Note") -> None:
        """Add the counts and examples of another note of the same code; the first text stays."""
        self.count, self.of, self.first = self.count + other.count, self.of + other.of, self.first or other.first
        for example, count in other.examples.items():
            self.examples[example] = self.examples.get(example, 0) + count


class _Kept(msgspec.Struct):
    """What a native table keeps of how its file was read."""

    boxes: str
    scores_defaulted: int
    scores_as: str
    said: list[str]


@dataclass(slots=True)
class ReadNotes:
    """Facts and remarks about one reading, for the report.

    Attributes:
        format: name of the format that the file was read as.
        boxes: name of the box convention applied; all names, the commonest first, where triplets have several.
        boxes_of: number of triplets by the name of their convention.
        conventions: those of the triplets in the table's order; None where no convention was applied.
        images, triplets: how many the table holds.
        scores_defaulted: triplets without a score: 1 if none has one, else below all that have one.
        scores_as: how given scores were brought to 0..1; "" where they are as given.
        replies: raw model replies read.
        phrases: up to three phrases that were read as a (verb, object), in order of first appearance.
        kept: what was to be said of the file that a native table was made from.
        predictor: how the predictions were made, as a file of ``shoe predict`` says.
        predictor_digest: 8 hex digits of all choices that it says they rest on; "" for other files.
        remarks: the notes, by their code.
    """

    format: str = ""
    boxes: str = ""
    boxes_of: dict[str, int] = field(default_factory=dict)
    conventions: Conventions | None = None
    images: int = 0
    triplets: int = 0
    scores_defaulted: int = 0
    scores_as: str = ""
    replies: int = 0
    phrases: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    kept: list[str] = field(default_factory=list)
    predictor: str = ""
    predictor_digest: str = ""
    remarks: dict[str, Note] = field(default_factory=dict)

    @classmethod
    def of_native(cls, table: Interactions, kept: bytes) -> "ReadNotes":
        """Those of a native table, with what it keeps of the file that it was made from."""
        try:
            read = msgspec.json.decode(kept, type=_Kept)
        except (msgspec.DecodeError, UnicodeDecodeError):
            read = _Kept(_BY_ITSELF, 0, "", [])
        return cls(
            "native",
            read.boxes,
            images=len(table.images),
            triplets=len(table),
            scores_defaulted=read.scores_defaulted,
            scores_as=read.scores_as,
            kept=read.said,
        )

    def add(self, code: str, example: str = "", count: int = 1, *, first: str = "", of: int = 0) -> None:
        """Count cases of a note; nothing for a count of 0.

        Args:
            code: key of :data:`SENTENCES`.
            example: what the cases are, if the sentence lists them.
            count: number of cases.
            first: text that the sentence shows if these are its first cases.
            of: second number, if the sentence has one.
        """
        if count:
            examples = Examples({example: count} if example else {})
            self.remarks.setdefault(code, Note(code)).add(Note(code, count, first, of, examples))

    def set_examples(self, code: str, examples: Sequence[str]) -> None:
        """Set the examples of a note, each counted once; without any there is no note."""
        self.remarks.pop(code, None)
        for example in examples:
            self.add(code, example)

    def count(self, code: str) -> int:
        """How many cases of a note there are."""
        return self.remarks[code].count if code in self.remarks else 0

    def examples(self, code: str) -> Mapping[str, int]:
        """The examples of a note, and how often each came."""
        return self.remarks[code].examples if code in self.remarks else {}

    def joined(self, others: Sequence["ReadNotes"]) -> "ReadNotes":
        """Put those of several readings together: numbers add up, of texts and conventions that differ all are kept.

        Where triplets have several box conventions, the commonest stands for all.
        """
        everything = [self, *others]
        found = ReadNotes(conventions=max(everything, key=lambda notes: notes.triplets).conventions)
        for name in ("format", "boxes", "scores_as", "predictor", "predictor_digest"):
            setattr(found, name, ", ".join(dict.fromkeys(filter(None, (getattr(notes, name) for notes in everything)))))
        for notes in everything:
            for name in ("images", "triplets", "scores_defaulted", "replies"):
                setattr(found, name, getattr(found, name) + getattr(notes, name))
            for convention, count in notes.boxes_of.items():
                found.boxes_of[convention] = found.boxes_of.get(convention, 0) + count
            found.phrases |= notes.phrases
            found.kept += [line for line in notes.kept if line not in found.kept]
            for code, note in notes.remarks.items():
                found.remarks.setdefault(code, Note(code)).add(note)
        if not all(notes.count("reversed") for notes in everything):
            found.remarks.pop("reversed", None)
        return found

    def to_keep(self) -> bytes:
        """What a native table keeps of them."""
        return msgspec.json.encode(_Kept(self.boxes, self.scores_defaulted, self.scores_as, self.lines()))

    @property
    def scores(self) -> str:
        """Say where the scores came from, for a signature: "given", "assumed" (none was), or "partly given".

        In place of "given" the name of the way by which they were brought to 0..1.
        """
        if self.scores_defaulted == 0:
            return self.scores_as or "given"
        if self.scores_defaulted == self.triplets:
            return "assumed"
        return f"partly given, {self.scores_as}" if self.scores_as else "partly given"

    @property
    def facts(self) -> dict[str, str]:
        """What of the reading stands in a signature."""
        return {"boxes": self.boxes, "scores": self.scores}

    def applied(self, triplets: int) -> Conventions:
        """Return the conventions of a table's triplets; of one that was cut since it was read, the commonest."""
        known = self.conventions or Conventions((Convention(),))
        if known.of is None or len(known.of) == triplets:
            return known
        return Conventions((known.kinds[int(np.bincount(known.of).argmax())],))

    def summary(self) -> str:
        """Say in one line what was read, and how."""
        counted = f"{many(self.triplets, 'triplet')} in {many(self.images, 'image')}"
        return f"{counted}, read as {self.format}, boxes as {self.boxes}"

    def sentence(self, code: str, *, brief: bool = False) -> str:
        """What reports say of a note, "" if there is none; in brief without the first of the replies."""
        if (note := self._notes().get(code)) is None:
            return ""
        template = _EITHER.sub(lambda forms: forms[1 if note.count == 1 else 2], SENTENCES[code])
        column = "key" if self.format == "vlm" else "column"
        return template.format(
            count=note.count,
            of=note.of,
            first=note.first,
            quoted=quote(note.first),
            examples=note.examples,
            triplets=self.triplets,
            of_replies=f"{note.count:,} of {self.replies:,} replies",
            of_records=f"{note.count:,} of {self.replies:,} records",
            images=many(note.of, "image"),
            all_triplets=f"{'any of ' if self.triplets > 1 else ''}{many(self.triplets, 'triplet')}",
            meant=f" ({note.first})" if note.first else "",
            unread_columns=many(len(note.examples), column),
            details=self._details(note, brief=brief),
            predictor=self.predictor,
            digest=self.predictor_digest,
        )

    def _notes(self) -> dict[str, Note]:
        """All notes, those included that follow from the facts."""
        notes = dict(self.remarks)
        if self.scores_defaulted:
            some = self.scores_defaulted < self.triplets
            code, meant = "some_scores" if some else "no_score", self.remarks.get("meant")
            notes[code] = Note(code, self.scores_defaulted, meant.first if meant else "")
        if len(self.boxes_of) > 1:
            notes["conventions"] = Note("conventions", examples=Examples(self.boxes_of))
        if self.predictor:
            notes["predictor"] = Note("predictor")
        if "none" in notes and not notes["none"].examples and 2 * notes["none"].count <= self.replies:
            del notes["none"]  # the images that have nobody in them are no news
        return notes

    def _details(self, note: Note, *, brief: bool) -> str:
        """What the sentences on replies that hold no interaction, or say so, add."""
        if note.code == "none":
            count = many(sum(note.examples.values()), "phrase")
            return f", in words: {count} ({note.examples:some})" if note.examples else ""
        keys = self.examples("keys_seen")
        details = f"; keys seen: {', '.join(keys)}" if keys else ""
        if note.first and not brief:
            more = ", ..." if len(note.examples) > _EXAMPLES else ""
            besides = f"; others: {note.examples:first}{more}" if note.examples else ""
            details += f"; first: {note.first}{besides}"
        return details

    def urgent(self) -> list[str]:
        """Say what makes all figures doubtful: scores of two scales, most of the words or items not understood."""
        lines = [self.sentence("two_scales")]
        lines += [self.sentence("unparsed")] if 2 * self.count("unparsed") > self.triplets else []
        lines += [self.sentence("left_out")] if self.count("left_out") > self.triplets else []
        return [line for line in lines if line]

    def lines(self) -> list[str]:
        """Say what a reader of the figures has to know, one line each, the most urgent first; none if nothing."""
        if self.kept:
            return [*self.kept]
        return [line for line in dict.fromkeys([*self.urgent(), *map(self.sentence, SENTENCES)]) if line]
