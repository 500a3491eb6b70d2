"""What reading a prediction file assumed, fixed or could not use: facts that belong into every report."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import msgspec
import numpy as np

from shoe.core.errors import many, quote
from shoe.core.interactions import Interactions
from shoe.predictions.boxes import Convention
from shoe.predictions.conventions import Conventions

_EXAMPLES = 3
_BY_ITSELF = "the table says"


class _Kept(msgspec.Struct):
    """What a native table keeps of how its file was read."""

    boxes: str
    scores_defaulted: int
    scores_as: str
    said: list[str]


@dataclass(slots=True)
class ReadNotes:
    """Facts about one reading, for the report.

    Attributes:
        format: name of the format that the file was read as.
        boxes: name of the box convention applied; all names, the commonest first, where triplets have several.
        boxes_of: number of triplets by the name of their convention.
        conventions: those of the triplets in the table's order; None where no convention was applied.
        sizeless: triplets left out as the size of their image is not known, their images, and the first of these.
        numbered: an image that the file names by a number, and the name that this was read as.
        images, triplets: how many the table holds.
        scores_defaulted: triplets without a score: 1 if none has one, else below all that have one.
        scales: how many given scores lie in 0..1 and how many above, where those look like another scale; else None.
        scores_as: how given scores were brought to 0..1; "" where they are as given.
        unparsed: phrases, in order of first appearance, in which no verb and object were found, and how often each
            came; in the table verb and object of these are "".
        replies: raw model replies read.
        replies_fixed: replies whose data is no clean JSON, from which complete items were kept all the same.
        replies_unread: replies that hold no interaction that can be read, and do not say that there is none.
        keys_seen: keys of their data, some of them.
        first_unread: the first of them: its record, the field, what was found and what was expected.
        unread_besides: what others of them say.
        replies_none: replies that say that there is no interaction.
        none_said: the words of those that say so in words, and how often each came.
        replies_failed: records that hold an error instead of a reply, by the error's name.
        replies_refused: replies in which the model refuses to answer.
        first_refusal: the first of them.
        images_again: images that have more than one reply.
        replies_stopped: replies that were cut off at their length limit.
        answers_besides: records with several answers that differ, of which one was read.
        drafts: replies of which only the last of several lists or drafts was read.
        denied: pairs of which a reply says that nothing happens, or not this.
        turned: relations whose subject is a thing, turned round: "bench, used by, person".
        exchanged: relations of a thing to a person, read the other way round since nearly all of the file are such.
        corners_reversed: whether all boxes had their lower right corner first.
        doubtful: phrases whose split into verb and object is not sure, with it, and how often each came.
        kept: what was to be said of the file that a native table was made from.
        scores_read: how confidences were read that are no plain numbers, and how often.
        scores_unread: confidences that could not be read, and how often each came; those triplets have none.
        items_cut: items of replies that were left out, by cause: the field that could not be read, or "incomplete".
        first_cut: the first of them: its record, the field, what was found and what was expected.
        boxes_cut: items of replies left out because a box has no area.
        first_box_cut: the first of them: its record and image.
        boxes_unused: boxes in the text of replies that stand in nothing that was read there.
        columns_unread: columns of a flat file, or keys of some of the first items of another, that were not read.
        alternatives: the first list of words for one object, among the first items.
        meant: what keys that were not read may have been meant to be; "" where nothing is missing.
        words_clipped: words longer than 200 characters, cut to that length.
        phrases: up to three phrases that were read as a (verb, object), in order of first appearance.
        columns_by_truth: columns of a Matlab file, other than the test set's, taken for the ground truth's images.
        predictor: how the predictions were made, as a file of ``shoe predict`` says.
        predictor_digest: 8 hex digits of all choices that it says they rest on; "" for other files.
    """

    format: str = ""
    boxes: str = ""
    boxes_of: dict[str, int] = field(default_factory=dict)
    conventions: Conventions | None = None
    sizeless: tuple[int, int, str] | None = None
    numbered: tuple[str, str] | None = None
    images: int = 0
    triplets: int = 0
    scores_defaulted: int = 0
    scales: tuple[int, int] | None = None
    scores_as: str = ""
    kept: list[str] = field(default_factory=list)
    unparsed: dict[str, int] = field(default_factory=dict)
    replies: int = 0
    replies_fixed: int = 0
    replies_unread: int = 0
    keys_seen: list[str] = field(default_factory=list)
    first_unread: str = ""
    unread_besides: list[str] = field(default_factory=list)
    replies_none: int = 0
    none_said: dict[str, int] = field(default_factory=dict)
    replies_failed: dict[str, int] = field(default_factory=dict)
    replies_refused: int = 0
    first_refusal: str = ""
    images_again: int = 0
    replies_stopped: int = 0
    answers_besides: int = 0
    drafts: int = 0
    denied: int = 0
    turned: int = 0
    exchanged: int = 0
    corners_reversed: bool = False
    doubtful: dict[str, int] = field(default_factory=dict)
    scores_read: dict[str, int] = field(default_factory=dict)
    scores_unread: dict[str, int] = field(default_factory=dict)
    items_cut: dict[str, int] = field(default_factory=dict)
    first_cut: str = ""
    boxes_cut: int = 0
    first_box_cut: str = ""
    boxes_unused: int = 0
    columns_unread: list[str] = field(default_factory=list)
    alternatives: list[str] = field(default_factory=list)
    meant: str = ""
    words_clipped: int = 0
    columns_by_truth: int = 0
    phrases: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    predictor: str = ""
    predictor_digest: str = ""

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

    def joined(self, others: Sequence["ReadNotes"]) -> "ReadNotes":
        """Put those of several readings together: numbers add up, of texts and conventions that differ all are kept.

        Where triplets have several box conventions, the commonest stands for all.
        """
        everything, found = [self, *others], ReadNotes()
        for each in fields(ReadNotes):
            values = [getattr(notes, each.name) for notes in everything]
            kept = [value for value in values if value]
            if isinstance(values[0], bool):
                joined: Any = all(values)
            elif isinstance(values[0], int):
                joined = sum(values)
            elif isinstance(values[0], dict):
                joined = {}
                for key, value in (item for of in values for item in of.items()):
                    joined[key] = joined[key] + value if isinstance(value, int) and key in joined else value
            elif isinstance(values[0], list):
                joined = list(dict.fromkeys(item for of in values for item in of))
            elif each.name in ("format", "boxes", "scores_as", "predictor", "predictor_digest"):
                joined = ", ".join(dict.fromkeys(kept))
            elif each.name == "scales":
                joined = tuple(map(sum, zip(*kept, strict=True))) or None
            else:
                joined = kept[0] if kept else values[0]
            setattr(found, each.name, joined)
        found.conventions = max(everything, key=lambda notes: notes.triplets).conventions
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

    def unread(self, first: str) -> list[str]:
        """Say how many replies could not be read, and how many records hold an error instead of one.

        Args:
            first: what is said of the first such reply; "" where that is said elsewhere.
        """
        lines = []
        if self.replies_unread:
            count = f"{self._replies(self.replies_unread, 'holds', 'hold')} no interaction that can be read"
            keys = f"keys seen: {', '.join(self.keys_seen)}" if self.keys_seen else ""
            more = ", ..." if len(self.unread_besides) > _EXAMPLES else ""
            besides = f"others: {', '.join(self.unread_besides[:_EXAMPLES])}{more}" if self.unread_besides else ""
            lines.append("; ".join(filter(None, (count, keys, first and f"first: {first}", first and besides))))
        if self.replies_failed:
            names = ", ".join(f"{quote(name)} ({count:,})" for name, count in self.replies_failed.items())
            count_failed = sum(self.replies_failed.values())
            failed, holds = f"{count_failed:,} of {self.replies:,} records", "holds" if count_failed == 1 else "hold"
            lines.append(f"{failed} {holds} an error instead of an answer: {names}")
        return lines

    def _replies(self, count: int, one: str, several: str) -> str:
        """The start of a sentence on some of the replies: "1 of 14 replies was", "2 of 14 replies were"."""
        return f"{count:,} of {self.replies:,} replies {one if count == 1 else several}"

    def refused(self) -> list[str]:
        """Say how many replies are refusals."""
        if not self.replies_refused:
            return []
        count = self._replies(self.replies_refused, "refuses", "refuse")
        return [f"{count} to answer, which counts as no prediction: {quote(self.first_refusal)}"]

    def urgent(self) -> list[str]:
        """Say what makes all figures doubtful: scores of two scales, most of the words or items not understood."""
        lines = []
        if self.scales is not None:
            low, high = self.scales
            lines.append(f"scores mix two scales, so that their ranking means nothing: {low:,} in 0..1, {high:,} above")
        lines += self._without_words() if 2 * sum(self.unparsed.values()) > self.triplets else []
        return lines + (self._left_out() if sum(self.items_cut.values()) > self.triplets else [])

    def _without_words(self) -> list[str]:
        if not self.unparsed:
            return []
        count = many(sum(self.unparsed.values()), "phrase")
        return [f"no verb and object found in {count}, which match nothing: {_some(list(self.unparsed))}"]

    def _left_out(self) -> list[str]:
        if not self.items_cut:
            return []
        causes = ", ".join(f"{cause} {count:,}" for cause, count in self.items_cut.items())
        return [f"{many(sum(self.items_cut.values()), 'item')} left out ({causes}); first: {self.first_cut}"]

    def lines(self) -> list[str]:
        """Say what a reader of the figures has to know, one line each, the most urgent first; none if nothing."""
        if self.kept:
            return list(self.kept)
        lines = [*self.urgent(), *self.refused()]
        if self.numbered:
            lines.append("numbers of images were read as those of their files: {} as {}".format(*self.numbered))
        if self.sizeless:
            triplets, images, first = self.sizeless
            on = f"on {many(images, 'image')} whose size is not known"
            lines.append(f"{many(triplets, 'triplet')} left out, {on}, as relative boxes need it: {first}")
        if self.images_again:
            has = "has more than one reply: its" if self.images_again == 1 else "have more than one reply: their"
            lines.append(f"{many(self.images_again, 'image')} {has} interactions are joined")
        if len(self.boxes_of) > 1:
            lines.append(f"boxes were read as {', '.join(f'{name} ({n:,})' for name, n in self.boxes_of.items())}")
        if self.scores_defaulted:
            mixed = self.scores_defaulted < self.triplets
            share = f"{self.scores_defaulted:,} of " if mixed else "any of " if self.triplets > 1 else ""
            what = "they rank below all that have one" if mixed else "1 assumed"
            meant = f" ({self.meant})" if self.meant else ""
            none = "no score, or NaN," if mixed else "no score"
            lines.append(f"{none} given for {share}{many(self.triplets, 'triplet')}: {what}{meant}")
        lines += [line for line in self._without_words() if line not in lines]
        if self.replies_fixed:
            fixed = self._replies(self.replies_fixed, "was", "were")
            lines.append(f"{fixed} not clean JSON: complete items were read")
        lines += [line for line in self._left_out() if line not in lines]
        if self.boxes_cut:
            cut = f"{many(self.boxes_cut, 'item')} left out because a box has no area"
            lines.append(f"{cut}; first: {self.first_box_cut}")
        if self.boxes_unused:
            groups = f"{many(self.boxes_unused, 'group')} of four numbers in the text of replies"
            lines.append(f"{groups}, perhaps boxes, {'is' if self.boxes_unused == 1 else 'are'} in no interaction read")
        lines += self.unread(self.first_unread)
        if self.none_said or 2 * self.replies_none > self.replies:
            said = f", in words: {_listed(self.none_said)}" if self.none_said else ""
            lines.append(f"{self._replies(self.replies_none, 'says', 'say')} that there is no interaction{said}")
        if self.replies_stopped:
            lines.append(f"{self._replies(self.replies_stopped, 'was', 'were')} cut off at the length limit")
        if self.answers_besides:
            holds = "holds" if self.answers_besides == 1 else "hold"
            others = f"{self.answers_besides:,} of {self.replies:,} records {holds} several answers"
            lines.append(f"{others}: the first choice was read, else the last answer with interactions")
        if self.drafts:
            lines.append(f"{self._replies(self.drafts, 'holds', 'hold')} several lists or drafts: the last was read")
        if self.corners_reversed:
            lines.append("all boxes have their lower right corner first: read as x1, y1, x2, y2")
        if self.exchanged:
            counts = f"{self.exchanged:,} of {self.triplets:,} relations have a thing first and a person second"
            lines.append(f"{counts}: they were read the other way round, as the person's")
        if self.turned:
            lines.append(
                f"{many(self.turned, 'relation')} turned round, as their subject is a thing and their object a person"
            )
        if self.denied:
            what = f"{many(self.denied, 'interaction')} left out because the reply denies"
            lines.append(f"{what} {'it' if self.denied == 1 else 'them'}, as in 'is not riding'")
        if self.doubtful:
            lines.append(f"{_listed(self.doubtful)} may be misread: shoe resolve --phrase tells how each is read")
        if self.scores_read:
            how = ", ".join(f"{name} ({count:,})" for name, count in self.scores_read.items())
            lines.append(f"confidences were converted: {how}")
        if self.scores_unread:
            scores, examples = sum(self.scores_unread.values()), ", ".join(list(self.scores_unread)[:_EXAMPLES])
            lines.append(f"{many(scores, 'score')} could not be read as confidences: {examples}")
        if self.columns_unread:
            what = "key" if self.format == "vlm" else "column"
            lines.append(f"{many(len(self.columns_unread), what)} not read: {_some(self.columns_unread)}")
        if self.alternatives:
            lines.append(f"a list of words as an object was read as alternatives: {_some(self.alternatives)}")
        if self.words_clipped:
            lines.append(f"{many(self.words_clipped, 'word')} longer than 200 characters cut to that")
        if self.columns_by_truth:
            lines.append(f"the file's columns are the ground truth's {self.columns_by_truth:,} images, in its order")
        if self.predictor:
            lines.append(f"made by shoe predict: {self.predictor} (sha {self.predictor_digest})")
        return lines


def _some(names: Sequence[str]) -> str:
    """Show the first few."""
    return ", ".join(map(quote, names[:_EXAMPLES])) + (", ..." if len(names) > _EXAMPLES else "")


def _listed(counts: dict[str, int]) -> str:
    """Say how many there are, and show the first few."""
    return f"{many(sum(counts.values()), 'phrase')} ({_some(list(counts))})"
