"""Source of a lexicon (concepts, their names and inflected forms), and readers of the file formats of sources.

The format is detected from the file name and the first bytes. XML entities are refused, because they can expand or load
other files.
"""

import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, Self
from xml.parsers import expat

from shoe.core.errors import InputError, MissingExtraError, OptionError, did_you_mean, pluralize, quote, unknown_name
from shoe.core.io.files import read_bytes
from shoe.core.io.spreadsheets import delimited_rows
from shoe.lexicon.compiled import Pos

KINDS: dict[str, Pos] = {"": "n", "n": "n", "noun": "n", "object": "n", "v": "v", "verb": "v"}
"""Part of speech for each text in tables; empty text is a noun."""


class Concept(NamedTuple):
    """A concept of a source."""

    id: str  # ID in the source, and name of the concept in maps
    names: tuple[str, ...]  # words for the concept, the preferred word first
    pos: Pos = "n"
    gloss: str = ""  # definition; "" without a definition
    parents: tuple[str, ...] = ()  # IDs of the direct hypernyms
    kind: str = ""  # lexicographer file ("noun.animal") or semantic type in the source; "" for none
    links: tuple[str, ...] = ()  # IDs in other lexicons ("ili:i35545", "key:ride%2:38:00::", "wn30:01955984-v")
    where: str = ""  # position of the concept in the file, for error messages


@dataclass(slots=True)
class Source:
    """Words and concepts read from a file.

    ``forms`` is {inflected form: base forms} per part of speech; ``order`` is {(name, part of speech): concept IDs},
    most frequent sense first, or {} if the file states no order.
    """

    path: str
    title: str  # title of the lexicon, with version
    concepts: list[Concept]
    language: str = "en"  # language code of the names
    licence: str = ""  # licence of the content; "" if the file does not state a licence
    forms: dict[Pos, dict[str, list[str]]] = field(default_factory=lambda: {"n": {}, "v": {}})
    order: dict[tuple[str, Pos], list[str]] = field(default_factory=dict)
    left_out: dict[str, int] = field(default_factory=dict)  # {reason: number of records left out}

    def leave_out(self, reason: str, number: int = 1) -> None:
        """Add ``number`` to the count of records left out for a reason."""
        if number:
            self.left_out[reason] = self.left_out.get(reason, 0) + number

    def with_verbs(self, kinds: frozenset[str]) -> Self:
        """Return a copy of the source in which all concepts of the given semantic types, ``kinds``, are verbs.

        Raises OptionError for a type that does not occur in the source.
        """
        for unknown in sorted(kinds - {c.kind for c in self.concepts}):
            expected = f"a lexicographer file or semantic type that occurs in {self.path}"
            raise OptionError(f"--verbs: found {quote(unknown)}, expected {expected}")
        return replace(self, concepts=[c._replace(pos="v") if c.kind in kinds else c for c in self.concepts])


def text_lines(path: Path, data: bytes) -> list[str]:
    """Return the lines of UTF-8 text, without empty lines at the end; [] for empty text, InputError for other bytes.

    Lines end only at LF or CRLF, because definitions may contain other line separators.
    """
    try:
        text = data.decode("utf-8").replace("\r\n", "\n").rstrip("\n")
    except UnicodeDecodeError as error:
        record = f"line {1 + data.count(10, 0, error.start)}"
        raise InputError(path, record=record, found="bytes that are not UTF-8", expected="text in UTF-8") from None
    return text.split("\n") if text else []


Attributes = dict[str, str]


def parse_xml(
    path: Path,
    data: bytes,
    start: Callable[[str, Attributes, int], None] | None = None,
    end: Callable[[str, str], None] | None = None,
) -> None:
    """Parse XML, and call a function at the start and the end of each element.

    Args:
        start: callback for a start tag, given name, attributes and line; if None, only the prolog is checked.
        end: callback for an end tag, given the element's name and its text without the text of child elements.

    Raises InputError for malformed XML or a declared entity, with the line.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    texts: list[list[str]] = [[]]

    def declared(name: str, *_: object) -> NoReturn:
        found, expected = f"a declaration of the entity {quote(name)}", "XML without entity declarations"
        raise InputError(path, record=f"line {parser.CurrentLineNumber}", found=found, expected=expected)

    def began(name: str, attributes: Attributes) -> None:
        if start is None:
            raise StopIteration
        texts.append([])
        start(name, attributes, parser.CurrentLineNumber)

    def ended(name: str) -> None:
        text = "".join(texts.pop())
        if end is not None:
            end(name, text)

    parser.EntityDeclHandler = declared
    parser.StartElementHandler, parser.EndElementHandler = began, ended
    parser.CharacterDataHandler = lambda text: texts[-1].append(text)
    try:
        parser.Parse(data, True)
    except StopIteration:
        return
    except expat.ExpatError as error:
        record = f"line {error.lineno}"
        raise InputError(path, record=record, found=expat.errors.messages[error.code], expected="XML") from None
    except (ValueError, LookupError) as error:
        raise InputError(path, found=str(error), expected="XML") from None


# OBO through fastobo, OWL and SKOS through pyoxigraph (extra ``lexicon``): ontologies' names, definitions, parents.

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_OBO = "http://www.geneontology.org/formats/oboInOwl#"
_NAMES = (f"{_SKOS}prefLabel", f"{_RDFS}label", f"{_SKOS}altLabel", f"{_OBO}hasExactSynonym")
_GLOSSES = (f"{_SKOS}definition", "http://purl.obolibrary.org/obo/IAO_0000115", f"{_RDFS}comment")
_PARENTS = (f"{_SKOS}broader", f"{_RDFS}subClassOf")
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_RDF_FORMATS = {"ttl": "TURTLE", "nt": "N_TRIPLES"}
_BASE = "file:///"  # of relative IRIs; only the last part of an IRI is used


def read_obo(path: Path, data: bytes, language: str | None) -> Source:
    """Read the terms of an OBO file as nouns: names and exact synonyms become names, is_a relations become parents.

    Terms that are obsolete or have no name are left out. Imports of the file are not fetched. ``language`` is the
    language of the names (default "en").
    """
    try:
        import fastobo
    except ImportError:
        raise MissingExtraError("reading OBO", "lexicon") from None
    text_lines(path, data)
    try:
        document = fastobo.load(io.BytesIO(data))
    except (ValueError, SyntaxError) as error:
        found = " ".join(str(error).split())[:200]
        record = f"line {error.lineno}" if isinstance(error, SyntaxError) and error.lineno else None
        raise InputError(path, record=record, found=found, expected="an OBO file") from None
    source = Source(str(path), path.name.partition(".")[0], [], language or "en")
    for frame in document:
        if not isinstance(frame, fastobo.term.TermFrame):
            continue
        said: dict[str, list[Any]] = {}
        for clause in frame:
            said.setdefault(clause.raw_tag(), []).append(clause)
        if "name" not in said or any(clause.obsolete for clause in said.get("is_obsolete", ())):
            source.leave_out("terms that are obsolete or have no name")
            continue
        exact = (one.synonym.desc for one in said.get("synonym", ()) if one.synonym.scope == "EXACT")
        names = tuple(dict.fromkeys([said["name"][0].name, *exact]))
        gloss = str(said["def"][0].definition) if "def" in said else ""
        parents = tuple(dict.fromkeys(str(one.term) for one in said.get("is_a", ())))
        kind = str(said["namespace"][0].namespace) if "namespace" in said else ""
        source.concepts.append(Concept(str(frame.id), names, "n", gloss, parents, kind, where=f"term {frame.id}"))
    return source


def read_rdf(path: Path, data: bytes, language: str | None) -> Source:
    """Read SKOS concepts or OWL classes as nouns: labels become names; broader concepts or superclasses become parents.

    The ID of a concept is the last part of its IRI, or the whole IRI if several concepts share the last part.
    Labels in languages other than ``language`` (default "en"), deprecated concepts, and concepts without a label are
    left out. Imports are not fetched, and entities are not expanded.
    """
    try:
        from pyoxigraph import NamedNode, RdfFormat, parse
    except ImportError:
        raise MissingExtraError("reading OWL and SKOS", "lexicon") from None
    kind = _RDF_FORMATS.get(Path(path.name.removesuffix(".gz")).suffix[1:].lower(), "RDF_XML")
    if kind == "RDF_XML":
        parse_xml(path, data)
    said: dict[str, dict[str, list[Any]]] = {}  # of each address, by predicate
    try:
        for triple in parse(data, format=getattr(RdfFormat, kind), base_iri=_BASE, lenient=True):
            if isinstance(triple.subject, NamedNode):
                said.setdefault(triple.subject.value, {}).setdefault(triple.predicate.value, []).append(triple.object)
    except (ValueError, SyntaxError) as error:
        raise InputError(path, found=" ".join(str(error).split())[:200], expected="RDF in XML or Turtle") from None
    language = language or "en"
    nodes = [
        node
        for kind in (f"{_SKOS}Concept", f"{_OWL}Class")
        for node in sorted(node for node, of in said.items() if any(type_.value == kind for type_ in of.get(_TYPE, ())))
        if not any(value.value in ("true", "1") for value in said[node].get(f"{_OWL}deprecated", ()))
    ]
    for node, of in list(said.items()):
        for narrower in of.get(f"{_SKOS}narrower", ()):
            said.setdefault(narrower.value, {}).setdefault(_PARENTS[0], []).append(NamedNode(node))
    often = Counter(map(_last, nodes))
    ids = {node: _last(node) if often[_last(node)] == 1 else node for node in nodes}
    source = Source(str(path), path.name.partition(".")[0], [], language)
    for node in nodes:
        if not (names := tuple(dict.fromkeys(_texts(said[node], _NAMES, language)))):
            source.leave_out("concepts without a name in the language")
            continue
        gloss = next(_texts(said[node], _GLOSSES, language), "")
        listed = (parent for predicate in _PARENTS for parent in said[node].get(predicate, ()))
        above = {parent.value for parent in listed if isinstance(parent, NamedNode)}
        parents = tuple(sorted(ids.get(parent, _last(parent)) for parent in above))
        source.concepts.append(Concept(ids[node], names, gloss=gloss, parents=parents, where=node))
    return source


def _last(address: str) -> str:
    return address.rstrip("/#").replace("#", "/").rpartition("/")[2]


def _texts(values: dict[str, list[Any]], predicates: Iterable[str], language: str) -> Iterator[str]:
    from pyoxigraph import Literal

    for predicate in predicates:
        said = (text for text in values.get(predicate, ()) if isinstance(text, Literal))
        said = (text for text in said if (text.language or language).split("-")[0] == language)
        yield from sorted(" ".join(text.value.split()) for text in said)


# WN-LMF: exchange format of the Global WordNet Association (Open English WordNet, Open Multilingual Wordnet).

_PARENT = ("hypernym", "instance_hypernym")
_POS: dict[str, Pos] = {"n": "n", "v": "v"}
# Open English WordNet writes sense keys as XML ids: so its scripts/wordnet.py.
_ESCAPES = {"lb": "(", "rb": ")", "ap": "'", "sl": "/", "cn": ":", "cm": ",", "ex": "!", "pl": "+", "pc": "%"}
_ESCAPE = re.compile(f"-(?:({'|'.join(_ESCAPES)})|u((?!D[89A-F])[0-9A-F]{{4}}|[0-9A-F]{{5}}))-")
_OFFSET = re.compile(r"^omw-[\w-]+-(\d{8})-([nv])$")


def read_lmf(path: Path, data: bytes, language: str | None) -> Source:
    """Read the nouns and verbs of a wordnet in a WN-LMF file.

    ``language`` is the language of the wordnet to read; None if the file has a single wordnet. Raises OptionError
    unless this selects exactly one wordnet.
    """
    reader = _LmfReader(path, language)
    parse_xml(path, data, reader.start, reader.end)
    return reader.source()


class _LmfReader:
    """Callbacks of :func:`parse_xml` that collect the elements of a WN-LMF file."""

    def __init__(self, path: Path, language: str | None) -> None:
        self.path, self.language = path, language
        self.lexicons: list[Attributes] = []
        self.made, self.root, self.taken = Source(str(path), "", []), "", True
        self.entry: tuple[str, Pos] | None = None
        self.synset: tuple[Attributes, int] | None = None
        self.gloss, self.parents = "", list[str]()
        self.names: dict[str, list[str]] = {}
        self.keys: dict[str, list[str]] = {}
        self.synsets: list[tuple[Attributes, str, tuple[str, ...], int]] = []

    def start(self, name: str, attributes: Attributes, line: int) -> None:
        if not self.root:
            self.root = name
            if name != "LexicalResource":
                expected = "the root element LexicalResource of a wordnet in WN-LMF XML"
                raise InputError(self.path, found=f"the root element {quote(name)}", expected=expected)
        elif name == "Lexicon":
            self.taken = self.language in (None, attributes.get("language"))
            if self.taken:
                self.lexicons.append(attributes)
        elif not self.taken:
            return
        elif name == "Lemma":
            pos = _POS.get(attributes.get("partOfSpeech", ""))
            self.entry = (self.attribute(attributes, "writtenForm", name, line), pos) if pos else None
            self.made.leave_out("words that are neither nouns nor verbs", not pos)
        elif name == "Form" and self.entry:
            form, (lemma, pos) = self.attribute(attributes, "writtenForm", name, line), self.entry
            self.made.forms[pos].setdefault(form, []).append(lemma)
        elif name == "Sense" and self.entry:
            synset = self.attribute(attributes, "synset", name, line)
            self.names.setdefault(synset, []).append(self.entry[0])
            self.made.order.setdefault(self.entry, []).append(synset)
            if key := attributes.get("dc:identifier") or sense_key(attributes.get("id", "")):
                self.keys.setdefault(synset, []).append(f"key:{key}")
        elif name == "Synset":
            self.synset, self.gloss, self.parents = (attributes, line), "", []
        elif name == "SynsetRelation" and attributes.get("relType") in _PARENT:
            self.parents.append(self.attribute(attributes, "target", name, line))

    def end(self, name: str, text: str) -> None:
        if not self.taken:
            return
        if name == "Definition" and not self.gloss:
            self.gloss = " ".join(text.split())
        elif name == "LexicalEntry":
            self.entry = None
        elif name == "Synset" and self.synset is not None:
            attributes, line = self.synset
            self.synsets.append((attributes, self.gloss, tuple(self.parents), line))

    def attribute(self, attributes: Attributes, wanted: str, name: str, line: int) -> str:
        """Return the value of the attribute ``wanted`` of element ``name``; raise InputError if it is missing."""
        if not (value := attributes.get(wanted, "").strip()):
            found, expected = f"no {wanted}", f"the attribute {wanted}"
            raise InputError(self.path, record=f"line {line}", field=name, found=found, expected=expected)
        return value

    def source(self) -> Source:
        """Return the source made from all collected elements."""
        if len(self.lexicons) != 1:
            languages = [lexicon.get("language", "?") for lexicon in self.lexicons]
            found = f"wordnets in the languages {', '.join(languages)}" if languages else "no wordnet"
            raise OptionError(f"{self.path}: found {found}, expected one wordnet: select it with `--language`")
        about, made = self.lexicons[0], self.made
        for synset, gloss, parents, line in self.synsets:
            if (pos := _POS.get(synset.get("partOfSpeech", ""))) is None:
                made.leave_out("concepts that are neither nouns nor verbs")
                continue
            id_ = self.attribute(synset, "id", "Synset", line)
            links = [f"ili:{ili}"] if (ili := synset.get("ili", "")) not in ("", "in") else []
            links += [f"wn30:{offset[1]}-{offset[2]}"] if (offset := _OFFSET.match(id_)) else []
            names = tuple(dict.fromkeys(self.names.get(id_, ())))
            linked = tuple(dict.fromkeys([*links, *self.keys.get(id_, ())]))
            lexfile = synset.get("lexfile", "")
            made.concepts.append(Concept(id_, names, pos, gloss, parents, lexfile, linked, f"line {line}"))
        made.title = f"{about.get('label', 'a wordnet')} {about.get('version', '')}".strip()
        made.language, made.licence = about.get("language", "en"), about.get("license", "")
        return made


def sense_key(id_: str) -> str:
    """Return the sense key "ride%2:38:00::" for an Open English WordNet ID "oewn-ride__2.38.00.."; "" for other IDs."""
    lemma, mark, rest = id_.partition("__")
    if not mark or "-" not in lemma or rest.count(".") != 4:
        return ""
    escaped = lemma.partition("-")[2]
    plain = _ESCAPE.sub(lambda found: _ESCAPES[found[1]] if found[1] else chr(int(found[2], 16)), escaped)
    return f"{plain}%{rest.replace('.', ':')}"


# UMLS Metathesaurus in Rich Release Format (UMLS Reference Manual, chapter 3): MRCONSO, MRDEF, MRREL, MRSTY. Their
# licence forbids redistribution; the tests use synthetic files of the same layout.

_FIELDS = {"MRCONSO": 18, "MRDEF": 8, "MRREL": 16, "MRSTY": 6}
_SUPPRESSED = frozenset("OEY")
_LANGUAGES = {"en": "ENG", "fr": "FRE", "es": "SPA", "de": "GER", "it": "ITA", "pt": "POR", "nl": "DUT", "ja": "JPN"}


def read_rrf(path: Path, _data: bytes, language: str | None) -> Source:
    """Read the concepts in a folder of UMLS RRF files as nouns; only MRCONSO.RRF is required.

    Suppressed names, definitions and relations, and names in other languages than ``language`` (default "en"), are left
    out. The preferred name of a concept comes first. Parents are read from PAR relations, and from CHD relations with
    both sides swapped; the kind of a concept is its first semantic type.
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
    path = folder / f"{name}.RRF"
    if name != "MRCONSO" and not path.exists():
        return
    for number, line in enumerate(text_lines(path, read_bytes(path)), start=1):
        fields = line.split("|")
        if len(fields) != _FIELDS[name] + 1 or fields[-1]:
            found, expected = pluralize(len(fields) - 1, "field"), f"{_FIELDS[name]} fields, each followed by a bar (|)"
            raise InputError(path, record=f"line {number}", found=found, expected=expected)
        yield number, fields[:-1]


# Words of other languages for WordNet 3.0's synsets, in the tables of Open Multilingual Wordnet and nltk's omw-1.4.


def read_tab(path: Path, data: bytes, _language: str | None) -> Source:
    """Read an OMW table: a header line, which names the language, then "OFFSET-POS <tab> LANGUAGE:lemma <tab> WORD".

    Each noun or verb synset becomes a concept linked to WordNet 3.0. Lines without "lemma" are ignored.
    """
    first, *lines = text_lines(path, data) or [""]
    title, language, _, licence, *_ = [*first.removeprefix("#").strip().split("\t"), "", "", "", ""]
    names: dict[str, list[str]] = {}
    where: dict[str, str] = {}
    source = Source(str(path), title, [], language or "en", licence)
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


def read_table(path: Path, _data: bytes, language: str | None) -> Source:
    """Read a TSV or CSV file with a header and a concept per row; bars (|) separate several names, parents or links.

    The columns are those of ``COLUMNS``; id and names are required, and a concept without pos is a noun. ``language``
    is the language of the names (default "en").
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


_READERS: dict[str, Callable[[Path, bytes, str | None], Source]] = {
    "wn-lmf": read_lmf,
    "obo": read_obo,
    "owl": read_rdf,
    "skos": read_rdf,
    "omw": read_tab,
    "table": read_table,
    "rrf": read_rrf,
}
FORMATS = tuple(_READERS)
_SUFFIXES = {"tab": "omw", "obo": "obo", "owl": "owl", "rdf": "skos", "ttl": "skos", "nt": "skos", "tsv": "table"}


def read_source(path: Path, form: str | None = None, language: str | None = None) -> Source:
    """Read the words and concepts of a file, which may be gzip-compressed, or of a folder of UMLS files.

    Args:
        form: format, one of ``FORMATS``; detected if None.
        language: language to read, if the file has several; or language of the names, if the file does not state it.

    Raises InputError for a file that cannot be read or contains an invalid record, OptionError for an unknown format,
    MissingExtraError if a required library is not installed.
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
    suffix = Path(name).suffix[1:].lower()
    guesses = (
        "wn-lmf" if b"LexicalResource" in head else _SUFFIXES.get(suffix),
        "obo" if head.startswith(b"format-version:") else None,
        "skos" if b"rdf:RDF" in head else "table" if suffix == "csv" else None,
    )
    found, expected = f"a file of unknown format ({name})", f"a file in one of the formats {', '.join(FORMATS)}"
    if guess := next(filter(None, guesses), None):
        return guess
    raise InputError(path, found=found, expected=expected, hint="select the format with `--format`")
