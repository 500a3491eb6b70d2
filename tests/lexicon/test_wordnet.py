"""Definitions and sense keys that shoe contains are those that nltk reads from WordNet's own files."""

from typing import Any

import pytest

from shoe.core.errors import OptionError
from shoe.lexicon.store import glosses, lexicon, sense_keys

GLOSSES = {
    "ride.v.01": "sit and travel on the back of animal, usually while controlling its motions",
    "pony.n.02": "an informal term for a racehorse",
}


def test_a_definition_needs_no_file_of_wordnet() -> None:
    assert glosses(list(GLOSSES)) == GLOSSES
    with pytest.raises(OptionError, match=r"'glorp\.v\.01'"):
        glosses(["ride.v.01", "glorp.v.01"])
    assert sense_keys()["ride%2:38:01::"] == lexicon().synset("ride.v.01")


def test_every_definition_is_nltk_s(reader: Any) -> None:
    names = [lexicon().name(synset) for synset in range(len(lexicon()))]
    assert glosses(names) == {name: reader.synset(name).definition() for name in names}


def test_every_sense_key_is_nltk_s(reader: Any) -> None:
    keys = sense_keys()
    with reader.open("index.sense") as stream:
        listed = {line.split(" ")[0] for line in stream if line.partition("%")[2][:1] in "12"}
    assert listed <= keys.keys()
    assert len(keys) - len(listed) < 10  # eight words that WordNet writes in two ways, such as Earth and earth
    for key in sorted(listed)[::100]:
        assert reader.lemma_from_key(key).synset().name() == lexicon().name(keys[key]), key
