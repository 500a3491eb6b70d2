"""UMLS Metathesaurus in Rich Release Format (UMLS Reference Manual, chapter 3): MRCONSO, MRDEF, MRREL, MRSTY.

Their licence forbids to pass them on; the tests have made ones of the same layout.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from shoe.core.errors import InputError, many
from shoe.io.files import read_bytes
from shoe.lexicon.building.source import Concept, Source, text_lines

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
