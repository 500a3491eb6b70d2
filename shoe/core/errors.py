"""Errors that a user can fix, and helpers for their messages. Commands print one line and exit with code 2."""

from collections.abc import Iterable
from pathlib import Path
from typing import Self

LONGEST_MESSAGE = 2000
_LONGEST_QUOTE = 80
_MOST_NAMES_LISTED = 20


class ShoeError(Exception):
    """Base class of errors that a user can fix. ``str(error)`` is the message: one line of at most 2,000 characters."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message, longest=LONGEST_MESSAGE))

    def __reduce__(self) -> tuple[object, ...]:  # subclasses have constructors with other parameters
        return _unpickled, (type(self), self.args, self.__dict__)


def _unpickled(kind: type[ShoeError], args: tuple[object, ...], attributes: dict[str, object]) -> ShoeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(attributes)
    return error


class InputWarning(UserWarning):
    """Warning that metrics may be wrong because of the input; the report contains the same text."""


class InputError(ShoeError):
    """Invalid content of a file or argument: ``file: record: field: found X, expected Y (hint)``.

    Attributes:
        source: path of the file, or name of the argument.
        record: name of the record in the file, or its index from 0; None for the whole file.
        field: name of the field in the record; None for the whole record.
    """

    def __init__(
        self,
        source: str | Path,
        *,
        found: str,
        expected: str,
        record: str | int | None = None,
        field: str | None = None,
        hint: str | None = None,
    ) -> None:
        self.source, self.record, self.field = str(source), record, field
        where = [self.source]
        if record is not None:
            where.append(f"record {record + 1}" if isinstance(record, int) else record)
        if field is not None:
            where.append(field)
        message = f"{': '.join(where)}: found {found}, expected {expected}"
        super().__init__(f"{message} ({hint})" if hint else message)

    def hinting(self, hint: str) -> Self:
        """Append a hint to the message of this error, and return the error."""
        self.args = (printable(f"{self} ({hint})", longest=LONGEST_MESSAGE),)
        return self


class OptionError(ShoeError):
    """Invalid value of an option or argument."""


class ServiceError(ShoeError):
    """A request to an evaluation server has failed: no connection, a refusal, a failed run, or a time limit.

    ``status`` is the HTTP status code; None if there was no response.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def check_kind(name: str, value: object, kind: type, source: str) -> None:
    """Raise OptionError unless the argument is a ``kind``; ``source`` is a call that returns such an object."""
    if not isinstance(value, kind):
        raise OptionError(f"{name}: found {type(value).__name__}, expected {kind.__name__}, as returned by {source}")


class MissingExtraError(ShoeError):
    """An optional dependency is not installed; the message gives the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'shoe-eval[{extra}]'")


def flag(name: str, value: str = "...") -> str:
    """Return an option for messages: ``--boxes xywh (Python: boxes="xywh")``, or ``--boxes (Python: boxes=...)``."""
    argument, quoted = ("", value) if value == "..." else (f" {value}", f'"{value}"')
    return f"--{name}{argument} (Python: {name}={quoted})"


def pluralize(number: int, noun: str) -> str:
    """Return a count with its noun in singular or plural: "1 image", "2,000 images"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quote(value: object) -> str:
    """Return the ``repr`` of a value for messages: printable, at most 80 characters."""
    return printable(repr(value), longest=_LONGEST_QUOTE)


def printable(text: str, longest: int = _LONGEST_QUOTE) -> str:
    """Return text as one line, cut to ``longest`` characters with "…"; control and bidi characters become U+FFFD."""
    clean = visible(text[: longest + 1].replace("\n", " "))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def visible(text: str) -> str:
    """Return text with each control character, line break and bidi character replaced by U+FFFD for a safe display."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def closest_names(name: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> list[str]:
    """Return at most ``most`` of the ``known`` names, by similarity to ``name`` of at least ``likeness`` (0 to 1)."""
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=most, cutoff=likeness)


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return the hint "did you mean NAME?" with the most similar ``known`` name; None if no known name is similar."""
    similar = closest_names(name, known)
    return f"did you mean {similar[0]}?" if similar else None


def unknown_name(noun: str, name: str, known: Iterable[str]) -> OptionError:
    """Return the error "unknown NOUN NAME" with all ``known`` names or, if there are over 20, the 3 most similar."""
    names = sorted(known)
    is_long = len(names) > _MOST_NAMES_LISTED
    nearest = closest_names(name.lower(), names, most=3, likeness=0.0 if is_long else 0.6)
    if is_long:
        return OptionError(f"unknown {noun} {quote(name)}; nearest: {', '.join(nearest)}")
    suggestion = f" (did you mean {nearest[0]}?)" if nearest else ""
    return OptionError(f"unknown {noun} {quote(name)}{suggestion}; known: {', '.join(names)}")
