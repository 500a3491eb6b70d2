"""Maps that extend a shipped one: what they add, and what stays as it was."""

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.core.io.files import data_folder
from shoe.lexicon.senses import POS, Part
from shoe.lexicon.store import ids_of
from shoe.similarity import RatedPairs, Rater, SimilarityMap, load_similarity, write_map
from shoe.similarity.map_files import ABOUT
from tests.cli.run import refused
from tests.cli.test_maps import run
from tests.errors import input_error, option_error
from tests.present import present
from tests.tables import pairs_by_name


@pytest.fixture(scope="module")
def v_coco() -> SimilarityMap:
    return SimilarityMap.load("v-coco")


def test_what_the_other_map_rates_stays_as_it_is(v_coco: SimilarityMap, hico: SimilarityMap) -> None:
    """Each rater's ratings of each pair, those of the further rater apart."""
    for part in POS:
        old, new = hico.tables[part], v_coco.tables[part]
        assert (new.ratings[new.rows_of(old.class_sense, old.sense), : len(hico.raters)] == old.ratings).all()
        others = np.isin(new.keys, old.keys, invert=True)
        assert (new.ratings[others, : len(hico.raters)] == -1).all()
        assert (new.ratings[others, len(hico.raters)] >= 0).all()
    assert v_coco.raters[: len(hico.raters)] == hico.raters
    assert hico.digest == "ef142440"
    assert v_coco.digest != hico.digest


def test_all_class_senses_are_rated_with_one_another(v_coco: SimilarityMap) -> None:
    classes = benchmark("v-coco").classes
    synsets_of: dict[Part, tuple[str, ...]] = {"verb": classes.verb_synsets, "object": classes.object_synsets}
    for part, synsets in synsets_of.items():
        senses = ids_of(dict.fromkeys(synsets))
        assert not np.isnan(v_coco.values(part, senses, senses)).any()
    nothing = dict.fromkeys(rater.name for rater in v_coco.raters)
    assert v_coco.ratings("verb", "snowboard.v.01", "ski.v.01") == nothing | {"reading_v": 3}
    # Nobody rated the one class sense for predictions of what is left; those of the others are at hand.
    assert load_similarity("v-coco").predicted("verb", ids_of(["hold.v.02"]), ids_of(["hoard.v.01"])) is not None


def _extending(folder: Path, hico: SimilarityMap, **prose: Any) -> SimilarityMap:
    """Write a map that extends hico-det by two ratings of donkey.n.01, the symbol of a party, and load it."""
    pairs = pairs_by_name({("donkey.n.01", "elephant.n.01"): [1], ("donkey.n.01", "horse.n.01"): [0]}, 1)
    tables: dict[Part, RatedPairs] = {"verb": RatedPairs.empty(1), "object": pairs}
    write_map(folder, dataset="mine", raters=[Rater("me", "me")], pairs=tables, prose=prose, extends=hico)
    return SimilarityMap.load(folder)


def test_a_rating_counts_in_either_direction(tmp_path: Path, hico: SimilarityMap) -> None:
    forward = hico.between("object", ["horse.n.01"], ["donkey.n.01", "domestic_ass.n.01"]).tolist()[0]
    assert None not in forward
    one_way, either = (_extending(tmp_path / str(flag), hico, either_direction=flag) for flag in (False, True))
    pairs = ["donkey.n.01"], ["elephant.n.01", "horse.n.01", "bear.n.01"]
    assert np.isnan(one_way.between("object", *pairs)).tolist() == [[False, False, True]]
    back = hico.between("object", ["horse.n.01", "bear.n.01"], ["donkey.n.01"])
    # hico-det's raters and the new rater count for donkey and horse: the mean of both.
    assert either.ratings("object", "donkey.n.01", "horse.n.01")["me"] == 0  # type: ignore[index]
    assert np.isnan(back[1, 0]) == np.isnan(either.between("object", *pairs)[0, 2])
    assert either.digest != one_way.digest
    assert [len(each.own_tables["object"]) for each in (one_way, either)] == [2, 2]


def test_a_prediction_for_the_second_sense_counts_if_it_is_higher() -> None:
    """SWIG-HOI's crop.n.05 is the stock of a whip; images show plants."""
    swig = load_similarity("swig-hoi")
    senses = ids_of(["crop.n.05"]), ids_of(["cover_crop.n.01", "crop.n.02", "whip.n.01"])
    assert np.isnan(swig.values("object", *senses)).tolist() == [[True, False, False]]
    assert present(swig.predicted("object", *senses))[0, 0] > 0.7
    assert swig.values("object", *senses)[0, 1] == 1
    (value,), _ = swig.of_words("object", [("crop.n.05", "crop")], ["cover crop"])
    assert value[0] > 0.7


def test_a_class_is_as_similar_as_the_more_similar_of_its_two_senses(tmp_path: Path, hico: SimilarityMap) -> None:
    plain = _extending(tmp_path / "plain", hico, either_direction=True)
    seconds = {"object": {"donkey.n.01": "domestic_ass.n.01"}}
    made = _extending(tmp_path / "made", hico, either_direction=True, second_senses=seconds)
    others = ["elephant.n.01", "horse.n.01"]
    first = plain.between("object", ["donkey.n.01"], others)[0]
    second = hico.between("object", others, ["domestic_ass.n.01"])[:, 0]
    assert second[1] > first[1]
    assert made.between("object", ["donkey.n.01"], others)[0].tolist() == np.fmax(first, second).tolist()
    assert made.between("object", ["donkey.n.01"], ["domestic_ass.n.01", "donkey.n.01"]).tolist() == [[1, 1]]
    assert made.digest != plain.digest
    again = _extending(tmp_path / "again", hico, **made.provenance)
    assert (again.second_senses, again.digest) == (made.second_senses, made.digest)
    with option_error("'donkey.n.09'", "noun"):
        _extending(tmp_path / "no", hico, second_senses={"object": {"donkey.n.01": "donkey.n.09"}})


@pytest.mark.slow
def test_a_map_is_made_of_what_it_adds(tmp_path: Path) -> None:
    table = tmp_path / "mine.tsv"
    table.write_text("class_synset\tsynset\tme\nride.v.01\tstraddle.v.01\t1\nride.v.01\thoard.v.01\t4\n")
    run("import", tmp_path / "mine", table, "--extends", "hico-det")
    assert (tmp_path / "mine" / "objects.tsv").read_text() == "class_synset\tsynset\tme\n"
    made = SimilarityMap.load(tmp_path / "mine")
    # By hand: readings 2, 2 (half each), 3, and now 1: (0.5 * 2 + 0.5 * 2 + 3 + 1) / 3 / 4.
    assert made.between("verb", ["ride.v.01"], ["straddle.v.01", "hoard.v.01"]).tolist() == [[0.5, 1.0]]
    refused(run("import", tmp_path / "no", table, "--extends", "wup"), "unknown shipped map 'wup'")
    table.write_text(table.read_text().replace("me", "pass_a"))
    refused(run("import", tmp_path / "no", table, "--extends", "hico-det"), "hico-det has a rater of this name")


def test_a_map_knows_what_it_extends(tmp_path: Path) -> None:
    folder = copytree(data_folder("similarity_maps") / "v-coco", tmp_path / "mine")
    about = json.loads((folder / ABOUT).read_bytes())
    for name, digest in (("hico-det", "00000000"), ("hico-dett", about["extends"]["digest"])):
        (folder / ABOUT).write_text(json.dumps(about | {"extends": {"name": name, "digest": digest}}))
        with input_error(f"'{name}'", f"the shipped map {name}", source=str(folder / ABOUT), field="extends"):
            SimilarityMap.load(folder)
