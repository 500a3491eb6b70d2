"""Records of the files of a prediction, one per line: detections, pairs, answers.

Boxes are x1, y1, x2, y2: edges in pixels from the top-left corner, after the rotation that EXIF data ask for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from shoe.core.errors import InputError, quote
from shoe.core.io.files import read_bytes, replacing
from shoe.core.io.json import Box, Finite, explained, parse_json
from shoe.llm.ledger_writer import locked_lines, write_all

# Files of JSON Lines: an optional first line that says how the rest was made, then one record per line.
#
# A file that grows is whole after a kill, except for a last line, which readers skip and the next writer cuts off.
# Files
# from elsewhere have no first line.

T = TypeVar("T")
VERSION = 1


def first_line(form: str, by: Mapping[str, Any], **more: Any) -> bytes:
    """Return the line that says what a file is, and by which settings its records were made."""
    return msgspec.json.encode({"format": form, "version": VERSION, **more, "by": by}) + b"\n"


def read_lines(path: str | Path, kind: type[T], form: str) -> tuple[dict[str, Any], list[T]]:
    """Read a file of lines; a last line that a kill left torn is skipped.

    Returns:
        Settings by which its records were made ({} without a first line), and the records.

    Raises:
        InputError: for a file of another form, and naming the line and field that break the type.
    """
    lines = read_bytes(path).split(b"\n")
    by: dict[str, Any] = {}
    records: list[T] = []
    decoder = msgspec.json.Decoder(kind)
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            records.append(decoder.decode(line))
        except msgspec.ValidationError as error:
            document = parse_json(path, line, number)
            if number > 1 or not isinstance(document, dict) or "format" not in document:
                raise explained(path, error, document, kind, record=f"line {number}") from None
            if document["format"] != form or document.get("version") != VERSION:
                found = f"{quote(document['format'])}, version {document.get('version')}"
                raise InputError(path, record="line 1", found=found, expected=f"{form}, version {VERSION}") from None
            by = document["by"] if isinstance(document.get("by"), dict) else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if number < len(lines):
                parse_json(path, line, number)
    return by, records


def read_made(path: str | Path, kind: type[T], form: str, by: Mapping[str, Any]) -> list[T]:
    """Read the records of a file that was made by these settings; none if a kill left nothing but its first line."""
    found, records = read_lines(path, kind, form)
    if records:
        _check_settings(path, first_line(form, found), first_line(form, by))
    return records


def write_lines(
    path: str | Path, records: Iterable[Any], form: str = "", by: Mapping[str, Any] | None = None, **more: Any
) -> None:
    """Write a file of lines as a whole, with a first line if the file has a form."""
    with replacing(path) as stream:
        if by is not None:
            stream.write(first_line(form, by, **more))
        stream.writelines(msgspec.json.encode(record) + b"\n" for record in records)


@contextmanager
def growing(path: str | Path, form: str, by: Mapping[str, Any]) -> Iterator[Callable[[msgspec.Struct], None]]:
    """Open a file of lines, new or unfinished, and yield the function that appends a record to it.

    What was appended is on the disk when the block ends.

    Raises:
        InputError: if it cannot be written, another process writes it, or it was made by other settings.
    """
    path, first = Path(path), first_line(form, by)
    with locked_lines(
        path, first, lambda line: _check_settings(path, line, first), stopping=lambda: True, say=print
    ) as handle:
        if handle is None:
            raise InputError(path, found="a file that another process writes", expected="one of our own")

        def add(record: msgspec.Struct) -> None:
            try:
                write_all(handle, msgspec.json.encode(record) + b"\n")
            except OSError as error:
                found = error.strerror or str(error)
                raise InputError(path, found=found, expected="a file that can be written to") from None

        yield add
        os.fsync(handle)


def _check_settings(path: str | Path, line: bytes, first: bytes) -> None:
    """Compare the first line of a file with the one that would be written now."""
    if line != first:
        try:
            before, now = (msgspec.json.decode(one)["by"] for one in (line, first))
            names = [name for name in now if before.get(name) != now[name]]
            shown = [f"{name} {before.get(name)}, not {now[name]}" for name in names]
        except (msgspec.DecodeError, KeyError, TypeError, AttributeError):
            shown = []
        found = ", ".join(shown[:3]) or quote(line[:60].decode("utf-8", "replace"))
        expected, hint = "a file made in the same way", "name another file, or remove this one"
        raise InputError(path, record="line 1", found=found, expected=expected, hint=hint)


Score = Annotated[float, Meta(ge=0, le=1, extra={"expected": "a number from 0 to 1"})]

_KEYS = {
    "human_box": "h_box",
    "object_box": "o_box",
    "object": "o_label",
    "human_score": "h_score",
    "object_score": "o_score",
}


class Detection(Struct, frozen=True, gc=False):
    """A box that a detector found.

    Attributes:
        box: edges in pixels.
        label: what is in it: in a file as the detector has it, once read a name of the benchmark's objects.
        score: the detector's, 0 to 1.
    """

    box: Box
    label: str
    score: Score = 1.0


class Detected(Struct, frozen=True, kw_only=True, gc=False):
    """The detections of one picture; a line of a file of detections.

    Attributes:
        image: its file name, without folders.
        digest: 32 hex digits that stand for the content of its file; "" where a file from elsewhere does not say.
        width, height: in pixels, after the rotation that EXIF data ask for; 0 where a file does not say.
        detections: those that the detector kept, in its order.
    """

    image: str
    digest: str = ""
    width: int = 0
    height: int = 0
    detections: Annotated[tuple[Detection, ...], Meta(extra={"item": "detection"})]


class Pair(Struct, frozen=True, gc=False, rename=_KEYS):
    """A person and an object of one picture, in the keys of a file of pairs.

    Attributes:
        human_box, object_box: edges in pixels.
        object: name of the object among the benchmark's.
        human_score, object_score: of the two detections, 0 to 1.
    """

    human_box: Box
    object_box: Box
    object: str
    human_score: Score = 1.0
    object_score: Score = 1.0


class Paired(Struct, frozen=True, kw_only=True, gc=False, rename={"image": "filename", "pairs": "box_pairs"}):
    """The pairs of one picture; a line of a file of pairs, as ``shoe diagnose`` reads them.

    Attributes:
        image, digest, width, height: as in :class:`Detected`.
        pairs: in the order in which they are asked about.
    """

    image: str
    digest: str = ""
    width: int = 0
    height: int = 0
    pairs: Annotated[tuple[Pair, ...], Meta(extra={"item": "pair"})]


class Alternative(Struct, frozen=True, array_like=True, gc=False):
    """A token that a model may have said at one place.

    Attributes:
        text: as it decodes.
        logprob: natural logarithm of its raw probability: before temperature, penalties and cuts.
        id: in the model's vocabulary; -1 where the endpoint does not say.
    """

    text: str
    logprob: Finite
    id: int = -1


class Token(Struct, frozen=True, array_like=True, gc=False):
    """A token that a model said.

    Attributes:
        text, logprob, id: as in :class:`Alternative`.
        top: the likeliest tokens at this place, the likeliest first; it may be among them.
    """

    text: str
    logprob: Finite
    id: int = -1
    top: tuple[Alternative, ...] = ()


class Answer(Struct, frozen=True, kw_only=True):
    """Answer of a model to one question about a pair, or about a whole picture, as read from a line of the ledger.

    Attributes:
        key: 32 hex digits that stand for all that the answer depends on: picture, boxes, prompt, model, decoding.
        image: the picture's file name.
        pair: the pair in the keys of a file of pairs; None where the whole picture was asked about.
        way: name of the way to ask, as "phrase", "yes-no", "letters".
        verb: what a question of yes or no asks about.
        options: what letters stand for, from A on.
        text: as the model wrote it, before anything reads it.
        tokens: of the text, in order, the end token among them if it was said; None where the endpoint gives none.
        finish: why the text ended: "stop", "length", or as an endpoint calls it.
    """

    key: str
    image: str
    pair: Pair | None = None
    way: str
    verb: str = ""
    options: tuple[str, ...] = ()
    text: str
    tokens: tuple[Token, ...] | None = None
    finish: str = "stop"
