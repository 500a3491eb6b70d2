"""Which kind of file words are read from: told by its name, and what it begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from shoe.core.errors import InputError, many, meant, quote, unknown_name
from shoe.core.io.delimited import delimited_rows
from shoe.core.io.files import read_bytes
from shoe.lexicon.building.ontologies import read_lmf, read_obo, read_rdf
from shoe.lexicon.building.source import KINDS, Concept, Source, text_lines
from shoe.lexicon.compiled import Pos

# UMLS Metathesaurus in Rich Release Format (UMLS Reference Manual, chapter 3): MRCONSO, MRDEF, MRREL, MRSTY.
#
# Their licence forbids to pass them on; the tests have made ones of the same layout.

_FIELDS = {"MRCONSO": 18, "MRDEF": 8, "MRREL": 16, "MRSTY": 6}
_SUPPRESSED = frozenset("OEY")
_LANGUAGES = {"en": "ENG", "fr": "FRE", "es": "SPA", "de": "GER", "it": "ITA", "pt": "POR", "nl": "DUT", "ja": "JPN"}


def read_rrf(path: Path, language: str | None) -> Source:
    """Read a folder of RRF files; only MRCONSO.RRF has to be there.

    Suppressed names, definitions and relations are left out. Of the names of a concept, the preferred one comes first.
    Its parents are those of relations PAR, and CHD the other way round; its kind is the first semantic type.

    Raises:
        InputError: naming file and line of what is wrong.
    """
    language = language or "en"
    wanted = _LANGUAGES.get(language, language.upper())
    names: dict[str, list[tuple[bool, str]]] = {}
    where: dict[str, str] = {}
    source = Source(str(path), "UMLS", [], language)
    for number, (cui, lat, ts, _, stt, _, ispref, *_, string, _, suppress, _) in _rows(path, "MRCONSO"):
        if lat != wanted or suppress in _SUPPRESSED:
            source.leave_out("names suppressed or in other languages")
            continue
        preferred = (ts, stt, ispref) == ("P", "PF", "Y")
        names.setdefault(cui, []).append((not preferred, string))
        where.setdefault(cui, f"MRCONSO.RRF: line {number}")
    glosses: dict[str, str] = {}
    for _, (cui, *_, gloss, suppress, _) in _rows(path, "MRDEF"):
        if suppress not in _SUPPRESSED:
            glosses.setdefault(cui, gloss)
    parents: dict[str, list[str]] = {}
    for _, (cui, _, _, relation, other, *_, suppress, _) in _rows(path, "MRREL"):
        if relation in ("PAR", "CHD") and suppress not in _SUPPRESSED and cui != other:
            below, above = (cui, other) if relation == "PAR" else (other, cui)
            parents.setdefault(below, []).append(above)
    kinds: dict[str, str] = {}
    for _, (cui, _, _, kind, *_) in _rows(path, "MRSTY"):
        kinds.setdefault(cui, kind)
    for cui, of in names.items():
        strings = tuple(dict.fromkeys(string for _, string in sorted(of, key=lambda one: one[0])))
        gloss, parent_ids = glosses.get(cui, ""), tuple(dict.fromkeys(parents.get(cui, ())))
        concept = Concept(cui, strings, "n", gloss, parent_ids, kinds.get(cui, ""), (f"umls:{cui}",), where[cui])
        source.concepts.append(concept)
    return source


def _rows(folder: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """The records of a file, without what stands after the last bar; none where an optional file is not there."""
    path = folder / f"{name}.RRF"
    if name != "MRCONSO" and not path.exists():
        return
    for number, line in enumerate(text_lines(str(path), read_bytes(path)), start=1):
        fields = line.split("|")
        if len(fields) != _FIELDS[name] + 1 or fields[-1]:
            found, expected = many(len(fields) - 1, "field"), f"{_FIELDS[name]}, each with a bar after it"
            raise InputError(path, record=f"line {number}", found=found, expected=expected)
        yield number, fields[:-1]


# Words of other languages for WordNet 3.0's synsets, in the tables of Open Multilingual Wordnet and nltk's omw-1.4.


def read_tab(path: str, data: bytes) -> Source:
    """Read lines of "OFFSET-POS <tab> LANGUAGE:lemma <tab> WORD", below one that says what they are.

    Raises:
        InputError: naming the line of what is wrong.
    """
    first, *lines = text_lines(path, data) or [""]
    title, language, _, licence, *_ = [*first.removeprefix("#").strip().split("\t"), "", "", "", ""]
    names: dict[str, list[str]] = {}
    where: dict[str, str] = {}
    source = Source(path, title, [], language or "en", licence)
    for number, line in enumerate(lines, start=2):
        fields = line.split("\t")
        if len(fields) < 3:
            expected = "OFFSET-POS, LANGUAGE:lemma and a word"
            raise InputError(path, record=f"line {number}", found=quote(line), expected=expected)
        synset, what, *rest = fields
        if what.rpartition(":")[2] != "lemma":
            continue
        if synset[-1:] not in ("n", "v"):
            source.leave_out("words that are neither nouns nor verbs")
            continue
        where.setdefault(synset, f"line {number}")
        names.setdefault(synset, []).append(rest[-1])
    for synset, words in names.items():
        pos: Pos = "v" if synset.endswith("v") else "n"
        link = (f"wn30:{synset}",)
        source.concepts.append(Concept(synset, tuple(dict.fromkeys(words)), pos, links=link, where=where[synset]))
    return source


# A plain table of concepts: id, names, gloss, parents, pos; and, where there are such, kind and links.

COLUMNS = ("id", "names", "gloss", "parents", "pos", "kind", "links")


def read_table(path: Path, language: str | None) -> Source:
    """Read a TSV or CSV file whose header names the columns; bars stand between several names, parents or links.

    Raises:
        InputError: naming line and field of what is wrong.
    """
    header, *rows = delimited_rows(path)
    for column in header:
        if column not in COLUMNS or header.count(column) > 1:
            expected, hint = f"columns of {', '.join(COLUMNS)}, each once", meant(column, COLUMNS)
            raise InputError(path, record="line 1", found=quote(column), expected=expected, hint=hint)
    for needed in ("id", "names"):
        if needed not in header:
            raise InputError(path, record="line 1", found=f"no column {needed}", expected="columns id and names")
    concepts = []
    for number, fields in enumerate(rows, start=2):
        given = dict(zip(header, map(str.strip, fields), strict=True))
        where = f"line {number}"
        pos = KINDS.get(given.get("pos", "").lower())
        if pos is None:
            expected = "noun or verb"
            raise InputError(path, record=where, field="pos", found=quote(given["pos"]), expected=expected)
        names, parents, links = (
            tuple(dict.fromkeys(part for each in given.get(column, "").split("|") if (part := each.strip())))
            for column in ("names", "parents", "links")
        )
        gloss, kind = given.get("gloss", ""), given.get("kind", "")
        concepts.append(Concept(given["id"], names, pos, gloss, parents, kind, links, where))
    return Source(str(path), path.name.partition(".")[0], concepts, language or "en")


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
