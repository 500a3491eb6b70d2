"""Figures: everything on them can be read, whatever models are called, and files are the same each time."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoe.core.errors import InputError
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.interactions import NegativeAp
from shoe.plots.confusions import Cell, confusion_map
from shoe.plots.errors import error_bars
from shoe.plots.figures import draw_figures
from shoe.plots.pairs import pair_bars, sweep_curves
from shoe.plots.style import file_name, in_font, label, save, width_of
from shoe.report.findings import ERRORS, GROUPS
from tests.plots.drawn import assert_readable
from tests.plots.models import NAMES, errors_of, found, some

numbers = pytest.mark.parametrize("number", [1, 2, 3, 8])


@numbers
@pytest.mark.parametrize("worst", [1.0, -0.5, 0.0])
def test_error_bars_can_be_read(number: int, worst: float) -> None:
    models = errors_of(some(number, worst))
    texts = assert_readable(lambda: error_bars(models))
    assert {wording.label for wording in (ERRORS | GROUPS).values()} <= set(texts)
    for _, errors in models:
        for delta in errors.deltas.values():
            assert f"{100 * (delta.map or 0):+z.1f}" in texts


@numbers
def test_pair_figures_can_be_read(number: int) -> None:
    models = some(number)
    models[0] = replace(models[0], negative_ap=NegativeAp(0.977, 0.88, 9, 9))
    texts = assert_readable(lambda: pair_bars(models))
    assert "97.7" in texts
    assert not any("interaction" in text for text in texts)
    assert texts.count("–") == number - 1


@numbers
def test_curves_can_be_read(number: int) -> None:
    texts = assert_readable(lambda: sweep_curves(some(number)))
    assert sum("NMS" in text for text in texts) == 1


def test_what_is_absent_leaves_a_dash_or_no_panel() -> None:
    (model,) = some(1)
    assert model.errors is not None
    nothing = Means(None, None, None)
    errors = replace(model.errors, deltas=dict.fromkeys(model.errors.deltas, nothing), means=nothing)
    assert assert_readable(lambda: error_bars([("a", errors)])).count("–") == len(ERRORS) + len(GROUPS)
    assert assert_readable(lambda: error_bars([("a", errors)] * 2)).count("–") == 2 * (len(ERRORS) + len(GROUPS))
    points = [replace(point, means=None) for point in model.sweeps[0].points]
    of_pairs = replace(model, sweeps=(replace(model.sweeps[0], points=tuple(points)),))
    assert not any("mAP" in text for text in assert_readable(lambda: sweep_curves([of_pairs])))


def test_heat_maps_show_the_largest_confusions_and_can_be_read() -> None:
    cells = [Cell(f"true word number {i}", f"said {j} " * 9, 1.0 + i * j) for i in range(40) for j in range(40)]
    texts = assert_readable(lambda: confusion_map(cells, "title " * 30, lambda value: f"{value:.0f}"))
    assert "true word number 39" in texts
    assert "true word number 21" not in texts
    assert texts.count("1522") == 1


def test_heat_maps_of_one_confusion_and_of_equal_ones() -> None:
    for cells in ([Cell("a", "b", 2.0)], [Cell("a", "b", 2.0), Cell("c", "", 2.0)]):
        texts = assert_readable(lambda cells=cells: confusion_map(cells, "$x$ wide title" * 9, str))  # type: ignore[misc]
        assert texts.count("2.0") == len(cells)


any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)


@given(any_text | st.text("W", min_size=200), st.booleans())
def test_labels_are_of_the_font_and_bounded(name: str, bold: bool) -> None:
    for inches, lines in ((1.6, 3), (1.5, 1), (5.5, 1)):
        made = label(name, inches, lines, bold=bold).split("\n")
        assert len(made) <= lines
        assert all(width_of(line, bold) <= inches for line in made)
        assert "".join(made).strip()
    assert "\n" not in in_font(name)


@given(st.text("ab _-./", min_size=1, max_size=60))
def test_labels_that_fit_lose_nothing_but_blanks(name: str) -> None:
    made = label(name, 1.6, 9).replace("\n", "")
    assert made.replace(" ", "") == (name.replace(" ", "") or '""')


@settings(max_examples=20)
@given(st.lists(any_text, min_size=2, max_size=3))
def test_no_name_breaks_a_figure(names: list[str]) -> None:
    models = [replace(model, name=name) for model, name in zip(some(len(names)), names, strict=True)]
    assert_readable(lambda: error_bars(errors_of(models)))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("a/b c", "a_b_c"), ("../..", "model"), ("x" * 300, "x" * 100), ("猫.pkl", "猫.pkl"), ("", "model")],
)
def test_file_names_of_models(name: str, wanted: str) -> None:
    assert file_name(name) == wanted


def test_all_figures_of_one_model_and_of_several(tmp_path: Path) -> None:
    one = draw_figures([found("free text")], tmp_path / "one" / "model")
    kinds = ("errors", "pairs", "sweeps", "verbs", "verbs_gain", "objects", "objects_gain")
    assert [path.name for path in one] == [f"{kind}.{ending}" for kind in kinds for ending in ("pdf", "png")]
    assert sorted(path.name for path in (tmp_path / "one/model").iterdir()) == sorted(path.name for path in one)
    two = draw_figures([found("free text"), found("detector")], tmp_path / "two")
    assert {"verbs-free_text.pdf", "objects_gain-detector.png"} <= {path.name for path in two}


def test_the_same_figures_are_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    code = (
        "import sys, matplotlib; matplotlib.rcParams['font.size'] = 30; from pathlib import Path;"
        "from tests.plots.models import found; from shoe.plots.figures import draw_figures;"
        "draw_figures([found('free text')], Path(sys.argv[1]))"
    )
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": seed}
        subprocess.run([sys.executable, "-c", code, tmp_path / seed], env=environment, check=True)
    files = {path.name: path.read_bytes() for path in (tmp_path / "1").iterdir()}
    assert len(files) == 14
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "2").iterdir()}
    assert not any(b"Date" in content for content in files.values())


def test_the_style_of_the_user_is_left_alone(tmp_path: Path) -> None:
    before = mpl.rcParams["font.size"]
    save(lambda: pair_bars(some(1)), tmp_path, "a")
    assert mpl.rcParams["font.size"] == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="expected a folder that can be made"):
        draw_figures(some(1), tmp_path / "file")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_figure_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError):
        save(lambda: 1 / 0, tmp_path, "a")  # type: ignore[arg-type, return-value]
    assert list(tmp_path.iterdir()) == []


def test_names_of_tests_hold_what_is_hostile() -> None:
    assert any("$" in name for name in NAMES)
    assert any("\x1b" in name for name in NAMES)
