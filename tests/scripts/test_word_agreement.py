"""How far values agree with ratings of wordings: on a small sample written for this test, and on what is no table."""

from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from shoe.benchmarks.scoring_options import SemanticOptions
from shoe.core.errors import InputError
from tests.scripts.conftest import loaded

SAMPLE = Path(__file__).parents[1] / "data" / "wordings.tsv"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    return loaded("word-agreement")


@pytest.mark.parametrize(("part", "least"), [("verb", 0.9), ("object", 0.85)])
def test_values_agree_with_ratings(script: ModuleType, part: str, least: float) -> None:
    wordings = script.read(SAMPLE, "hico-det")
    value, rating = script.values(wordings, part, "hico-det", "hico-det", SemanticOptions())
    assert rating.tolist()[:3] == ([3, 0, 4] if part == "verb" else [3, 2, 3])
    assert script.agreement(value, rating)[0] > least
    exact, _ = script.values(wordings, part, "hico-det", "identity", SemanticOptions())
    assert script.agreement(exact, rating)[0] < script.agreement(value, rating)[0]


def test_equal_values_take_their_mean_rank_and_no_verb_is_in_both_halves(script: ModuleType) -> None:
    # Ranks 1.5, 1.5, 3, 4 against 1, 2, 3, 4: Pearson's correlation of these.
    rho, off, bias = script.agreement(np.array([0.0, 0, 2, 3]), np.array([0.0, 1, 2, 4]))
    assert (rho, off, bias) == (pytest.approx(4.5 / np.sqrt(4.5 * 5)), 0.5, -0.5)
    assert np.isnan(script.agreement(np.array([1.0, 1]), np.array([0.0, 4]))[0])
    wordings = script.read(SAMPLE, "hico-det")
    parts = script.halves(wordings, "hico-det")
    assert (parts["1"] ^ parts["2"]).all()
    verbs = [{wordings[i].hoi for i in np.flatnonzero(parts[half])} for half in "12"]
    assert all(verbs)
    assert not verbs[0] & verbs[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("ride\tspoon\tx\ty\t1\t1", "line 2: found 'ride spoon', expected a class of hico-det"),
        ("ride\thorse\tx\ty\t5\t1", "line 2: verb_rating: found '5', expected 0 to 4"),
        ("ride\thorse\tx\ty\t5", "line 2: verb_rating: found '5', expected 0 to 4"),
    ],
)
def test_what_does_not_fit_is_named(script: ModuleType, tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "wordings.tsv"
    path.write_text("\t".join(script.FIELDS) + "\n" + line + "\n")
    with pytest.raises(InputError, match=message):
        script.read(path, "hico-det")
    path.write_text("verb\tobject\n")
    with pytest.raises(InputError, match="no column said_verb"):
        script.read(path, "hico-det")
