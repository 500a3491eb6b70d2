"""``scripts/build-antonyms``: the shipped file is what the script makes of WordNet, and what nltk reads there."""

import runpy
import sys
from pathlib import Path
from typing import Any

import pytest

from shoe.diagnosis import relations
from shoe.lexicon.store import lexicon

SCRIPT = Path(__file__).parents[2] / "scripts" / "build-antonyms"
SHIPPED = Path(relations.__file__).parent / "data" / "antonyms.tsv"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(SCRIPT))


def pairs() -> list[frozenset[int]]:
    lines = SHIPPED.read_text("utf-8").splitlines()[1:]
    return [frozenset(lexicon().synset(name) for name in line.split("\t")) for line in lines]


def test_the_shipped_file_is_what_the_script_makes(script: dict[str, Any]) -> None:
    if not script["SOURCE"].is_dir():
        pytest.skip("WordNet's files are not in .wordnet: run scripts/setup-wordnet")
    assert script["table"](script["SOURCE"]) == SHIPPED.read_text("utf-8")


def test_it_has_each_pair_once_and_no_other_names_than_the_lexicon() -> None:
    found = pairs()
    assert len(found) == len(set(found)) == 1483
    assert all(len(pair) == 2 and min(pair) >= 0 for pair in found)


def test_it_has_the_antonyms_of_verbs_that_nltk_reads(reader: Any) -> None:
    """Nouns are six times as many, and come about in the same lines."""
    wanted = {
        frozenset(lexicon().synset(s.name()) for s in (synset, other.synset()))
        for synset in reader.all_synsets("v")
        for lemma in synset.lemmas()
        for other in lemma.antonyms()
        if other.synset().pos() == "v"
    }
    assert {pair for pair in pairs() if lexicon().pos(min(pair)) == "v"} == wanted


def test_a_missing_file_is_named(script: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["build-antonyms", str(tmp_path)])
    with pytest.raises(SystemExit, match=r"data\.noun.*scripts/setup-wordnet"):
        script["main"]()
