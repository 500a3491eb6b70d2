"""The built lexicon equals WordNet."""

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from shoe.core.errors import OptionError
from shoe.lexicon import store
from shoe.lexicon.store import glosses, lexicon, sense_keys
from tests.mentions import mentions
from tests.scripts.conftest import loaded


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded("build-lexicon")


@pytest.mark.slow
def test_the_shipped_file_is_what_the_script_makes(script: ModuleType) -> None:
    if not script.SOURCE.is_dir():
        pytest.skip("WordNet's files are not in .wordnet: run scripts/setup-wordnet")
    wordnet = script.WordNet(script.SOURCE)
    data = Path(store.__file__).with_name("data")
    assert script.pack(script.compile_arrays(wordnet)) == (data / "wordnet.bin").read_bytes()
    with np.load(data / "wordnet_texts.npz") as shipped:
        made = script.compile_texts(wordnet)
        assert {name: bytes(made[name]) for name in made} == {name: bytes(shipped[name]) for name in shipped}
    assert wordnet.notice() == (data / "WORDNET-LICENSE.txt").read_text()


def test_a_missing_file_is_named(script: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["build-lexicon", str(tmp_path)])
    with pytest.raises(SystemExit, match=mentions("lexnames … scripts/setup-wordnet")):
        script.main()


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
