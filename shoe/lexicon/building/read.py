"""Readers of source files for lexicons; the format is detected from the file name and the first bytes."""

from collections.abc import Callable, Iterator
from pathlib import Path

from shoe.core.errors import InputError, did_you_mean, pluralize, quote, unknown_name
from shoe.core.io.files import read_bytes
from shoe.core.io.spreadsheets import delimited_rows
from shoe.lexicon.building.ontologies import read_lmf, read_obo, read_rdf
from shoe.lexicon.building.source import KINDS, Concept, Source, text_lines

# UMLS Metathesaurus in Rich Release Format (UMLS Reference Manual, chapter 3): MRCONSO, MRDEF, MRREL, MRSTY. Their
# licence forbids redistribution; the tests use synthetic files of the same layout.

_FIELDS = {"MRCONSO": 18, "MRDEF": 8, "MRREL": 16, "MRSTY": 6}
_SUPPRESSED = frozenset("OEY")
_LANGUAGES = {"en": "ENG", "fr": "FRE", "es": "SPA", "de": "GER", "it": "ITA", "pt": "POR", "nl": "DUT", "ja": "JPN"}


def read_rrf(path: Path, language: str | None) -> Source:
    """Read the concepts in a folder of UMLS RRF files as nouns; only MRCONSO.RRF is required.

    Suppressed names, definitions and relations, and names in other languages than ``language`` (default "en"), are left
    out. The preferred name of a concept comes first. Parents are read from PAR and reversed CHD relations; the kind is
    the first semantic type.

    Raises:
        InputError: for an invalid record, with file and line.
    """
    language = language or "en"
    wanted = _LANGUAGES.get(language, language.upper())
    names: dict[str, list[tuple[bool, str]]] = {}
    parents: dict[str, list[str]] = {}
    where, glosses, kinds = dict[str, str](), dict[str, str](), dict[str, str]()
    source = Source(str(path), "UMLS", [], language)
    for number, (cui, lat, ts, _, stt, _, ispref, *_, string, _, suppress, _) in _rows(path, "MRCONSO"):
        if lat != wanted or suppress in _SUPPRESSED:
            source.leave_out("names suppressed or in other languages")
            continue
        names.setdefault(cui, []).append(((ts, stt, ispref) != ("P", "PF", "Y"), string))
        where.setdefault(cui, f"MRCONSO.RRF: line {number}")
    for _, (cui, *_, gloss, suppress, _) in _rows(path, "MRDEF"):
        if suppress not in _SUPPRESSED:
            glosses.setdefault(cui, gloss)
    for _, (cui, _, _, relation, other, *_, suppress, _) in _rows(path, "MRREL"):
        if relation in ("PAR", "CHD") and suppress not in _SUPPRESSED and cui != other:
            below, above = (cui, other) if relation == "PAR" else (other, cui)
            parents.setdefault(below, []).append(above)
    for _, (cui, _, _, kind, *_) in _rows(path, "MRSTY"):
        kinds.setdefault(cui, kind)
    for cui, of in names.items():
        strings = tuple(dict.fromkeys(string for _, string in sorted(of, key=lambda one: one[0])))
        gloss, kind, ids = glosses.get(cui, ""), kinds.get(cui, ""), tuple(dict.fromkeys(parents.get(cui, ())))
        source.concepts.append(Concept(cui, strings, "n", gloss, ids, kind, (f"umls:{cui}",), where[cui]))
    return source


def _rows(folder: Path, name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of each record of a file such as MRREL; nothing if an optional file is missing."""
    path = folder / f"{name}.RRF"
    if name != "MRCONSO" and not path.exists():
        return
    for number, line in enumerate(text_lines(str(path), read_bytes(path)), start=1):
        fields = line.split("|")
        if len(fields) != _FIELDS[name] + 1 or fields[-1]:
            found, expected = pluralize(len(fields) - 1, "field"), f"{_FIELDS[name]} fields, each followed by a bar (|)"
            raise InputError(path, record=f"line {number}", found=found, expected=expected)
        yield number, fields[:-1]


# Words of other languages for WordNet 3.0's synsets, in the tables of Open Multilingual Wordnet and nltk's omw-1.4.


def read_tab(path: str, data: bytes) -> Source:
    """Read an OMW table: a header line, then lines of "OFFSET-POS <tab> LANGUAGE:lemma <tab> WORD".

    Lines of other kinds, such as definitions, are ignored. Words that are neither nouns nor verbs are left out.

    Raises:
        InputError: for an invalid line, with its number.
    """
    first, *lines = text_lines(path, data) or [""]
    title, language, _, licence, *_ = [*first.removeprefix("#").strip().split("\t"), "", "", "", ""]
    names: dict[str, list[str]] = {}
    where: dict[str, str] = {}
    source = Source(path, title, [], language or "en", licence)
    for number, line in enumerate(lines, start=2):
        fields = line.split("\t")
        if len(fields) < 3:
            expected = "OFFSET-POS, LANGUAGE:lemma and a word, separated by tabs"
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
        pos, link, distinct = KINDS[synset[-1]], (f"wn30:{synset}",), tuple(dict.fromkeys(words))
        source.concepts.append(Concept(synset, distinct, pos, links=link, where=where[synset]))
    return source


# A plain table of concepts, one per row.

COLUMNS = ("id", "names", "gloss", "parents", "pos", "kind", "links")


def read_table(path: Path, language: str | None) -> Source:
    """Read a TSV or CSV file with a header; several names, parents or links in a field are separated by bars (|).

    The columns are those of ``COLUMNS``; id and names are required, and a concept without pos is a noun. ``language``
    is the language of the names (default "en").

    Raises:
        InputError: for an invalid column or value, with line and field.
    """
    header, *rows = delimited_rows(path)
    for column in header:
        if column not in COLUMNS or header.count(column) > 1:
            expected, hint = f"columns among {', '.join(COLUMNS)}, each at most once", did_you_mean(column, COLUMNS)
            raise InputError(path, record="line 1", found=quote(column), expected=expected, hint=hint)
    for needed in (column for column in ("id", "names") if column not in header):
        raise InputError(path, record="line 1", found=f"no column {needed}", expected="columns id and names")
    concepts = []
    for number, fields in enumerate(rows, start=2):
        given = dict(zip(header, map(str.strip, fields), strict=True))
        where, pos = f"line {number}", KINDS.get(given.get("pos", "").lower())
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
_SUFFIXES = {
    ".tab": "omw",
    ".obo": "obo",
    ".owl": "owl",
    ".rdf": "skos",
    ".ttl": "skos",
    ".nt": "skos",
    ".tsv": "table",
}


def read_source(path: Path, form: str | None = None, language: str | None = None) -> Source:
    """Read the words and concepts of a file, which may be gzip-compressed, or of a folder of UMLS files.

    Args:
        path: path of the file or folder.
        form: format, one of ``FORMATS``; detected if None.
        language: language to read from a file in several languages, or language of a file that does not state it.

    Raises:
        InputError: if the file cannot be read.
        OptionError: for an unknown format.
        MissingExtraError: if a required library is not installed.
    """
    if form is not None and form not in FORMATS:
        raise unknown_name("format", form, FORMATS)
    if path.is_file() and path.name == "MRCONSO.RRF":
        path = path.parent
    is_folder = path.is_dir()
    data = b"" if is_folder else read_bytes(path)
    return _READERS[form or ("rrf" if is_folder else _detect_format(path, data[:2000]))](path, data, language)


def _detect_format(path: Path, head: bytes) -> str:
    name = path.name.removesuffix(".gz")
    suffix = Path(name).suffix.lower()
    if b"LexicalResource" in head or name.endswith(".tab"):
        return "wn-lmf" if b"LexicalResource" in head else "omw"
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    if head.startswith(b"format-version:"):
        return "obo"
    if b"rdf:RDF" in head or suffix == ".csv":
        return "skos" if b"rdf:RDF" in head else "table"
    found, expected = f"a file of unknown format ({name})", f"a file in one of the formats {', '.join(FORMATS)}"
    raise InputError(path, found=found, expected=expected, hint="select the format with `--format`")
