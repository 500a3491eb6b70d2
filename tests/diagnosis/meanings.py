"""A map of a few ratings, by hand, and scenes read for meaning."""

from pathlib import Path
from typing import Any

from shoe.diagnosis.semantics import SemanticDiagnosis
from shoe.lexicon.senses import Part
from shoe.similarity.whole_interactions import WholeRatings
from tests.diagnosis.by_hand import diagnosed
from tests.maps.samples import Pairs, written
from tests.oracles.model import ImageScene

RATINGS: dict[Part, Pairs] = {
    "verb": {
        ("ride.v.01", "gallop.v.01"): [2],
        ("hold.v.02", "gallop.v.01"): [0],
        ("hold.v.02", "grip.v.01"): [4],
        ("ride.v.01", "straddle.v.01"): [1],
        ("hop_on.v.01", "straddle.v.01"): [1],
        ("feed.v.02", "grip.v.01"): [2],
    },
    "object": {
        ("horse.n.01", "pony.n.05"): [3],
        ("horse.n.01", "plaything.n.01"): [2],
        ("bicycle.n.01", "plaything.n.01"): [0],
    },
}
"""0..4. Senses that are not here are not rated."""


def write_hand_map(folder: Path, whole: WholeRatings | None = None) -> Path:
    written(folder, RATINGS, name="by-hand", whole=whole)
    return folder


def read_for_meaning(similarity: Path | str, *scenes: ImageScene, **options: Any) -> SemanticDiagnosis:
    found = diagnosed(*scenes, similarity=similarity, **options).semantic
    assert found is not None
    return found
