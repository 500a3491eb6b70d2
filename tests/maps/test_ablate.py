"""Human ratings, and every subset of a map's raters: what it is measured by, and the paper's statistics."""

from pathlib import Path

import pytest

from shoe.core.errors import OptionError
from shoe.demo import PREDICTIONS, TRUTH
from shoe.lexicon.store import names_of
from shoe.maps.ablate import ablate, spread_of, subsets_of
from shoe.maps.diff import scored, semantic_of
from shoe.maps.human_ratings import HumanAgreement, compare_people, map_values, read_human_ratings
from shoe.similarity import SimilarityMap
from tests.maps.samples import content, made, refused_at

PAIRS = """\
class_synset,synset,rating
ride.v.01,straddle.v.01,3
ride.v.01,straddle.v.01,4
ride.v.01,board.v.01,1.5
horse.n.01,pony.n.01,4
ride.v.01,catch.v.01,4
"""
INTERACTIONS = """\
verb_a\tobject_a\tverb_b\tobject_b\trating
ride.v.01\thorse.n.01\tstraddle.v.01\tpony.n.01\t3
ride.v.01\thorse.n.01\teat.v.01\thorse.n.01\t1
ride.v.01\thorse.n.01\tride.v.01\tdog.n.01\t2
ride.v.01\thorse.n.01\tcatch.v.01\tdog.n.01\t0
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "study.csv"
    path.write_text(text)
    return path


def test_pairs_are_averaged_and_verbs_kept_from_objects(tmp_path: Path) -> None:
    verbs, objects = read_human_ratings(written(tmp_path, PAIRS))
    assert (verbs.kind, verbs.lines, verbs.values.tolist()) == ("verbs", 4, [3.5 / 4, 1.5 / 4, 1])
    senses = ("straddle.v.01", "board.v.01", "catch.v.01")
    assert [names_of(pair) for pair in verbs.pairs["verb"]] == [["ride.v.01", sense] for sense in senses]
    assert (objects.kind, objects.lines, objects.values.tolist()) == ("objects", 1, [1])


def test_agreement_on_pairs_by_hand(tmp_path: Path) -> None:
    similarity = made(tmp_path / "a")
    verbs, objects = read_human_ratings(written(tmp_path, PAIRS))
    # Values of the map: straddle 0.625, board 0.25; catch was never rated and takes no part.
    found = compare_people(verbs, map_values(verbs, similarity, [0, 1]))
    assert found.pairs == 2
    assert [found.agreement, found.pearson, found.spearman] == pytest.approx([1 - (0.25 + 0.125) / 2, 1, 1])
    # The first rater alone: straddle 0.75, and no board.
    assert compare_people(verbs, map_values(verbs, similarity, [0])) == HumanAgreement(1, 0.875, None, None)
    assert compare_people(objects, map_values(objects, similarity, [1])) == HumanAgreement(1, 0.75, None, None)


def test_interactions_are_combined_as_scoring_does(tmp_path: Path) -> None:
    (whole,) = read_human_ratings(written(tmp_path, INTERACTIONS))
    similarity = made(tmp_path / "a")
    # Half the verb's and half the object's: (0.625 + 0.875) / 2, (0 + 1) / 2, (1 + 0.25) / 2; catch was never rated.
    ours, theirs = [0.75, 0.5, 0.625], [0.75, 0.25, 0.5]
    found = compare_people(whole, map_values(whole, similarity, [0, 1]))
    assert found.pairs == 3
    assert found.agreement == pytest.approx(1 - sum(abs(a - b) for a, b in zip(ours, theirs, strict=True)) / 3)
    assert found.spearman == pytest.approx(1)
    # The second rater alone did not rate the dog.
    assert compare_people(whole, map_values(whole, similarity, [1])).pairs == 2


def test_any_name_of_a_sense_is_taken(tmp_path: Path) -> None:
    (verbs,) = read_human_ratings(written(tmp_path, "class_synset,synset,rating\nride.v.01,mount.v.05,4\n"))
    assert [names_of(pair) for pair in verbs.pairs["verb"]] == [["ride.v.01", "hop_on.v.01"]]


PAIR_HEADER, WHOLE = "class_synset,synset,rating", "verb_a,object_a,verb_b,object_b,rating"
REFUSED = [
    (PAIR_HEADER, "ride.v.01,eat.v.01,5", "line 2: rating", "found '5', expected a number from 0 to 4"),
    (PAIR_HEADER, "ride.v.01,eat.v.01,nan", "line 2: rating", "found 'nan'"),
    (PAIR_HEADER, "ride.v.01,eat.v.01,", "line 2: rating", "found ''"),
    (PAIR_HEADER, "ride,eat.v.01,1", "line 2: class_synset", "found 'ride'"),
    (PAIR_HEADER, "horse.n.01,eat.v.01,1", "line 2: synset", "'eat.v.01', expected a noun"),
    (PAIR_HEADER, "ride.v.01,eat.v.01", "line 2", "2 fields, expected 3"),
    ("class_synset,synset,score", "ride.v.01,eat.v.01,1", "line 1", "'class_synset synset score', expected class_s"),
    (WHOLE, "ride.v.01,horse.n.01,pony.n.01,horse.n.01,1", "line 2: verb_b", " verb, such as ride.v.01"),
    (WHOLE, "ride.v.01,eat.v.01,ride.v.01,horse.n.01,1", "line 2: object_a", " noun, such as horse.n.01"),
]


@pytest.mark.parametrize(("header", "row", "where", "said"), REFUSED)
def test_broken_files_are_refused(tmp_path: Path, header: str, row: str, where: str, said: str) -> None:
    path = written(tmp_path, f"{header}\n{row}\n")
    with refused_at(where, said, source=str(path)):
        read_human_ratings(path)


def test_subsets_by_size_then_by_raters() -> None:
    assert (subsets_of(3), len(subsets_of(10))) == ([(0,), (1,), (2,), (0, 1), (0, 2), (1, 2), (0, 1, 2)], 1023)
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
    assert ([subset.map for subset in found.subsets], found.correlations["verbs"][0].pairs) == ([None, None, None], 2)
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
    pairs = {raters: agreement.pairs for raters, agreement in agreements.items()}
    assert pairs == {("one",): 1, ("two",): 2, ("one", "two"): 2}
    figures = [agreement.agreement or 0 for agreement in agreements.values()]
    assert figures == pytest.approx([0.875, 1 - (0.375 + 0.125) / 2, 0.8125])
    assert found.sizes[0].human_agreement is not None
    assert found.sizes[0].human_agreement["verbs"].mean == pytest.approx((0.875 + 0.75) / 2)
