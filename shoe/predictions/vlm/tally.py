"""Counts what could not be read of a file, and refuses the file where that is most of it."""

from __future__ import annotations

from typing import Any

from shoe.core.errors import InputError
from shoe.io.typed import shown
from shoe.predictions.notes import ReadNotes
from shoe.predictions.source import Source
from shoe.predictions.vlm.answers import Answer
from shoe.predictions.vlm.errors import UnreadableError
from shoe.predictions.vlm.images import plain
from shoe.predictions.vlm.marks import has_points
from shoe.predictions.vlm.replies import says_none
from shoe.predictions.vlm.wrapper_keys import REFUSALS, is_truth
from shoe.predictions.vlm.wrappers import holds_box

ITEMS = "a list of items with human_box, object_box, verb and object"
_MOST_KEYS = 6
_MOST = 3  # kinds of unread replies that are shown beside the first


class Tally:
    """What was lost on the way, by cause; the first of each cause is kept for the message."""

    def __init__(self, notes: ReadNotes) -> None:
        self._notes = notes
        self._first_cut: UnreadableError | None = None
        self._first_unread: UnreadableError | None = None
        self._first_failed: UnreadableError | None = None
        self._first_refused: UnreadableError | None = None
        self._first_said = ""
        self._keys: dict[str, None] = {}
        self._none: list[dict[Any, Any]] = []

    def cut_item(self, error: UnreadableError, cause: str = "", count: int = 1) -> None:
        """Count items that were left out."""
        self._notes.add("left_out", cause or error.field or "item", count, first=str(error))
        self._first_cut = self._first_cut or error

    def failed(self, place: str, error: str) -> None:
        """Count a record that holds an error, or that the model would not answer, instead of an answer."""
        if plain(error) in REFUSALS:
            self.refused(place, error)
            return
        self._notes.add("failed", error)
        self._first_failed = self._first_failed or UnreadableError(place, "error", shown(error), "an answer")

    def refused(self, place: str, said: str) -> None:
        """Count a reply in which the model refuses to answer: it predicts nothing."""
        self._notes.add("refused", first=said)
        self._first_refused = self._first_refused or UnreadableError(place, "response", shown(said), "an answer")

    def unread(self, place: str, answer: Answer, *, has_cut: bool) -> None:
        """Count a reply of which nothing was read and that does not say that there is nothing."""
        if has_cut:  # which is said of its items
            self._notes.add("unread")
            return
        self._keys.update(answer.reading.keys)
        self._notes.set_examples("keys_seen", list(self._keys)[:_MOST_KEYS])
        found = "items with one box each" if answer.reading.single else shown(answer.said)
        found = "points" if answer.reading.is_points or has_points(answer.reply.text) else found
        if self._first_unread is None:
            self._first_unread = UnreadableError(place, "response", found, ITEMS)
            self._notes.add("unread", first=str(self._first_unread))
            self._first_said = found
            return
        besides = self._notes.examples("unread")
        is_new = found not in (self._first_said, *besides) and len(besides) <= _MOST
        self._notes.add("unread", found if is_new else "")

    def none(self, said: Any, record: dict[Any, Any]) -> None:
        """Count a reply, and its record, that says that there is no interaction."""
        self._none.append(record)
        in_words = isinstance(said, str) and said[:1].isalpha() and says_none(said)
        self._notes.add("none", said if in_words else "")

    def check(self, source: Source, triplets: int) -> None:
        """Refuse a file most of whose replies hold nothing that can be read.

        Raises:
            InputError: saying how many, and what the first of them is.
        """
        notes = self._notes
        useless = notes.count("unread") + notes.count("failed")
        is_none = not triplets and notes.count("none") == notes.replies
        if is_none and (truth := next(filter(None, map(_truth_key, self._none)), "")):
            found = f"no interaction in any reply; what stands under {truth!r} is ground truth, not predictions"
            raise InputError(source.path, found=found, expected=ITEMS)
        if not triplets:
            useless += notes.count("refused")
        error = self._first_cut or self._first_unread or self._first_failed or self._first_refused
        if error is None or (triplets and 2 * useless <= notes.replies):
            return
        lines = (notes.sentence(code, brief=True) for code in ("refused", "unread", "failed"))
        raise error.for_user(source, "; ".join(filter(None, lines)))


def _truth_key(record: dict[Any, Any]) -> str:
    """The key of a record that holds what would be right; "" if there is none."""
    held = (key for key, value in record.items() if is_truth(key, value))
    return next((str(key) for key in held if isinstance(record[key], str) or holds_box(record[key])), "")
