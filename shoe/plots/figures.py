"""All figures of a diagnosis that there is something to show in."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from shoe.plots.confusions import Cell, confusion_map
from shoe.plots.errors import error_bars
from shoe.plots.pairs import pair_bars, sweep_curves
from shoe.plots.style import file_name, save
from shoe.report.findings import Findings, Semantic


def draw_figures(found: Sequence[Findings], folder: Path) -> list[Path]:
    """Write each figure as PDF and PNG.

    Args:
        found: one or several models.
        folder: where to; it is made if it does not exist.

    Raises:
        InputError: if the folder cannot be written to.
    """
    diagnosed = [(model.name, model.errors) for model in found if model.errors]
    paths = save(lambda: error_bars(diagnosed), folder, "errors") if diagnosed else []
    paths += save(lambda: pair_bars(found), folder, "pairs")
    if any(model.sweeps for model in found):
        paths += save(lambda: sweep_curves(found), folder, "sweeps")
    for model in found:
        if model.semantic is not None:
            ending = "" if len(found) == 1 else f"-{file_name(model.name)}"
            paths += _confusions(model.name, model.semantic, folder, ending)
    return paths


def _confusions(name: str, found: Semantic, folder: Path, ending: str) -> list[Path]:
    """Heat maps of wrong verbs and objects, by number and by what meaning gives for them."""
    paths = []
    for part, wrong, where in (("verb", found.verbs, "right pair"), ("object", found.objects, "right place")):
        cells = [Cell(*word) for word in wrong.words]
        title = f"{name}: wrong {part}s said of the {where}, number of predictions"
        if cells:
            paths += save(partial(confusion_map, cells, title, _short), folder, f"{part}s{ending}")
        confusions = found.wording.confusions if found.wording else ()
        cells = [Cell(c.word.label, c.word.said, c.gain) for c in confusions if c.part == part and c.gain > 0]
        title = f"{name}: what meaning adds to SHOE-mAP for {part}s in other words, in points"
        if cells:
            paths += save(partial(confusion_map, cells, title, _points), folder, f"{part}s_gain{ending}")
    return paths


def _short(count: float) -> str:
    """A count in at most four characters, up to a million."""
    thousands = count / 1000
    return f"{count:.0f}" if count < 1000 else f"{thousands:.1f}k" if count < 10_000 else f"{thousands:.0f}k"


def _points(gain: float) -> str:
    return f"{100 * gain:.2f}" if gain >= 5e-5 else "<.01"
