"""Names of models, which have to stay apart, and fit into a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path

from shoe.core.errors import printable


def model_names(paths: Sequence[Path]) -> list[str]:
    """What models are called: file names, with endings and folders only where these tell them apart."""
    paths = [Path(os.fsencode(path).decode("utf-8", "replace")) for path in paths]  # JSON holds no other text
    names = [path.stem for path in paths]
    for parts in range(1, max((len(path.parts) for path in paths), default=0) + 1):
        if len(set(names)) == len(names):
            return names
        names = [str(Path(*path.parts[-parts:])) for path in paths]
    if len(set(names)) == len(names):
        return names
    return [f"{path.name} ({number})" for number, path in enumerate(paths, 1)]


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
