"""How many of the wordings of ``tests/data/phrases`` are understood; half of them were not used for the parser."""

from pathlib import Path

import pytest

from shoe.lexicon.phrases.parse import interactions
from tests.lexicon.wordings import misread, wordings

PAGE = Path(__file__).parents[2] / "docs" / "explanation" / "phrases.md"


@pytest.mark.parametrize(
    ("name", "number", "right", "silent"),
    [("tuned", 435, 0.99, 0.01), ("unseen", 386, 0.95, 0.04), ("captions", 750, 0.96, 0.03)],
)
def test_wordings_are_understood_or_doubtful(name: str, number: int, right: float, silent: float) -> None:
    found, wrong, unnoticed = misread(wordings(name))
    assert found == number
    assert wrong <= (1 - right) * number
    assert unnoticed <= silent * number


def test_examples_of_the_documents_are_read_so() -> None:
    table = PAGE.read_text("utf-8").split("\n\n")[2].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
    for phrase, *said in rows:
        found = interactions(phrase).interactions
        words = [", and ".join(dict.fromkeys(part)) for part in zip(*found, strict=True)]
        assert words == said, phrase
