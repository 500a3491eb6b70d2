"""Check errors by class, fields and values, not by the words of their messages, so that these can be reworded."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import pytest

from shoe.core.errors import InputError, OptionError

Kind = TypeVar("Kind", bound=Exception)


@contextmanager
def input_error(*values: str, **fields: str | int | None) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Expect an InputError with these values of ``source``, ``record`` or ``field``, whose message has these values."""
    with error_with(InputError, *values) as caught:
        yield caught
    assert {name: getattr(caught.value, name) for name in fields} == fields


@contextmanager
def option_error(*values: str) -> Iterator[pytest.ExceptionInfo[OptionError]]:
    with error_with(OptionError, *values) as caught:
        yield caught


@contextmanager
def error_with(kind: type[Kind], *values: str) -> Iterator[pytest.ExceptionInfo[Kind]]:
    """Expect an error of this class whose message has these values, in this order."""
    with pytest.raises(kind) as caught:
        yield caught
    assert says(str(caught.value), *values), (str(caught.value), values)


def says(text: str, *values: str) -> bool:
    """Whether a text has these values, in this order."""
    start = 0
    for value in values:
        if value not in text[start:]:
            return False
        start = text.index(value, start) + len(value)
    return True
