"""Check errors by class and fields, not by the words of their messages, so that a message can be reworded freely."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from shoe.core.errors import InputError


@contextmanager
def input_error(**fields: str | int | None) -> Iterator[pytest.ExceptionInfo[InputError]]:
    """Expect an InputError with these values of ``source``, ``record`` or ``field``."""
    with pytest.raises(InputError) as caught:
        yield caught
    assert {name: getattr(caught.value, name) for name in fields} == fields
