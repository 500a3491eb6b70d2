"""Learning from a map's ratings: features, check of each class, and withheld ratings."""

import re
from io import StringIO
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from shoe.lexicon.store import ids_of
from shoe.maps import learn
from shoe.report.maps import learned_table
from shoe.similarity import SimilarityMap, write_map


def test_features_from_the_same_class_do_not_reveal_a_rating() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    vectors = rng.random((12, 4), np.float32)
    relatives = sparse.csr_array(1 - np.eye(12, dtype=np.float32))
    features = learn.PairFeatures(
        {}, vectors / np.linalg.norm(vectors, axis=1)[:, None], relatives, np.arange(3, dtype=np.int32)
    )
    ratings = np.where(rng.random((3, 12)) < 0.7, rng.integers(0, 5, (3, 12)), np.nan).astype(np.float32)
    found = features.from_ratings(ratings)
    assert np.ptp(found["class mean"], axis=1).tolist() == [0, 0, 0]
    assert found["class mean"][:, 0] == pytest.approx(np.nanmean(ratings, axis=1))
    for row, column in np.argwhere(~np.isnan(ratings)):
        changed = ratings.copy()
        changed[row, column] = 4 - changed[row, column]
        for name in ("relatives", "sense mean"):
            now = features.from_ratings(changed)[name][row, column]
            assert now == pytest.approx(found[name][row, column], nan_ok=True), name
        by_gloss = [features.by_gloss(each, np.array([row]), np.array([column])) for each in (ratings, changed)]
        assert by_gloss[0] == by_gloss[1]


def test_glosses_weigh_by_the_eighth_power_of_their_similarity() -> None:
    sparse = pytest.importorskip("scipy.sparse")
    cosines = np.array([1, 0.9, 0.5], np.float32)
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    features = learn.PairFeatures({}, vectors, sparse.csr_array(np.zeros((3, 3), np.float32)), np.zeros(1, np.int32))
    found = features.by_gloss(np.array([[np.nan, 3, 1]], np.float32), np.zeros(1, int), np.zeros(1, int))
    weights = 0.9**8, 0.5**8
    assert found["support of glosses"][0] == pytest.approx(sum(weights), rel=1e-5)
    assert found["similar glosses"][0] == pytest.approx((3 * weights[0] + weights[1]) / sum(weights), rel=1e-5)


def test_a_class_with_few_rated_pairs_has_assumed_zeros_in_other_files() -> None:
    same_file = np.zeros((3, 1000), np.float32)
    same_file[:, :300] = 1
    row, column = np.array([0] * 120 + [1] * 30), np.concatenate([np.arange(280, 400), np.arange(290, 320)])
    rows, columns = learn._assumed_zeros(row, column, same_file)
    # The first class has enough pairs, and the last has none: nothing is known about it.
    assert (rows == 1).all()
    assert len(set(columns.tolist())) == len(columns) == 70
    assert columns.min() >= 320


def test_a_class_whose_unrated_senses_get_more_credit_than_the_rated_ones_is_suspect() -> None:
    classes = ids_of(["paint.v.02", "ride.v.01", "hold.v.02"])
    ratings = np.full((3, 1000), np.nan)
    ratings[:2, :98] = np.arange(98) < 29  # 30 of 100 with the two added senses
    ratings[2, :2] = 0  # few ratings: 1 of 4
    predicted = np.zeros((3, 1000))
    predicted[0, 98:] = 0.67
    predicted[1, 98:600] = 0.5
    predicted[2, 2:500] = 0.67
    assert learn.suspect_classes(classes, predicted, ratings) == [learn.SuspectClass("paint.v.02", 1, 0.3)]
    predicted[0] = 0.49
    predicted[2, :] = 1
    assert learn.suspect_classes(classes, predicted, ratings) == [learn.SuspectClass("hold.v.02", 1, 0.25)]


def test_a_suspect_class_is_reported_with_its_fractions() -> None:
    accuracy = learn.Validation(1, None, None, 0, 0, [])
    suspect = learn.SuspectClass("paint.v.02", 1, 0.3)
    parts = [learn.PartLearned(1, 1, accuracy, accuracy, suspects) for suspects in ([suspect], [])]
    console = Console(width=1000, record=True, file=StringIO())
    console.print(learned_table(learn.MapLearned(*parts)))
    last = console.export_text().splitlines()[-1]
    assert re.match(r"paint\.v\.02: .* 0\.5 .* 100\.00 % .*\(30\.00 %\)", last)


@pytest.mark.slow
def test_what_was_withheld_is_predicted(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    whole = SimilarityMap.load("hico-det")
    kept = {part: table[np.arange(len(table)) % 5 > 2] for part, table in whole.tables.items()}
    write_map(tmp_path / "map", dataset="hico-det", raters=whole.raters, pairs=kept)
    figures = learn.train_on_map(str(tmp_path / "map"))
    similarity = SimilarityMap.load(tmp_path / "map")
    assert similarity.learned is not None
    for part, learned, least in (("verb", figures.verbs, 0.45), ("object", figures.objects, 0.7)):
        assert (learned.by_sense.rho or 0) > least
        assert learned.suspect_classes == []
        table = whole.tables[part]  # type: ignore[index]
        withheld = np.arange(len(table)) % 5 == 0
        values = 4 * whole.pair_values(part)[withheld]  # type: ignore[arg-type]
        of_part = similarity.learned[part]  # type: ignore[index]
        columns, column = np.unique(table.sense[withheld], return_inverse=True)
        classes, row = np.unique(table.class_sense[withheld], return_inverse=True)
        found = 4 * of_part.expected(classes, columns)[row, column]
        assert np.corrcoef(found, values)[0, 1] > 0.6
        # What is nearer to 0 than to 1 counts 0, so that predictions lie lower than ratings.
        assert -0.15 < found.mean() - values.mean() < 0.05
    sure = ids_of(["horse.n.01"]), ids_of(["pony.n.01", "spoon.n.01"])
    near, far = similarity.learned["object"].expected(*sure)[0]
    assert near > 0.4 > 0.1 > far
