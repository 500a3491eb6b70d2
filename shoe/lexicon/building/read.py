"""Which kind of file words are read from: told by its name, and what it begins with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from shoe.core.errors import InputError, unknown_name
from shoe.io.files import read_bytes
from shoe.lexicon.building.graph import read_obo, read_rdf
from shoe.lexicon.building.lmf import read_lmf
from shoe.lexicon.building.rrf import read_rrf
from shoe.lexicon.building.source import Source
from shoe.lexicon.building.tab import read_tab
from shoe.lexicon.building.table import read_table

_Reader = Callable[[Path, bytes, str | None], Source]
_READERS: dict[str, _Reader] = {
    "wn-lmf": lambda path, data, language: read_lmf(str(path), data, language),
    "obo": lambda path, data, language: read_obo(str(path), data, language),
    "owl": lambda path, data, language: read_rdf(str(path), data, language),
    "skos": lambda path, data, language: read_rdf(str(path), data, language),
    "omw": lambda path, data, _: read_tab(str(path), data),
    "table": lambda path, _, language: read_table(path, language),
    "rrf": lambda path, _, language: read_rrf(path, language),
}
FORMATS = tuple(_READERS)
_BEGINNING = 2000
_SUFFIXES = {".obo": "obo", ".owl": "owl", ".rdf": "skos", ".ttl": "skos", ".nt": "skos", ".tsv": "table"}


def read_source(path: Path, form: str | None = None, language: str | None = None) -> Source:
    """Read words and concepts of a file, gzip-compressed or not, or of a folder of UMLS' files.

    Args:
        path: of the file or folder.
        form: one of ``FORMATS``; told by the file if absent.
        language: which of several in the file; what a file that does not say is in.

    Raises:
        InputError: for what cannot be read.
        OptionError: for a format that does not exist.
        MissingExtraError: where a library is needed that is not there.
    """
    if form is not None and form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    if path.is_file() and path.name == "MRCONSO.RRF":
        path = path.parent
    is_folder = path.is_dir()
    data = b"" if is_folder else read_bytes(path)
    return _READERS[form or _told(path, data, is_folder=is_folder)](path, data, language)


def _told(path: Path, data: bytes, *, is_folder: bool) -> str:
    if is_folder:
        return "rrf"
    name, head = path.name.removesuffix(".gz"), data[:_BEGINNING]
    suffix = Path(name).suffix.lower()
    tests = (
        ("wn-lmf", b"LexicalResource" in head),
        ("omw", name.endswith(".tab")),
        (_SUFFIXES.get(suffix, ""), suffix in _SUFFIXES),
        ("obo", head.startswith(b"format-version:")),
        ("skos", b"rdf:RDF" in head),
        ("table", suffix == ".csv"),
    )
    for form, fits in tests:
        if fits:
            return form
    found, expected = f"a file of unknown kind ({name})", f"one of {', '.join(FORMATS)}"
    raise InputError(path, found=found, expected=expected, hint="--format says which")
