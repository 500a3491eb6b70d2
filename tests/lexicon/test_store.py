from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st

from shoe.lexicon import store as store_module
from shoe.lexicon.store import Lexicon, ids_of, lexicon


def test_facts_of_one_verb() -> None:
    words = lexicon()
    ride = words.senses("ride", "v")
    first = int(ride[0])
    assert [words.name(s) for s in ride[:3].tolist()] == ["ride.v.01", "ride.v.02", "ride.v.03"]
    assert (words.synset("ride.v.01"), words.lemmas(first)) == (first, ["ride", "sit"])
    assert [words.name(s) for s in words.hypernyms(first).tolist()] == ["travel.v.01"]
    assert (words.lexname(first), words.pos(first)) == ("verb.motion", "v")
    assert len(words.tag_count("ride", "v")) == len(ride)
    # A synset answers to each of its lemmas.
    assert words.synset("sofa.n.01") == words.synset("Couch.n.01") == words.synset("lounge.n.01") >= 0


@pytest.mark.parametrize(
    "name", ["", "ride", "ride.v", "ride.v.99", "ride.v.00", "ride.v.x", "ride.a.01", "..", "xyz.n.01"]
)
def test_unknown_names_are_minus_one(name: str) -> None:
    assert lexicon().synset(name) == -1


def test_unknown_lemmas_have_no_senses() -> None:
    words = lexicon()
    unknown = (words.senses("blorft", "n"), words.tag_count("blorft", "n"), words.senses("handlebar", "v"))
    assert [found.tolist() for found in unknown] == [[], [], []]
    assert (words.has("handlebar", "v"), words.base_forms("", "n")) == (False, [])


def test_words_that_tagged_texts_use_as_adjectives() -> None:
    words = ("brown", "small", "dog", "glass", "building", "blorft")
    assert [word for word in words if lexicon().adjective_first(word)] == ["brown", "small"]


@given(st.integers(0, len(lexicon()) - 1))
def test_every_synset_is_a_sense_of_its_lemmas(synset: int) -> None:
    words = lexicon()
    assert words.synset(words.name(synset)) == synset
    assert all(synset in words.senses(lemma, words.pos(synset)) for lemma in words.lemmas(synset))
    assert all(words.pos(int(above)) == words.pos(synset) for above in words.hypernyms(synset))


@given(st.text())
def test_any_text_may_be_asked_for(text: str) -> None:
    words = lexicon()
    assert words.senses(text, "n").dtype == np.int32
    assert all(words.has(base, "v") for base in words.base_forms(text, "v"))
    assert words.synset(text) >= -1


def test_the_digest_is_that_of_the_file_and_the_licence_notice_lies_beside_it() -> None:
    folder = Path(store_module.__file__).with_name("data")
    assert Lexicon((folder / "wordnet.bin").read_bytes()).digest == lexicon().digest
    assert len(lexicon().digest) == 8
    assert "WordNet 3.0 Copyright 2006" in (folder / "WORDNET-LICENSE.txt").read_text()


def test_ids_of_many_names_are_those_of_each_name() -> None:
    others = ["", "bike.n.02", "RIDE.V.01", "ride.v.99", "hot dog", "ride", "ríde.v.01", "x" * 300]
    assert ids_of(others).tolist() == [lexicon().synset(name) for name in others]
    assert ids_of([]).shape == (0,)


def test_verbs_that_nouns_of_doing_come_from_and_senses_by_the_words_of_their_definitions() -> None:
    words = lexicon()
    assert words.verbs_of("conversation") == ["converse"]
    assert "look" in words.verbs_of("look")
    assert words.verbs_of("pizza") == words.verbs_of("blorft") == words.verbs_of("") == []
    assert words.defined("blorft") == words.defined("") == []
    defined = {said: [words.name(sense) for sense in words.defined(said)] for said in ("look over", "tongue", "sit on")}
    assert "inspect.v.01" in defined["look over"]
    assert "lick.v.02" in defined["tongue"]
    # What two conjuncts say together is no definition of one: "sit on and control a vehicle" is not sitting on.
    assert "drive.v.02" not in defined["sit on"]
