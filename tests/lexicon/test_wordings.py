"""How many of the wordings of ``tests/data/phrases`` are understood; half of them were not looked at for the parser."""

import pytest

from tests.lexicon.wordings import parsed, understood, wordings


@pytest.mark.parametrize(("name", "share"), [("tuned", 0.99), ("unseen", 0.93)])
def test_wordings_are_understood_and_what_is_not_is_doubtful(name: str, share: float) -> None:
    found = list(wordings(name))
    missed = [wording for wording in found if not understood(wording, parsed(wording))]
    assert len(found) == 240
    assert 1 - len(missed) / len(found) >= share
