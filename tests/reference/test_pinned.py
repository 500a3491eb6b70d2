"""The figures of the packaged demo, pinned for the time of the redesign."""

import json
from pathlib import Path
from typing import Any

import pytest

import shoe
from tests.cli.run import as_json

DATA = Path(shoe.__file__).parent / "demo" / "data"
FIGURES = Path(__file__).parent.parent / "data" / "reference" / "demo_figures.json"
PINNED: dict[str, dict[str, float]] = json.loads(FIGURES.read_bytes())
COMMANDS = {"score": ["score", "--protocol", "all", "--bounds"], "diagnose": ["diagnose"]}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("file", ["detector.json", "vlm.jsonl"])
def test_the_demo_keeps_its_figures(file: str, command: str) -> None:
    pinned = PINNED[f"{command} {file}"]
    found = numbers(as_json(*COMMANDS[command], DATA / file, "--ground-truth", DATA / "truth.json"))
    assert {name: found.get(name) for name in pinned} == pytest.approx(pinned, rel=0, abs=1e-9)


def numbers(figures: Any, name: str = "") -> dict[str, float]:
    """All numbers by their keys; members of a list by what they are of, where they say so."""
    if isinstance(figures, list):
        figures = {_title(part, place): part for place, part in enumerate(figures)}
    if not isinstance(figures, dict):
        return {name: figures} if isinstance(figures, int | float) else {}
    found = (numbers(each, f"{name} {part}".strip()) for part, each in figures.items())
    return {key: value for each in found for key, value in each.items()}


def _title(part: Any, place: int) -> str:
    return str(part.get("protocol") or part.get("error") or place) if isinstance(part, dict) else str(place)
