"""Whole interactions that raters compared, as scoring uses them: by hand."""

from pathlib import Path

import numpy as np
import pytest

from shoe.benchmarks import benchmark
from shoe.core.boxes import Coordinates
from shoe.core.errors import OptionError
from shoe.scoring.score import Report, score
from shoe.similarity.whole_interactions import WholeRatings
from tests.errors import input_error
from tests.maps.samples import written
from tests.oracles.model import ImageScene, Triplet, to_tables

BOX = (0.0, 0.0, 100.0, 100.0)
WHOLE = WholeRatings(
    [
        ("ride", "bicycle", "ride", "bicycle"),  # its own labels: 1, whatever anybody says
        ("ride", "bicycle", "sitting on", "bike"),
        ("ride", "horse", "sitting on", "bike"),
    ],
    np.array([[0, 0], [3, 4], [1, -1]], np.int8),
)
SAID = {"Sitting_on bike": 0.875, "ride bicycle": 1.0, "hugs bicycle": 0.5}
"""Of a class that is ride bicycle: rated 3 and 4, an equal label, and by components where nobody rated it."""


def scored(folder: Path, *options: str, said: str) -> Report:
    def triplet(words: str) -> Triplet:
        verb, object_ = words.split()
        return Triplet(BOX, BOX, verb, object_, 1.0)

    scene = ImageScene("a.jpg", [triplet("ride bicycle")], [triplet(said)], Coordinates.CONTINUOUS)
    truth, predictions = to_tables([scene], benchmark("hico-det").classes)
    return score(predictions, truth, similarity=folder, protocols=["shoe"], options=["unrated=zero", *options])


@pytest.mark.parametrize("said", SAID)
def test_a_whole_rating_counts_instead_of_the_components_where_there_is_one(tmp_path: Path, said: str) -> None:
    written(tmp_path / "map", {}, ("one", "two"), whole=WHOLE)
    report = scored(tmp_path / "map", "compare=interactions", said=said)
    assert report.semantic is not None
    assert report.semantic.matches.sigma.tolist() == [SAID[said]]
    open_ = {"Sitting_on bike": 0.0, "hugs bicycle": 1.0}
    assert report.semantic.components_share == open_.get(said)
    assert "compare:interactions" in str(report.signature)
    by_components = scored(tmp_path / "map", said=said)
    assert by_components.semantic is not None
    assert by_components.semantic.matches.sigma.tolist() == [1.0 if said == "ride bicycle" else 0.5]
    assert "components_share" not in by_components.semantic.to_dict()


def test_whole_ratings_are_part_of_the_map(tmp_path: Path) -> None:
    bare = written(tmp_path / "bare", {}, ("one", "two"))
    whole = written(tmp_path / "map", {}, ("one", "two"), whole=WHOLE)
    assert bare.digest != whole.digest
    assert whole.whole is not None
    assert whole.whole[0].rows == sorted(WHOLE.rows)
    alone = whole.with_raters([1])
    assert alone.whole is not None
    assert alone.whole[1][alone.whole[0].rows.index(WHOLE.rows[1])] == 1
    with pytest.raises(OptionError, match="compare=interactions: map 'bare'"):
        scored(tmp_path / "bare", "compare=interactions", said="ride bicycle")
    table = tmp_path / "map" / "interactions.tsv"
    table.write_text(table.read_text().replace("\t4\n", "\t1\n"))
    with input_error(source=str(table), record=None):
        scored(tmp_path / "map", "compare=interactions", said="ride bicycle")
    assert scored(tmp_path / "map", said="ride bicycle").semantic is not None
