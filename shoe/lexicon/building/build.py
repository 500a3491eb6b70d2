"""A source of words as the bytes of a compiled lexicon: with concepts of its own, or words for WordNet's."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from shoe.core.errors import InputError
from shoe.lexicon.building.checks import check_ids, check_parents
from shoe.lexicon.building.links import wordnet_numbers
from shoe.lexicon.building.packing import Arrays, pack, text_bytes, texts, word_arrays
from shoe.lexicon.building.source import Source
from shoe.lexicon.compiled import Pos
from shoe.lexicon.keys import keys_of
from shoe.lexicon.other_languages import ENGLISH
from shoe.lexicon.store import sealed, wordnet
from shoe.lexicon.text import LONGEST_LABEL, plain, spelled, tokens

_LANGUAGES = Path(__file__).parents[1] / "data" / "languages.json"
_CODES = {"eng": ENGLISH, "fra": "fr", "fre": "fr", "cmn": "zh", "zho": "zh"}
_PARTS: tuple[Pos, Pos] = ("n", "v")


@dataclass(frozen=True, slots=True)
class Built:
    """A compiled lexicon.

    Attributes:
        content: of the file.
        concepts: how many it has.
        left_out: how many records of each sort are not in it.
    """

    content: bytes
    concepts: int
    left_out: dict[str, int]


def build(source: Source, name: str, *, break_cycles: bool = False) -> Built:
    """Compile a source with concepts of its own; ``name`` is what signatures call the lexicon.

    ``break_cycles`` leaves out a relation of each cycle of parents, rather than refuse the source.

    Raises:
        InputError: naming what makes the source unusable.
    """
    check_ids(source)
    parents = check_parents(source, break_cycles=break_cycles)
    concepts = sorted(source.concepts, key=lambda concept: concept.pos)
    number = {concept.id: index for index, concept in enumerate(concepts)}
    members = [_lemmas(concept.names, source) for concept in concepts]
    senses = _senses(source, number, [concept.pos for concept in concepts], members)
    kinds = {kind: index for index, kind in enumerate(dict.fromkeys(_kind(concept.kind) for concept in concepts))}
    above = [[number[parent] for parent in parents[concept.id]] for concept in concepts]
    arrays: Arrays = {
        "nouns": np.array([sum(concept.pos == "n" for concept in concepts)], np.int32),
        **word_arrays(senses, [[lemma for lemma, _ in listed] for listed in members]),
        "lexname": _wide([kinds[_kind(concept.kind)] for concept in concepts]),
        "lexnames": text_bytes(" ".join(kinds)),
        "hypernym_length": _wide([len(each) for each in above]),
        "hypernym": np.array([parent for each in above for parent in each], np.int32),
        **dict.fromkeys(("doing", "doing_verb", "definition_sense"), np.zeros(0, np.int32)),
        "definition": np.zeros(0, np.uint64),
        **_exceptions(source),
        **texts("name", [concept.id for concept in concepts]),
        **texts("gloss", [" ".join(concept.gloss.split()) for concept in concepts]),
        **texts("link", [" ".join(concept.links) for concept in concepts]),
        "key": keys_of([concept.id for concept in concepts]),
    }
    if len(set(arrays["key"].tolist())) != len(concepts):
        raise InputError(source.path, found="ids that cannot be told apart", expected="other ids")
    return Built(sealed(pack(arrays, _facts(source, name))), len(concepts), source.left_out)


def build_words(source: Source, name: str) -> Built:
    """Compile a source as words for WordNet 3.0's concepts, by what links them; WordNet has glosses and parents.

    Raises:
        InputError: if no concept is linked.
    """
    numbers = wordnet_numbers([concept.links for concept in source.concepts])
    base = wordnet()
    members: list[list[tuple[str, str]]] = [[] for _ in range(len(base))]
    linked: dict[str, int] = {}
    for concept, found in zip(source.concepts, numbers, strict=True):
        if found < 0 or base.pos(found) != concept.pos:
            source.leave_out("concepts that WordNet 3.0 lacks")
            continue
        linked[concept.id] = found
        members[found] += _lemmas(concept.names, source)
    if not linked:
        expected = "interlingual ids, sense keys or offsets of it"
        raise InputError(source.path, found="no concept that is linked to WordNet 3.0", expected=expected)
    senses = _senses(source, linked, [base.pos(synset) for synset in range(len(base))], members)
    # What the source does not put in order goes by how often tagged English texts use the concept.
    for key, synsets in senses.items():
        if key not in source.order:
            synsets.sort(key=lambda synset: (-_uses(synset), synset))
    listed = [list(dict.fromkeys(lemma for lemma, _ in each)) for each in members]
    arrays = {
        **word_arrays(senses, listed),
        **dict.fromkeys(("doing", "doing_verb", "definition_sense"), np.zeros(0, np.int32)),
        "definition": np.zeros(0, np.uint64),
        **_exceptions(source),
    }
    facts = _facts(source, name) | {"concepts": base.digest}
    return Built(sealed(pack(arrays, facts)), len(linked), source.left_out)


def _facts(source: Source, name: str) -> dict[str, Any]:
    language = _language(source)
    about = {"source": Path(source.path).name, "licence": source.licence, "left_out": source.left_out}
    return {"name": name, "title": source.title, "language": language, "about": about} | (
        {"endings": {pos: [] for pos in _PARTS}} | {k: rule for k, rule in _rules(language).items() if k != "forms"}
        if language != ENGLISH
        else {}
    )


def _language(source: Source) -> str:
    first = source.language.lower().split("-")[0]
    return _CODES.get(first, first)


def _rules(language: str) -> dict[str, Any]:
    """How a language inflects, as far as it is known here."""
    rules: dict[str, Any] = msgspec.json.decode(_LANGUAGES.read_bytes()).get(language, {})
    return rules


def _exceptions(source: Source) -> Arrays:
    """Irregular forms: those of the source, before those that its language has anyway."""
    language, found = _language(source), {}
    for pos in _PARTS:
        known = _rules(language).get("forms", {}).get(pos, {})
        forms = {form: bases.split() for form, bases in known.items()}
        forms = dict(wordnet().exceptions[pos]) if language == ENGLISH else forms
        for form, bases in source.forms[pos].items():
            written = spelled(plain(form))
            forms[written] = [*forms.get(written, ()), *(spelled(plain(base)) for base in bases)]
        lines = "".join(f"{form} {' '.join(dict.fromkeys(bases))}\n" for form, bases in forms.items())
        found[f"exceptions_{pos}"] = text_bytes(lines)
    return found


def _lemmas(names: tuple[str, ...], source: Source) -> list[tuple[str, str]]:
    """The lemmas of names, each with its name: as written, and without punctuation where that differs."""
    found: dict[str, str] = {}
    for name in names:
        written = plain(name.strip())
        if not written or len(written) > LONGEST_LABEL:
            source.leave_out("names that are empty or too long")
            continue
        found.setdefault(spelled(written), name)
        if words := tokens(written):
            found.setdefault("_".join(words), name)
    return list(found.items())


def _senses(
    source: Source, number: dict[str, int], pos: list[Pos], members: list[list[tuple[str, str]]]
) -> dict[tuple[str, Pos], list[int]]:
    """The concepts of each lemma, in the source's order where it has one."""
    # Kept in a dictionary, as a name may be one of very many concepts.
    senses: dict[tuple[str, Pos], dict[int, None]] = {}
    for (name, of), ids in source.order.items():
        for lemma, _ in _lemmas((name,), Source("", "", [])):
            senses.setdefault((lemma, of), {}).update((number[id_], None) for id_ in ids if id_ in number)
    for index, lemmas in enumerate(members):
        for lemma, _ in lemmas:
            senses.setdefault((lemma, pos[index]), {})[index] = None
    return {key: list(found) for key, found in senses.items() if found}


def _wide(numbers: list[int]) -> NDArray[Any]:
    """Numbers in two bytes each, or in as many as the largest needs."""
    return np.array(numbers, np.min_scalar_type(max(256, *numbers)))


def _kind(kind: str) -> str:
    return "_".join(kind.split()) or "-"


@cache
def _uses(synset: int) -> int:
    base = wordnet()
    pos = base.pos(synset)
    return sum(
        int(base.tag_count(lemma, pos)[base.senses(lemma, pos) == synset].sum()) for lemma in base.lemmas(synset)
    )
