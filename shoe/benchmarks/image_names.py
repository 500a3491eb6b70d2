"""The same picture under two names: files write it with or without folder and ending."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from shoe.core.arrays import Ints


def image_index(names: Sequence[str], known: Sequence[str]) -> Ints:
    """Find names among known ones: as they stand, else without folder and ending ("images/a.png" is "a.jpg").

    Args:
        names: n names.
        known: m distinct names.

    Returns:
        (n,) index into ``known``; -1 for a name that is none of them, or that could be several.
    """
    exact = {name: i for i, name in enumerate(known)}
    if all(name in exact for name in names):
        return np.array([exact[name] for name in names], np.int32)
    stems = [_stem(name) for name in known]
    times = Counter(stems)
    by_stem = {stem: i for i, stem in enumerate(stems) if times[stem] == 1}
    return np.array([exact.get(name, by_stem.get(_stem(name), -1)) for name in names], np.int32)


def _stem(name: str) -> str:
    base = name.replace("\\", "/").rsplit("/", 1)[-1]
    return base.rsplit(".", 1)[0] if "." in base[1:] else base
