"""Names of models that have to fit into a table and stay apart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

from shoe.core.errors import printable


def short_names(names: Sequence[str], longest: int = 40) -> list[str]:
    """Shorten names where one is too long: by what all begin with, then in the middle; equal ones are numbered.

    >>> short_names(["runs/may/large", "runs/may/small"], 12)
    ['…may/large', '…may/small']
    >>> short_names(["a_detector_of_may", "b"], 9)
    ['a_de…_may', 'b']
    """
    shown = [printable(name, max(map(len, names))) for name in names]
    if max(map(len, shown)) > longest and len(shown) > 1:
        shared = "".join(signs[0] for signs in takewhile(lambda s: len(set(s)) == 1, zip(*shown, strict=False)))
        cuts = [at + 1 for at, sign in enumerate(shared) if not sign.isalnum()]
        fitting = (at for at in cuts if max(map(len, shown)) - at < longest)
        cut = next(fitting, max(cuts, default=0))
        shown = [f"…{name[cut:]}" for name in shown] if cut else shown
    half = (longest - 1) // 2
    shown = [name if len(name) <= longest else f"{name[: longest - 1 - half]}…{name[-half:]}" for name in shown]
    return [f"{name} ({number})" if shown.count(name) > 1 else name for number, name in enumerate(shown, 1)]
