"""Errors that a user can fix: one clear line, no traceback, exit code 2.

ShoeError
├── InputError         a file or record is not what it should be
├── OptionError        an option has a value that it cannot have
├── ServiceError       a metric service cannot be reached, or refuses what was asked
└── MissingExtraError  an optional dependency is not installed
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Self

LONGEST_MESSAGE = 2000
_LONGEST_QUOTE = 80
_MOST_NAMES_LISTED = 20


class ShoeError(Exception):
    """Base of everything that a user can fix. ``str(error)`` is the whole message, always one line."""

    def __init__(self, message: str) -> None:
        super().__init__(printable(message, longest=LONGEST_MESSAGE))

    def __reduce__(self) -> tuple[object, ...]:
        return _as_it_was, (type(self), self.args, self.__dict__)  # from another process, whatever __init__ takes


def _as_it_was(kind: type[ShoeError], args: tuple[object, ...], more: dict[str, object]) -> ShoeError:
    error = kind.__new__(kind, *args)
    error.__dict__.update(more)
    return error


class InputError(ShoeError):
    """A file holds something else than it should: ``file: record: field: found X, expected Y (hint)``."""

    source: str

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
        self.source = str(source)
        where = [self.source]
        if record is not None:
            where.append(f"record {record}" if isinstance(record, int) else record)
        if field is not None:
            where.append(field)
        message = f"{': '.join(where)}: found {found}, expected {expected}"
        super().__init__(f"{message} ({hint})" if hint else message)

    def hinting(self, hint: str) -> Self:
        """The same error, with one hint more."""
        self.args = (printable(f"{self} ({hint})", longest=LONGEST_MESSAGE),)
        return self


class OptionError(ShoeError):
    """An option was given a value outside its range."""


class ServiceError(ShoeError):
    """A metric service cannot be reached, or refuses what was asked, in its own words.

    Attributes:
        status: of HTTP; None where no answer came.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


def check_kind(name: str, value: object, kind: type, source: str) -> None:
    """Refuse an argument of another kind, as a path where a table is wanted.

    Raises:
        OptionError: naming argument, kind found, and the call.
    """
    if not isinstance(value, kind):
        raise OptionError(f"{name}: found {type(value).__name__}, expected {kind.__name__}, as {source} gives it")


class MissingExtraError(ShoeError):
    """An optional dependency is missing; the message is the command that installs it."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} needs an optional dependency: pip install 'shoe-eval[{extra}]'")


def flag(name: str, value: str = "...") -> str:
    """An option as the command line and Python spell it: ``--boxes xywh (Python: boxes="xywh")``."""
    given, quoted = ("", value) if value == "..." else (f" {value}", f'"{value}"')
    return f"--{name}{given} (Python: {name}={quoted})"


def many(number: int, noun: str) -> str:
    """A count and what it counts: "1 image", "2,000 images"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def quote(value: object) -> str:
    """Show a value from a file in a message: quoted, printable, at most 80 characters."""
    return printable(repr(value), longest=_LONGEST_QUOTE)


def printable(text: str, longest: int = _LONGEST_QUOTE) -> str:
    """Make hostile text fit for one line of a terminal: no control or bidi characters, a bounded length."""
    clean = visible(text[: longest + 1].replace("\n", " "))
    return clean if len(clean) <= longest else clean[: longest - 1] + "…"


def visible(text: str) -> str:
    """Show control and bidi characters as U+FFFD, so that none acts on what stands around it."""
    return text if text.isprintable() else "".join(c if c.isprintable() else "\ufffd" for c in text)


def near(name: str, known: Iterable[str], most: int = 1, likeness: float = 0.6) -> list[str]:
    """Find the known names that a misspelt one may mean.

    Args:
        name: as the user wrote it.
        likeness: how similar they have to be, 0 to 1.

    Returns:
        Names, the most similar first.
    """
    from difflib import get_close_matches

    return get_close_matches(name, list(known), n=most, cutoff=likeness)


def meant(name: str, known: Iterable[str]) -> str | None:
    """The hint for a misspelt name: the most similar of the names there are; None where none is."""
    similar = near(name, known)
    return f"did you mean {similar[0]}?" if similar else None


def unknown_name(what: str, name: str, known: Iterable[str]) -> OptionError:
    """Build the error for a name that does not exist: the nearest valid ones, and the list of all if it is short."""
    names = sorted(known)
    is_long = len(names) > _MOST_NAMES_LISTED
    nearest = near(name.lower(), names, most=3, likeness=0.0 if is_long else 0.6)
    if is_long:
        return OptionError(f"unknown {what} {quote(name)}; nearest: {', '.join(nearest)}")
    meant = f" (did you mean {nearest[0]}?)" if nearest else ""
    return OptionError(f"unknown {what} {quote(name)}{meant}; known: {', '.join(names)}")
