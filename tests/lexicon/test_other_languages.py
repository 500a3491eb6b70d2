"""Words of other languages for WordNet's concepts: predictions in French against English classes."""

from pathlib import Path

import pytest

import shoe
from shoe.core.errors import ShoeError
from shoe.lexicon.building.build import build_words
from shoe.lexicon.building.compare import wordnet_numbers
from shoe.lexicon.building.read import read_source
from shoe.lexicon.compiled import Lexicon
from shoe.lexicon.resolve import lexicon_metadata, resolve
from shoe.lexicon.store import use_lexicon, wordnet
from tests.mentions import mentions

pytestmark = pytest.mark.slow

TAB = """# Made\tfra\thttp://example.org\tCC0
01957529-v\tfra:lemma\tmonter
01216670-v\tfra:lemma\ttenir
02374451-n\tfra:lemma\tcheval
02374451-n\tfra:def\t0\tun animal
03906997-n\tfra:lemma\tpièce d'étoffe
00001740-a\tfra:lemma\tcapable
99999999-n\tfra:lemma\trien
"""
CHINESE = "# Made\tcmn\thttp://example.org\tCC0\n01957529-v\tcmn:lemma\t骑\n02374451-n\tcmn:lemma\t马\n"


def words(folder: Path, text: str = TAB) -> Lexicon:
    (folder / "made.tab").write_text(text, "utf-8")
    return Lexicon(build_words(read_source(folder / "made.tab"), "made")[0], wordnet())


def test_words_of_another_language_lead_to_wordnets_senses(tmp_path: Path) -> None:
    french = words(tmp_path)
    assert (len(french), french.name(0), french.language) == (len(wordnet()), "entity.n.01", "fr")
    left_out = {name.split()[0]: count for name, count in french.about["left_out"].items()}
    assert left_out == {"words": 1, "concepts": 1}
    with use_lexicon(french):
        objects = {word: resolve(word, "object").candidates for word in ("les chevaux", "horse", "pièce d'étoffe")}
        assert [[c.lemma for c in found] for found in objects.values()] == [["cheval"], [], ["piece_d'etoffe"]]
        assert objects["les chevaux"][0].name == "horse.n.01"
        for word in ("monte sur", "est en train de monter", "montant"):
            assert [c.name for c in resolve(word, "verb").candidates] == ["ride.v.01"], word
        assert [c.name for c in resolve("tient", "verb").candidates] == ["hold.v.02"]
        facts = lexicon_metadata()
    assert facts["lexicon"] == "made"
    assert facts["lexicon-sha"] != lexicon_metadata()["lexicon-sha"]


def test_languages_without_blanks_are_taken_apart(tmp_path: Path) -> None:
    with use_lexicon(words(tmp_path, CHINESE)):
        assert [c.name for c in resolve("正在骑着", "verb").candidates] == ["ride.v.01"]
        assert [c.name for c in resolve("一个马", "object").candidates] == ["horse.n.01"]


def test_the_map_of_wordnets_senses_scores_them(tmp_path: Path) -> None:
    similarity = shoe.load_similarity("hico-det")
    english, _ = similarity.of_words("verb", [("ride.v.02", "ride")], ["riding"])
    with use_lexicon(words(tmp_path)):
        french, basis = similarity.of_words("verb", [("ride.v.02", "ride")], ["monte", "inconnu"])
    assert french[0, 0] > 0
    assert (french[0, 1], basis[0, 1]) == (0, 0)
    assert english[0, 0] == 1


def test_ids_of_wordnet_need_no_files() -> None:
    horse, ride = wordnet().synset("horse.n.01"), wordnet().synset("ride.v.01")
    links = [["wn30:02374451-n"], ["ili:i48054"], ["wn30:01957529-v", "ili:i31515"], ["ili:i0"], []]
    found = wordnet_numbers(links)
    assert found == [horse, horse, ride, -1, -1]


def test_what_links_to_nothing_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ShoeError, match=mentions("made.tab: … WordNet 3.0")):
        words(tmp_path, "# Made\tfra\tx\tCC0\n99999999-n\tfra:lemma\trien\n")
    with pytest.raises(ShoeError, match=mentions("line 2: … 'cheval' … OFFSET-POS")):
        words(tmp_path, "# Made\tfra\tx\tCC0\ncheval\n")
