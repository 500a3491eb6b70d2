"""OBO through fastobo, OWL and SKOS through pyoxigraph (extra ``lexicon``): ontologies' names, definitions, parents."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, MissingExtraError
from shoe.lexicon.building.markup import parse_xml
from shoe.lexicon.building.source import Concept, Source, text_lines

_SKOS = "http://www.w3.org/2004/02/skos/core#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_OWL = "http://www.w3.org/2002/07/owl#"
_OBO = "http://www.geneontology.org/formats/oboInOwl#"
_NAMES = (f"{_SKOS}prefLabel", f"{_RDFS}label", f"{_SKOS}altLabel", f"{_OBO}hasExactSynonym")
_GLOSSES = (f"{_SKOS}definition", "http://purl.obolibrary.org/obo/IAO_0000115", f"{_RDFS}comment")
_PARENTS = (f"{_SKOS}broader", f"{_RDFS}subClassOf")
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_FORMATS = {".ttl": "TURTLE", ".nt": "N_TRIPLES"}
_BASE = "file:///"
"""What relative addresses are of; of an address its last part counts."""


def read_obo(path: str, data: bytes, language: str | None) -> Source:
    """Read the terms of an OBO file: exact synonyms are names, is_a are parents; obsolete ones are left out.

    Nothing that the file imports is fetched.

    Raises:
        MissingExtraError: without fastobo.
        InputError: for what is no OBO.
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
    source = Source(path, Path(path).name.partition(".")[0], [], language or "en")
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
        source.concepts.append(
            Concept(
                str(frame.id),
                tuple(dict.fromkeys([said["name"][0].name, *exact])),
                gloss=str(said["def"][0].definition) if "def" in said else "",
                parents=tuple(dict.fromkeys(str(one.term) for one in said.get("is_a", ()))),
                kind=str(said["namespace"][0].namespace) if "namespace" in said else "",
                where=f"term {frame.id}",
            )
        )
    return source


def read_rdf(path: str, data: bytes, language: str | None) -> Source:
    """Read the concepts of SKOS, or the classes of OWL: labels are names, broader ones and superclasses parents.

    A concept's id is the last part of its address, the whole where two share it. Labels in other languages are left
    out. Nothing that the file imports is fetched, and no entity is expanded.

    Raises:
        MissingExtraError: without pyoxigraph.
        InputError: for what is no RDF.
    """
    try:
        from pyoxigraph import NamedNode, RdfFormat, parse
    except ImportError:
        raise MissingExtraError("reading OWL and SKOS", "lexicon") from None
    kind = _FORMATS.get(Path(path.removesuffix(".gz")).suffix.lower(), "RDF_XML")
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
    short = {node: _last(node) for node in nodes}
    often = Counter(short.values())
    ids = {address: last if often[last] == 1 else address for address, last in short.items()}
    source = Source(path, Path(path).name.partition(".")[0], [], language)
    for node in nodes:
        names = tuple(dict.fromkeys(_texts(said[node], _NAMES, language)))
        if not names:
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


def _texts(of: dict[str, list[Any]], predicates: Iterable[str], language: str) -> Iterator[str]:
    from pyoxigraph import Literal

    for predicate in predicates:
        said = (text for text in of.get(predicate, ()) if isinstance(text, Literal))
        said = (text for text in said if (text.language or language).split("-")[0] == language)
        yield from sorted(" ".join(text.value.split()) for text in said)
