"""Learning from a map's ratings, where scikit-learn and WordNet's definitions are at hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shoe.lexicon.store import ids_of
from shoe.lexicon.wordnet import folders
from shoe.maps.learn import teach
from shoe.similarity import SimilarityMap, write_map

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(next(folders(), None) is None, reason="WordNet's files are not in place"),
]


def test_what_was_withheld_is_predicted(tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    whole = SimilarityMap.load("hico-det")
    kept = {part: table[np.arange(len(table)) % 5 > 0] for part, table in whole.tables.items()}
    write_map(tmp_path / "map", dataset="hico-det", raters=whole.raters, pairs=kept)
    figures = teach(str(tmp_path / "map"))
    similarity = SimilarityMap.load(tmp_path / "map")
    assert similarity.learned is not None
    for part, learned, least in (("verb", figures.verbs, 0.45), ("object", figures.objects, 0.7)):
        assert (learned.by_sense.rho or 0) > least
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
