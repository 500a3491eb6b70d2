import io
from collections import Counter

import pytest
from rich.console import Console

from shoe.llm import recorder
from shoe.llm.recorder import Progress, Tally

TALLY = Tally("qwen\x1b[31m", total=1200, done=300, cost=1.25, retries=7, failures=Counter({"429": 5, "timeout": 2}))


def lines(terminal: bool, monkeypatch: pytest.MonkeyPatch, seconds: float = 0) -> str:
    monkeypatch.setattr(recorder, "SECONDS_BETWEEN_LINES", seconds)
    out = io.StringIO()
    with Progress("EUR", console=Console(file=out, force_terminal=terminal, width=150)) as shown:
        for _ in range(2):
            shown.show([TALLY, Tally("idle"), Tally("patient", total=1, waiting=True), Tally("free", total=2, done=1)])
        shown.say("a line [bold]as it is[/bold]")
    return out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_everything_is_shown_and_nothing_steers_the_terminal(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said = lines(terminal, monkeypatch)
    facts = ("300/1,200 pairs", "/s", "ETA", "1.25 EUR", "free", "7 retries", "7 failures", "waiting")
    assert [fact for fact in facts if fact not in said] == []
    assert "\x1b[31m" not in said
    assert "shoe: a line [bold]as it is[/bold]" in said


def test_without_a_terminal_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pairs" not in lines(False, monkeypatch, seconds=60)
    assert "idle" not in lines(False, monkeypatch)
