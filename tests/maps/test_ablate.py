"""Every subset of a map's raters: what it is measured by, and the paper's statistics."""

from pathlib import Path

import pytest

from shoe.core.errors import OptionError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.maps.ablate import ablate, spread_of, subsets_of
from shoe.maps.diff import scored, semantic_of
from shoe.maps.human_ratings import read_human_ratings
from shoe.similarity import SimilarityMap
from tests.maps.samples import content, made
from tests.maps.test_human import PAIRS, written


def test_subsets_by_size_then_by_raters() -> None:
    assert subsets_of(3) == [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)]
    assert len(subsets_of(10)) == 1023
    with pytest.raises(OptionError, match=r"11 raters .*2,047 subsets.* 10 raters"):
        subsets_of(11)


def test_mean_and_deviation_are_the_papers() -> None:
    """SHOE supplement, Table 1: agreement of the five subsets of four raters, printed with 85.82 ± 0.42."""
    of_four = spread_of([85.67, 85.86, 86.40, 85.91, 85.24])
    assert of_four is not None
    assert (round(of_four.mean, 2), round(of_four.standard_deviation or 0, 2)) == (85.82, 0.42)
    assert (of_four.subsets, of_four.lowest, of_four.highest) == (5, 85.24, 86.40)
    of_five = spread_of([85.73, None])
    assert of_five is not None
    assert (of_five.subsets, of_five.standard_deviation) == (1, None)
    assert spread_of([None]) is None


def test_rows_say_on_how_many_pairs_they_rest(tmp_path: Path) -> None:
    found = ablate(made(tmp_path / "a"))
    assert {tuple(subset.raters): subset.rated for subset in found.subsets} == {
        ("one",): {"verbs": 2, "objects": 2},
        ("two",): {"verbs": 3, "objects": 1},
        ("one", "two"): {"verbs": 3, "objects": 2},
    }
    assert [subset.map for subset in found.subsets] == [None, None, None]
    assert found.correlations["verbs"][0].pairs == 2
    assert found.all_subsets.map is None


@pytest.mark.slow
def test_each_subset_scores_as_a_map_that_it_alone_made(tmp_path: Path) -> None:
    shipped = SimilarityMap.load("hico-det", "mean")
    found = ablate(shipped, scored(PREDICTIONS["free text"], TRUTH, "hico-det", "hico-det"))
    tables = [content(shipped.tables["verb"]), content(shipped.tables["object"])]
    for subset in found.subsets[3:4]:
        columns = [[rater.name for rater in shipped.raters].index(name) for name in subset.raters]
        rows = {f"{a} {b}": [row[c] for c in columns] for t in tables for (a, b), row in t.items()}
        folder = tmp_path / "-".join(subset.raters)
        made(folder, rows, subset.raters)
        alone = semantic_of(scored(PREDICTIONS["free text"], TRUTH, str(folder), "hico-det"))
        assert (subset.map, subset.mf1) == (alone.map, alone.mf1)
    single = found.sizes[0].map
    assert single is not None
    assert single.lowest < single.highest


def test_people_are_compared_with_each_subset(tmp_path: Path) -> None:
    found = ablate(made(tmp_path / "a"), human=read_human_ratings(written(tmp_path, PAIRS)))
    agreements = {tuple(subset.raters): (subset.human or {})["verbs"] for subset in found.subsets}
    assert {raters: agreement.pairs for raters, agreement in agreements.items()} == {
        ("one",): 1,
        ("two",): 2,
        ("one", "two"): 2,
    }
    figures = [agreement.agreement or 0 for agreement in agreements.values()]
    assert figures == pytest.approx([0.875, 1 - (0.375 + 0.125) / 2, 0.8125])
    assert found.sizes[0].human_agreement is not None
    assert found.sizes[0].human_agreement["verbs"].mean == pytest.approx((0.875 + 0.75) / 2)
