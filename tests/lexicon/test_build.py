"""``scripts/build-lexicon``: the shipped file is what the script makes of WordNet, to the byte."""

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from shoe.lexicon import store
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
