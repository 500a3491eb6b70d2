"""The compiled lexicon against nltk's reader of WordNet's own files, over everything that both hold."""

from itertools import chain
from typing import Any

import pytest

from shoe.lexicon.senses import bases
from shoe.lexicon.store import Pos, lexicon
from shoe.lexicon.text import undoubled

PARTS: tuple[Pos, Pos] = ("n", "v")


def inflected(lemma: str, pos: Pos) -> list[str]:
    """Forms on which each of morphy's suffix rules has something to do, existing words or not."""
    endings = ("s",) if pos == "n" else ("s", "es", "ed", "ing")
    changed = {"y": ["ies"], "e": ["ed", "ing"], "f": ["ves"], "n": ["men"], "s": ["ses"], "x": ["xes"], "h": ["hes"]}
    return [lemma + e for e in endings] + [lemma[:-1] + e for e in changed.get(lemma[-1], [])]


@pytest.mark.parametrize("pos", PARTS)
def test_all_lemmas_have_the_same_senses(reader: Any, pos: Pos) -> None:
    ours = lexicon()
    index = {lemma: parts[pos] for lemma, parts in reader._lemma_pos_offset_map.items() if pos in parts}
    assert len(index) == {"n": 117_798, "v": 11_529}[pos]
    number = {s.offset(): i for i, s in enumerate(reader.all_synsets(pos), start=0 if pos == "n" else ours.nouns)}
    wrong = [
        lemma for lemma, offsets in index.items() if ours.senses(lemma, pos).tolist() != [number[o] for o in offsets]
    ]
    assert not wrong


@pytest.mark.parametrize("pos", PARTS)
def test_all_synsets_have_the_same_facts(reader: Any, pos: Pos) -> None:
    ours = lexicon()
    synsets = list(reader.all_synsets(pos))
    first = 0 if pos == "n" else ours.nouns
    assert len(synsets) == (ours.nouns if pos == "n" else len(ours) - ours.nouns)
    for number, synset in enumerate(synsets, start=first):
        name = synset.name()
        assert (ours.name(number), ours.synset(name), ours.pos(number)) == (name, number, pos)
        assert ours.lexname(number) == synset.lexname()
        # By intent: lemmas are lower-case here, and nltk keeps hypernyms of instances under another name.
        assert ours.lemmas(number) == [lemma.lower() for lemma in synset.lemma_names()]
        above = sorted(s.name() for s in synset.hypernyms() + synset.instance_hypernyms())
        assert sorted(map(ours.name, ours.hypernyms(number).tolist())) == above


@pytest.mark.parametrize("pos", PARTS)
def test_base_forms_are_those_of_morphy(reader: Any, pos: Pos) -> None:
    ours = lexicon()
    lemmas = [lemma for lemma, parts in reader._lemma_pos_offset_map.items() if pos in parts]
    exceptions = reader._exception_map[pos]
    assert ours.exceptions[pos] == exceptions
    words = set(chain(lemmas, exceptions, chain.from_iterable(inflected(lemma, pos) for lemma in lemmas)))
    assert len(words) > 2 * len(lemmas)
    assert not [word for word in words if ours.base_forms(word, pos) != reader._morphy(word, pos)]


def test_bases_of_verbs_differ_from_morphy_by_intent_only(reader: Any) -> None:
    """Fewer where English would spell the form otherwise ("hoping": hop), one more where morphy has none."""
    words = {form for lemma in reader.all_lemma_names("v") if lemma.isalpha() for form in inflected(lemma, "v")}
    for word in words | set(reader._exception_map["v"]):
        theirs = reader._morphy(word, "v")
        assert set(bases(word, "verb")) <= set(theirs or [undoubled(word)])
        assert bool(bases(word, "verb")) >= bool(theirs)
        if word in reader._exception_map["v"]:
            assert list(bases(word, "verb")) == theirs


def test_tag_counts_are_those_of_nltk(reader: Any) -> None:
    ours = lexicon()
    for word in ("ride", "hold", "sit", "dog", "person", "horse", "hot_dog"):
        for pos in PARTS:
            counts = [lemma.count() for s in reader.synsets(word, pos) for lemma in s.lemmas() if lemma.name() == word]
            if word in reader._lemma_pos_offset_map and ours.has(word, pos):
                assert ours.tag_count(word, pos).tolist() == counts
