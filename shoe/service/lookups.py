"""What the metric takes words to mean, by maps that stay loaded for the next who asks."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from shoe.core.errors import OptionError, quote
from shoe.service import truths
from shoe.service.folder import Folder

if TYPE_CHECKING:
    from shoe.similarity import Similarity


def source(folder: Folder, name: str, ensemble: str = "mean") -> Similarity:
    """A similarity by the name that runs can give it.

    Raises:
        OptionError: for an unknown one; a path is none.
    """
    of = truths.similarity(folder, name)
    return _loaded(str(folder.maps / of["folder"]) if "folder" in of else name, ensemble)


def explained(
    folder: Folder, name: str, ensemble: str, a: str, b: str, part: str | None, combine: str, weight: float
) -> dict[str, Any]:
    """Explain one value: what ``shoe similarity --json`` says.

    Raises:
        OptionError: as the command.
    """
    from shoe.report.similarity import similarity_of

    for what, word in (("a", a), ("b", b)):
        if not word.strip():
            raise OptionError(f"{what}: found {quote(word)}, expected a word or phrase")
    return similarity_of(source(folder, name, ensemble), a, b, part, combine, weight).to_dict()


@lru_cache(maxsize=8)
def _loaded(place: str, ensemble: str) -> Similarity:
    from shoe.similarity import load_similarity

    return load_similarity(place, ensemble)
