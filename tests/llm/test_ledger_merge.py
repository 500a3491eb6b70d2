"""Ledgers of several processes as one: the same bytes whatever the order, whatever was merged before, nothing lost."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoe.core.errors import InputError
from shoe.llm import ledger_merge
from shoe.llm.ledger import ASK_AGAIN, event_line
from shoe.llm.ledger_merge import merge
from tests.examples import examples
from tests.llm.ledgers import IDENTITY, fresh, line, parse, random_lines, read, states, write

QUESTIONS = 12


def merged(folder: Path, *parts: Sequence[bytes]) -> bytes:
    """The ledger of a folder after it took over parts, one merge for all of them."""
    for number, lines in enumerate(parts):
        write(folder / f"{number}-of-9", lines)
    merge(folder / "ledger.jsonl", IDENTITY, parse, lambda _: None)
    assert not list(folder.glob("*/*"))
    return (folder / "ledger.jsonl").read_bytes()


@pytest.mark.slow
@given(st.integers(0, 999), st.permutations(range(4)), st.integers(0, 3), st.booleans())
@examples(10)
def test_order_and_number_of_merges_do_not_matter(
    tmp_path_factory: pytest.TempPathFactory, seed: int, order: list[int], first: int, small: bool
) -> None:
    parts = [random_lines(seed + number % 3, 9, QUESTIONS) for number in range(4)]  # two of them are equal
    once, often = tmp_path_factory.mktemp("once"), tmp_path_factory.mktemp("often")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_merge, "_IN_MEMORY", 500 if small else 1 << 26)
        whole = merged(once, *parts)
        merged(often, parts[first])
        for number in order:
            found = merged(often, parts[number])
    assert found == whole
    assert set(whole.splitlines(keepends=True)[1:]) == {one for part in parts for one in part}


def test_what_was_void_stays_void_and_an_answer_in_two_ledgers_is_one(tmp_path: Path) -> None:
    unread, rated = line([1], [-4]), line([2], [3])
    again = event_line({"event": ASK_AGAIN, "states": ["unparsable"]})
    write(tmp_path, [line([3], [-4], 1), line([3], [-4], 2), again, unread])
    write(tmp_path / "1-of-2", [unread, rated])
    own = fresh(tmp_path / "1-of-2")
    own.base = tmp_path / "ledger.jsonl"
    own.refresh()
    assert states(own, 4) == [-1, -4, 3, -1]
    write(tmp_path / "1-of-2" / "worker", [line([0], [1])])
    assert merged(tmp_path)
    assert not list(tmp_path.glob("*-of-*"))
    assert read(tmp_path, 4) == [1, -4, 3, -1]


def test_a_ledger_with_events_is_no_part(tmp_path: Path) -> None:
    write(tmp_path / "other", [event_line({"event": ASK_AGAIN, "states": []})])
    with pytest.raises(InputError, match=r"other/ledger\.jsonl: found events, expected a ledger of one part"):
        merged(tmp_path)
