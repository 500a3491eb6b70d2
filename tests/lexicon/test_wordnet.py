"""Definitions out of WordNet's own files are those that nltk reads, wherever the files are."""

import zipfile
from pathlib import Path
from typing import Any

import pytest

from shoe.core.errors import InputError, MissingExtraError
from shoe.lexicon import wordnet
from shoe.lexicon.store import lexicon
from shoe.lexicon.wordnet import glosses


@pytest.fixture
def only_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the one place to look."""
    everywhere = wordnet.folders
    monkeypatch.setattr(wordnet, "folders", lambda: (f for f in everywhere() if str(f).startswith(str(tmp_path))))
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    return tmp_path


def test_every_definition_is_nltk_s(reader: Any) -> None:
    names = [lexicon().name(synset) for synset in range(len(lexicon()))]
    assert glosses(names, "this test") == {name: reader.synset(name).definition() for name in names}


def test_a_zip_file_as_nltk_downloads_it_will_do(only_here: Path, reader: Any) -> None:
    corpora = only_here / "corpora"
    corpora.mkdir()
    with zipfile.ZipFile(corpora / "wordnet.zip", "w") as packed:
        for name in ("data.noun", "data.verb"):
            with reader.open(name) as stream:
                packed.writestr(f"wordnet/{name}", stream.read())
    assert glosses(["ride.v.01"], "this test") == {"ride.v.01": reader.synset("ride.v.01").definition()}


def test_without_the_files_the_message_says_how_to_get_them(only_here: Path) -> None:
    with pytest.raises(MissingExtraError, match="asking needs WordNet's files: run `scripts/setup-wordnet`"):
        glosses(["ride.v.01"], "asking")


def test_another_wordnet_is_refused(only_here: Path) -> None:
    folder = only_here / "corpora" / "wordnet"
    folder.mkdir(parents=True)
    for name in ("data.noun", "data.verb"):
        (folder / name).write_text("  1 licence\n00001740 03 n 01 entity 0 000 | that which is\n")
    with pytest.raises(InputError, match=r"found 2 nouns and verbs, expected WordNet 3.0, which has 95882"):
        glosses(["ride.v.01"], "this test")
