"""WordNet's own files, read through nltk: glosses, and the reference that the compiled lexicon is held to."""

from pathlib import Path
from typing import Any

from shoe.errors import MissingExtraError, ShoeError

_CHECKOUT = Path(__file__).parents[2] / ".wordnet" / "nltk_data"


class MissingWordNetError(MissingExtraError):
    """nltk is installed, WordNet's files are not in place."""

    def __init__(self, what: str) -> None:
        ShoeError.__init__(
            self, f"{what} needs WordNet's files: run scripts/setup-wordnet or python -m nltk.downloader wordnet"
        )


def wordnet(what: str) -> Any:
    """Return nltk's reader of WordNet 3.0, loaded (some seconds); not to be shared between threads before that.

    Looks where nltk does (``NLTK_DATA``), and where ``scripts/setup-wordnet`` puts the files of a checkout.

    Args:
        what: what the user asked for; begins the message if it cannot be had.

    Raises:
        MissingExtraError: if nltk is not installed, or WordNet's files are not there.
    """
    try:
        import nltk
        from nltk.corpus import wordnet as reader
    except ImportError:
        raise MissingExtraError(what, "llm") from None
    if _CHECKOUT.is_dir() and str(_CHECKOUT) not in nltk.data.path:
        nltk.data.path.append(str(_CHECKOUT))
    try:
        reader.ensure_loaded()
    except LookupError:
        raise MissingWordNetError(what) from None
    return reader


def glosses(names: list[str], what: str) -> dict[str, str]:
    """Return WordNet's definition of each synset, by name.

    Raises:
        MissingExtraError: as ``wordnet``.
    """
    reader = wordnet(what)
    return {name: reader.synset(name).definition() for name in names}
