import io
from collections import Counter
from typing import Any

import pytest
from rich.console import Console

from shoe.llm import progress
from shoe.llm.progress import Progress, Speed, duration
from shoe.llm.recorder import Tally

TALLY = Tally("qwen\x1b[31m", total=1200, done=300, cost=1.25, retries=7, failures=Counter({"429": 5, "timeout": 2}))


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0, "0:00"), (59.6, "1:00"), (187, "3:07"), (93787, "26:03:07"), (3600, "1:00:00")]
)
def test_durations(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


def test_speed_is_that_of_late(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    speed = Speed()
    for done in range(1, 101):
        now += 1
        assert speed.now(10 * done) == pytest.approx(10)
    for done in range(1, 101):
        now += 1
        last = speed.now(1000 + 50 * done)
    assert 45 < last <= 50


def lines(terminal: bool, monkeypatch: pytest.MonkeyPatch, seconds: float = 0) -> str:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_LINES", seconds)
    out = io.StringIO()
    with Progress("EUR") as shown:
        shown._console = Console(file=out, force_terminal=terminal, width=150)
        with shown:
            shown.show([TALLY, Tally("idle"), Tally("patient", total=1, waiting=True)])
            shown.say("a line [bold]as it is[/bold]")
    return out.getvalue()


@pytest.mark.parametrize("terminal", [True, False])
def test_everything_is_shown_and_nothing_steers_the_terminal(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    said = lines(terminal, monkeypatch)
    for fact in ("300/1,200 pairs", "/s", "ETA", "1.25 EUR", "7 retries", "7 failures", "waiting for another process"):
        assert fact in said
    assert "\x1b[31m" not in said
    assert "shoe: a line [bold]as it is[/bold]" in said


def test_without_a_terminal_lines_come_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "pairs" not in lines(False, monkeypatch, seconds=60)
    assert "idle" not in lines(False, monkeypatch)


def test_a_free_rater_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    free: Any = Tally("free", total=2, done=1)
    assert "free" in Progress("EUR")._facts(free, 0.0)
