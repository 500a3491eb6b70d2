"""What tests of readers share: files of a few records, words of triplets, codes of notes."""

import json
from pathlib import Path
from typing import Any

from shoe.core.interactions import Interactions
from shoe.predictions import ReadNotes, read_predictions, read_predictions_with_notes
from shoe.predictions.notes import SENTENCES


def write_lines(path: Path, *records: object) -> Path:
    """Write each record as a line of JSON, compact as our own files are."""
    path.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))
    return path


def read_lines(folder: Path, *records: object, **options: Any) -> tuple[Interactions, ReadNotes]:
    return read_predictions_with_notes(write_lines(folder / "lines", *records), **options)


def read_reply(folder: Path, reply: Any, **record: Any) -> Interactions:
    """Return the triplets of a file with one record, whose response is a text or a document."""
    return read_predictions(write_lines(folder / "reply", {"image": "a.jpg", "response": reply} | record))


def read_replies(folder: Path, *replies: object, **options: Any) -> tuple[Interactions, ReadNotes]:
    """Read one reply on each of the images 0.jpg, 1.jpg, ..."""
    return read_lines(folder, *({"image": f"{i}.jpg", "response": reply} for i, reply in enumerate(replies)), **options)


def words(table: Interactions) -> list[tuple[str, str]]:
    """Return the verb and the object of each triplet."""
    return [(table.verbs[v], table.objects[o]) for v, o in zip(table.verb, table.object, strict=True)]


def boxes(table: Interactions) -> tuple[list[list[float]], list[list[float]]]:
    return table.human_boxes.tolist(), table.object_boxes.tolist()


def codes(notes: ReadNotes) -> list[str]:
    """Return the code of each line that a report shows, in the same order."""
    of_line = {notes.sentence(code): code for code in SENTENCES}
    return [of_line[line] for line in notes.lines()]


def missing(text: str, *values: str) -> list[str]:
    """Return the values that a text does not show."""
    return [value for value in values if value not in text]
