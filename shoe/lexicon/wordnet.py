"""WordNet's own files, read for the definitions that the compiled lexicon leaves out."""

from __future__ import annotations

import os
import re
import sys
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from shoe.core.errors import InputError, MissingExtraError, ShoeError
from shoe.lexicon.store import lexicon, wordnet

_CHECKOUT = Path(__file__).parents[2] / ".wordnet" / "nltk_data"
_QUOTED = re.compile(r'"[^"]*"')


class MissingWordNetError(MissingExtraError):
    """WordNet's files are not in place."""

    def __init__(self, what: str) -> None:
        ShoeError.__init__(
            self, f"{what} needs WordNet's files: run scripts/setup-wordnet or python -m nltk.downloader wordnet"
        )


def glosses(names: list[str], what: str) -> dict[str, str]:
    """Return the definition of each synset, from the lexicon or from WordNet's files.

    WordNet's files are looked for where nltk does (``NLTK_DATA`` and its usual folders, a zip file or not), and where
    ``scripts/setup-wordnet`` puts the files of a checkout.

    Args:
        names: names of nouns and verbs, as "ride.v.01".
        what: the user's request, which begins the message if definitions are missing.

    Raises:
        MissingWordNetError: if WordNet's files are not there.
        InputError: if they are not those of WordNet 3.0.
    """
    store = lexicon()
    if not store.is_wordnet:
        return {name: store.gloss(store.synset(name)) or "" for name in names}
    lines = synset_lines(what)
    # What stands behind the bar, without its examples.
    texts = {name: lines[store.synset(name)].decode().split("|")[1] for name in names}
    return {name: _QUOTED.sub("", text).strip().strip("; ") for name, text in texts.items()}


def synset_lines(what: str) -> list[bytes]:
    """Return the line of every synset in WordNet's data files, in the lexicon's order; see :func:`glosses`."""
    folder = next(folders(), None)
    if folder is None:
        raise MissingWordNetError(what)
    return _lines(folder)


@cache
def _lines(folder: Path | zipfile.Path) -> list[bytes]:
    files = [(folder / name).read_bytes().splitlines() for name in ("data.noun", "data.verb")]
    # The licence at the head of each file is indented.
    lines = [line for file in files for line in file if not line.startswith(b"  ")]
    if len(lines) != len(wordnet()):
        expected = f"WordNet 3.0, which has {len(wordnet())}"
        raise InputError(str(folder), found=f"{len(lines)} nouns and verbs", expected=expected)
    return lines


def folders() -> Iterator[Path | zipfile.Path]:
    """Yield the folders of WordNet's files, the preferred one first."""
    prefix = Path(sys.prefix)
    named = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    usual = [Path.home(), prefix, prefix / "share", prefix / "lib"]
    usual += map(Path, ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"))
    for data in [*named, _CHECKOUT, *(folder / "nltk_data" for folder in usual)]:
        if (data / "corpora" / "wordnet" / "data.verb").is_file():
            yield data / "corpora" / "wordnet"
        elif zipfile.is_zipfile(packed := data / "corpora" / "wordnet.zip"):
            yield zipfile.Path(packed, "wordnet/")
