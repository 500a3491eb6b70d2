"""A record or an item that breaks the format."""

from __future__ import annotations

from dataclasses import dataclass

from shoe.core.errors import InputError, printable
from shoe.predictions.source import Source


@dataclass(eq=False)
class UnreadableError(Exception):
    """A record or item that breaks the format: where, and the parts of the message."""

    place: str
    field: str | None
    found: str
    expected: str

    def __str__(self) -> str:
        where = [self.place, self.field] if self.field else [self.place]
        return printable(f"{': '.join(where)}: found {self.found}, expected {self.expected}", longest=300)

    def for_user(self, source: Source, hint: str | None = None) -> InputError:
        """The error that the user reads."""
        return InputError(
            source.path, record=self.place, field=self.field, found=self.found, expected=self.expected, hint=hint
        )
