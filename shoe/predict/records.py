"""Records of detections, pairs and answers, and the JSON Lines files that hold them.

Boxes are (x1, y1, x2, y2) in pixels from the top-left corner, after the EXIF rotation.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

import msgspec
from msgspec import Meta, Struct

from shoe.core.errors import InputError, quote
from shoe.core.io.files import atomic_write, os_errors, read_bytes
from shoe.core.io.json import Box, Finite, explain_error, parse_json
from shoe.llm.errors import REFUSALS, text_of
from shoe.llm.ledger import check_first_line
from shoe.llm.ledger_writer import locked_lines, write_all

# The optional first line holds the format and the settings. A killed process leaves at most an incomplete last line,
# which readers skip and the next writer cuts off.

T = TypeVar("T")
VERSION = 1


def first_line(form: str, by: Mapping[str, Any], **more: Any) -> bytes:
    """Return the first line of a file, as JSON: format name ``form``, settings ``by`` of the records, and ``more``."""
    return msgspec.json.encode({"format": form, "version": VERSION, **more, "by": by}) + b"\n"


def read_lines(path: str | Path, kind: type[T], form: str) -> tuple[dict[str, Any], list[T]]:
    """Return (settings in the first line or {}, records of type ``kind``) of a JSON Lines file.

    An incomplete last line is skipped. Raise InputError for another format, or a line that is not a valid record.
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
                raise explain_error(path, error, document, kind, record=f"line {number}") from None
            if document["format"] != form or document.get("version") != VERSION:
                found = f"{quote(document['format'])}, version {document.get('version')}"
                raise InputError(path, record="line 1", found=found, expected=f"{form}, version {VERSION}") from None
            by = document["by"] if isinstance(document.get("by"), dict) else {}
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            if number < len(lines):
                parse_json(path, line, number)
    return by, records


def read_with_settings(path: str | Path, kind: type[T], form: str, by: Mapping[str, Any]) -> list[T]:
    """Return the records in a file; raise InputError if they were made with other settings than ``by``."""
    found, records = read_lines(path, kind, form)
    if records:
        _check_settings(path, first_line(form, found), first_line(form, by))
    return records


def write_lines(
    path: str | Path, records: Iterable[Any], form: str = "", by: Mapping[str, Any] | None = None, **more: Any
) -> None:
    """Write records to a JSON Lines file, with a :func:`first_line` if ``by`` is given."""
    with atomic_write(path) as stream:
        if by is not None:
            stream.write(first_line(form, by, **more))
        stream.writelines(msgspec.json.encode(record) + b"\n" for record in records)


@contextmanager
def appender(path: str | Path, form: str, by: Mapping[str, Any]) -> Iterator[Callable[[msgspec.Struct], None]]:
    """Open a new or unfinished JSON Lines file, and yield a function that appends a record.

    The file is flushed to disk at the end of the ``with`` block. ``form`` and ``by`` are as in :func:`first_line`.
    Raise InputError if the file cannot be written, is being written by another process, or has other settings.
    """
    path, first = Path(path), first_line(form, by)
    with locked_lines(path, first, lambda line: _check_settings(path, line, first), lambda: True, print) as handle:
        if handle is None:
            found = "a file that another process is writing"
            raise InputError(path, found=found, expected="a file used only by this run")

        def add(record: msgspec.Struct) -> None:
            with os_errors(path, "a writable file"):
                write_all(handle, msgspec.json.encode(record) + b"\n")

        yield add
        os.fsync(handle)


def _check_settings(path: str | Path, line: bytes, first: bytes) -> None:
    hint = "choose another file name, or delete this file"
    check_first_line(path, line, first, "by", "a file made with the same settings", hint, most=3)


Score = Annotated[float, Meta(ge=0, le=1, extra={"expected": "a number from 0 to 1"})]

_KEYS = {
    "human_box": "h_box",
    "object_box": "o_box",
    "object": "o_label",
    "human_score": "h_score",
    "object_score": "o_score",
}


class Detection(Struct, frozen=True, gc=False):
    """Box with label and score. In files, labels are the detector's; reading maps them to objects of the benchmark."""

    box: Box
    label: str
    score: Score = 1.0


class Detected(Struct, frozen=True, kw_only=True, gc=False):
    """Detections in one image (file name without folders), as in one line of a file of detections.

    ``digest`` is a hash of the image file, "" if unknown; the size is in pixels after the EXIF rotation, 0 if unknown.
    """

    image: str
    digest: str = ""
    width: int = 0
    height: int = 0
    detections: Annotated[tuple[Detection, ...], Meta(extra={"item": "detection"})]


class Pair(Struct, frozen=True, gc=False, rename=_KEYS):
    """Pair of a person and an object in one image; in JSON with the keys of a file of pairs, such as "h_box"."""

    human_box: Box
    object_box: Box
    object: str
    human_score: Score = 1.0
    object_score: Score = 1.0


class Paired(Struct, frozen=True, kw_only=True, gc=False, rename={"image": "filename", "pairs": "box_pairs"}):
    """Pairs in one image, in the order of their questions, as in one line of a file of pairs for ``shoe diagnose``."""

    image: str
    digest: str = ""
    width: int = 0
    height: int = 0
    pairs: Annotated[tuple[Pair, ...], Meta(extra={"item": "pair"})]


class Token(Struct, frozen=True, array_like=True, gc=False):
    """Generated or possible token of an answer; ``top`` are the likeliest tokens at the position of a generated token.

    ``logprob`` is the natural logarithm of the raw probability, before temperature, penalties and truncation, and
    ``id`` the index in the model's vocabulary, -1 if unknown.
    """

    text: str
    logprob: Finite
    id: int = -1
    top: "tuple[Token, ...]" = ()


class Answer(Struct, frozen=True, kw_only=True):
    """Answer of a model to one question about a pair or a whole image, as read from an answer file."""

    key: str  # hash of image, boxes, prompt, model and decoding settings, as 32 hex digits
    image: str
    pair: Pair | None = None  # pair about which the question is asked; None for a question about the whole image
    way: str  # kind of question: "phrase", "yes-no", "letters" or "image"
    verb: str = ""  # verb in a yes-no question; "" for other questions
    options: tuple[str, ...] = ()  # verbs in a question with letters, in the order of the letters A, B, ...
    text: str
    # Generated tokens, possibly with the end token; None if the endpoint returns no token probabilities.
    tokens: tuple[Token, ...] | None = None
    finish: str = "stop"  # reason why the text ended: "stop", "length", or another word from the endpoint


# Answers as chat completions

REFUSED = "refused"
LEAST = -9999.0  # log probability that stands for a probability of 0, as in the responses of endpoints


class GeneratedText(NamedTuple):
    """Text of an answer, its tokens (None if unknown), and the reason why the text ended ("stop", "length", ...)."""

    text: str
    tokens: tuple[Token, ...] | None
    finish: str


def completion(answer: GeneratedText, prompt_tokens: int) -> dict[str, Any]:
    """Return an answer as a chat completion in the format of OpenAI. Tokens have an additional ``id``."""
    tokens = answer.tokens or ()
    content = [{**_token_json(token), "top_logprobs": [_token_json(other) for other in token.top]} for token in tokens]
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": answer.text},
        "logprobs": None if answer.tokens is None else {"content": content},
        "finish_reason": answer.finish,
    }
    usage = {"prompt_tokens": prompt_tokens, "completion_tokens": len(tokens)}
    return {"object": "chat.completion", "choices": [choice], "usage": usage}


def read_completion(raw: Mapping[str, Any]) -> GeneratedText:
    """Return the text and tokens of the first choice in a chat completion: "" for missing text, None without tokens.

    A refusal, also by a content filter, has no tokens and the finish "refused".
    """
    choices, error = raw.get("choices"), raw.get("error")
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message: Mapping[str, Any] = choice["message"] if isinstance(choice.get("message"), dict) else {}
    is_filtered = isinstance(error, dict) and error.get("code") in REFUSALS
    if choice.get("finish_reason") == "content_filter" or message.get("refusal") or is_filtered:
        return GeneratedText(text_of(message.get("refusal")), None, REFUSED)
    match choice.get("logprobs"):
        case {"content": list(items)}:
            parsed = [_token(item) for item in items]
        case _:
            parsed = []
    tokens = tuple(token for token in parsed if token is not None)
    is_complete = bool(tokens) and len(tokens) == len(parsed)
    finish = str(choice.get("finish_reason") or "stop")
    return GeneratedText(text_of(message.get("content")), tokens if is_complete else None, finish)


def _token_json(token: Token) -> dict[str, Any]:
    number = {} if token.id < 0 else {"id": token.id}
    return {"token": token.text, "logprob": token.logprob, **number}


def _token(item: Any) -> Token | None:
    if not isinstance(item, dict) or not isinstance(text := item.get("token"), str):
        return None
    logprob, number, top = item.get("logprob"), item.get("id", -1), item.get("top_logprobs")
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        return None
    known = tuple([token for other in top if (token := _token(other)) is not None]) if isinstance(top, list) else ()
    return Token(text, max(float(logprob), LEAST), number if isinstance(number, int) else -1, known)
