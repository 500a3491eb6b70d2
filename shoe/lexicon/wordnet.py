"""Definitions from WordNet's original files; the compiled lexicon does not contain them."""

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
    """Error for missing WordNet files."""

    def __init__(self, task: str) -> None:
        ShoeError.__init__(
            self, f"{task} needs WordNet's files: run `scripts/setup-wordnet` or `python -m nltk.downloader wordnet`"
        )


def glosses(names: list[str], task: str) -> dict[str, str]:
    """Return {name: definition} of synsets, without examples, from the active lexicon or from WordNet's files.

    A definition that a lexicon with other synsets than WordNet's lacks is "". WordNet's files are only needed for
    WordNet's synsets. They are searched in nltk's data folders (``NLTK_DATA`` and the usual folders; also as a zip
    file), and in the folder in which ``scripts/setup-wordnet`` puts them.

    Args:
        names: names of noun and verb synsets, such as "ride.v.01".
        task: task that needs the files; the subject of the message if files are missing.

    Raises:
        MissingWordNetError: if WordNet's files are not found.
        InputError: if the files found are not those of WordNet 3.0.
    """
    store = lexicon()
    if not store.is_wordnet:
        return {name: store.gloss(store.synset(name)) or "" for name in names}
    lines = synset_lines(task)
    texts = {name: lines[store.synset(name)].decode().split("|")[1] for name in names}  # with quoted examples
    return {name: _QUOTED.sub("", text).strip().strip("; ") for name, text in texts.items()}


def synset_lines(task: str) -> list[bytes]:
    """Return the lines of WordNet's data files, one per synset ID in order; arguments and errors as :func:`glosses`."""
    if (folder := next(folders(), None)) is None:
        raise MissingWordNetError(task)
    return _lines(folder)


@cache
def _lines(folder: Path | zipfile.Path) -> list[bytes]:
    files = [(folder / name).read_bytes().splitlines() for name in ("data.noun", "data.verb")]
    lines = [line for file in files for line in file if not line.startswith(b"  ")]  # the licence is indented
    if len(lines) != len(wordnet()):
        expected = f"WordNet 3.0, which has {len(wordnet())}"
        raise InputError(str(folder), found=f"{len(lines)} nouns and verbs", expected=expected)
    return lines


def folders() -> Iterator[Path | zipfile.Path]:
    """Yield the existing folders (or zip files) with WordNet's files, the preferred folder first."""
    prefix = Path(sys.prefix)
    named = [Path(folder) for folder in os.environ.get("NLTK_DATA", "").split(os.pathsep) if folder]
    usual = [Path.home(), prefix, prefix / "share", prefix / "lib"]
    usual += map(Path, ("/usr/share", "/usr/local/share", "/usr/lib", "/usr/local/lib"))
    for data in [*named, _CHECKOUT, *(folder / "nltk_data" for folder in usual)]:
        if (data / "corpora" / "wordnet" / "data.verb").is_file():
            yield data / "corpora" / "wordnet"
        elif zipfile.is_zipfile(packed := data / "corpora" / "wordnet.zip"):
            yield zipfile.Path(packed, "wordnet/")
