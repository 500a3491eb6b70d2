"""Figures: everything on them can be read, whatever models are called, and files are the same each time."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import pytest
from hypothesis import given, strategies as st
from msgspec import structs

from shoe.diagnosis.error_types import ERRORS, GROUPS
from shoe.diagnosis.pairs import NegativeAp
from shoe.report.figures import diagnosis
from shoe.report.figures.diagnosis import Cell, confusion_map, draw_figures, error_bars, pair_bars, sweep_curves
from shoe.report.figures.style import file_name, in_font, label, save, width_of
from shoe.scoring.entries import Means
from tests.errors import input_error
from tests.report.figures.drawn import assert_readable
from tests.report.figures.models import NAMES, altered, diagnosed, some

numbers = pytest.mark.parametrize("number", [1, *(pytest.param(n, marks=pytest.mark.slow) for n in (2, 3, 8))])


@pytest.mark.slow
@pytest.mark.parametrize(("number", "worst"), [(1, 1.0), (2, -0.5), (8, 1.0)])
def test_error_bars_can_be_read(number: int, worst: float) -> None:
    models = some(number, worst)
    gains = {f"{100 * (delta.map or 0):+z.1f}" for found in models.values() for delta in found.deltas.values()}
    labels = {error.label for error in (*ERRORS, *GROUPS)}
    assert labels | gains <= set(assert_readable(lambda: error_bars(models)))


@numbers
def test_pair_figures_can_be_read(number: int) -> None:
    first, *others = some(number).items()
    scored = altered(first[1], negative_ap=NegativeAp(0.977, 0.88, 9, 9))
    texts = assert_readable(lambda: pair_bars({first[0]: scored, **dict(others)}))
    assert not any("interaction" in text for text in texts)
    assert ("97.7" in texts, texts.count("–")) == (True, number - 1)


@pytest.mark.slow
@numbers
def test_curves_can_be_read(number: int) -> None:
    assert sum("NMS" in text for text in assert_readable(lambda: sweep_curves(some(number)))) == 1


@pytest.mark.slow
def test_what_is_absent_leaves_a_dash_or_no_panel() -> None:
    (model,) = some(1).values()
    nothing = Means(None, None, None)
    empty = altered(model, deltas=dict.fromkeys(model.deltas, nothing), means=nothing)
    assert assert_readable(lambda: error_bars({"a": empty})).count("–") == len(ERRORS) + len(GROUPS)
    assert assert_readable(lambda: error_bars({"a": empty, "b": empty})).count("–") == 2 * (len(ERRORS) + len(GROUPS))
    points = [structs.replace(point, map=None) for point in model.sweeps[0].points]
    of_pairs = altered(model, sweeps=(structs.replace(model.sweeps[0], points=tuple(points)),))
    assert not any("mAP" in text for text in assert_readable(lambda: sweep_curves({"a": of_pairs})))


@pytest.mark.slow
def test_heat_maps_show_the_largest_confusions_and_can_be_read() -> None:
    cells = [Cell(f"true word number {i}", f"said {j} " * 9, 1.0 + i * j) for i in range(40) for j in range(40)]
    texts = assert_readable(lambda: confusion_map(cells, "title " * 30, lambda value: f"{value:.0f}"))
    assert [texts.count(text) for text in ("true word number 39", "true word number 21", "1522")] == [1, 0, 1]


def test_heat_maps_of_one_confusion_and_of_equal_ones() -> None:
    for cells in ([Cell("a", "b", 2.0)], [Cell("a", "b", 2.0), Cell("c", "", 2.0)]):
        texts = assert_readable(lambda cells=cells: confusion_map(cells, "$x$ wide title" * 9, str))  # type: ignore[misc]
        assert texts.count("2.0") == len(cells)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bold", [False, True])
def test_labels_are_of_the_font_and_bounded(name: str, bold: bool) -> None:
    for inches, lines in ((1.6, 3), (1.5, 1), (5.5, 1)):
        made = label(name, inches, lines, bold=bold).split("\n")
        assert len(made) <= lines
        assert all(width_of(line, bold) <= inches for line in made)
        assert "".join(made).strip()
    assert "\n" not in in_font(name)


@given(st.text("ab _-./", min_size=1, max_size=60))
def test_labels_that_fit_lose_nothing_but_blanks(name: str) -> None:
    assert label(name, 1.6, 9).replace("\n", "").replace(" ", "") == (name.replace(" ", "") or '""')


def test_file_names_of_models() -> None:
    wanted = {"a/b c": "a_b_c", "../..": "model", "x" * 300: "x" * 100, "猫.pkl": "猫.pkl", "": "model"}
    assert {name: file_name(name) for name in wanted} == wanted


def test_all_figures_of_one_model_and_of_several(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    def save(draw: Callable[[], object], folder: Path, name: str) -> list[Path]:
        drawn.append(name)
        return [folder / name]

    monkeypatch.setattr(diagnosis, "save", save)
    kinds = ["errors", "pairs", "sweeps", "verbs", "verbs_gain", "objects", "objects_gain"]
    one = draw_figures({"free text": diagnosed("free text")}, tmp_path, sweeps=True)
    assert [path.name for path in one] == kinds
    two = draw_figures({name: diagnosed(name) for name in ("free text", "detector")}, tmp_path)
    assert {"verbs-free_text", "objects_gain-detector"} <= {path.name for path in two}
    assert "sweeps" not in {path.name for path in two}


@pytest.mark.slow
def test_all_figures_are_the_same_bytes_in_any_process(tmp_path: Path) -> None:
    code = (
        "import sys, matplotlib; matplotlib.rcParams['font.size'] = 30; from pathlib import Path;"
        "from tests.report.figures.models import diagnosed;"
        "from shoe.report.figures.diagnosis import Cell, confusion_map, draw_figures;"
        "draw_figures({'a': diagnosed('free text')}, Path(sys.argv[1]))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "1", "SOURCE_DATE_EPOCH": "1"}
    subprocess.run([sys.executable, "-c", code, tmp_path / "other"], env=environment, check=True)
    before = mpl.rcParams["font.size"]
    written = draw_figures({"a": diagnosed("free text")}, tmp_path / "this" / "one")
    assert mpl.rcParams["font.size"] == before  # the style of the user is left alone
    kinds = ("errors", "pairs", "verbs", "verbs_gain", "objects", "objects_gain")
    assert [path.name for path in written] == [f"{kind}.{ending}" for kind in kinds for ending in ("pdf", "png")]
    assert sorted(os.listdir(tmp_path / "this" / "one")) == sorted(path.name for path in written)
    for path in written:
        content = path.read_bytes()
        assert content == (tmp_path / "other" / path.name).read_bytes()
        assert b"Date" not in content


def test_a_folder_or_figure_that_fails_leaves_no_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with input_error(source=str(tmp_path / "file")):
        draw_figures(some(1), tmp_path / "file")
    with pytest.raises(ZeroDivisionError):
        save(lambda: 1 / 0, tmp_path, "a")  # type: ignore[arg-type, return-value]
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
