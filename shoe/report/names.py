"""Names of models that have to fit into a table and stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from shoe.core.errors import printable

_KEPT = 3
"""Characters of a shared beginning that are shown."""


def short_names(names: Sequence[str], longest: int = 40) -> list[str]:
    """Shorten names where one is too long: what all begin with is left out, then the middle; equal ones are numbered.

    >>> short_names(["runs_of_may/large_model", "runs_of_may/small_model"], 16)
    ['…large_model', '…small_model']
    >>> short_names(["a_detector_of_may", "b"], 9)
    ['a_de…_may', 'b']
    """
    shown = [printable(name, max(map(len, names))) for name in names]
    if max(map(len, shown)) > longest and len(shown) > 1:
        shared = sum(1 for _ in takewhile(lambda signs: len(set(signs)) == 1, zip(*shown, strict=False)))
        while shared and shown[0][shared - 1].isalnum():
            shared -= 1
        shown = [f"…{name[shared:]}" for name in shown] if shared > _KEPT else shown
    half = (longest - 1) // 2
    shown = [name if len(name) <= longest else f"{name[: longest - 1 - half]}…{name[-half:]}" for name in shown]
    return [f"{name} ({number})" if shown.count(name) > 1 else name for number, name in enumerate(shown, 1)]
