"""Pages of comparisons."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import shoe
from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.compare import Comparison, compare, single_run
from shoe.comparison.run import Run
from shoe.core.interactions import Interactions
from shoe.demo import PREDICTIONS
from shoe.report.page.build import write_page

HOSTILE = [
    *("</script><script>document.title='taken'</script>", "<img src=x onerror=\"document.title='taken'\">"),
    *("\u202egnidir\u202d \u0645\u0631\u062d\u0628\u0627", "long " * 2000, "&lt;b&gt; \"quoted\" 'twice' \x00\x07"),
]


def write(path: Path, models: Mapping[str, Interactions], truth: GroundTruth, **how: Any) -> Comparison:
    """Compare models, and write the page."""
    reports = {name: shoe.score(table, truth, protocols=["hico-det", "shoe"]) for name, table in models.items()}
    runs = [Run.from_report(report, name) for name, report in reports.items()]
    found = compare(runs, resamples=20) if len(runs) > 1 else single_run(runs[0], resamples=20)
    write_page(path, found, reports, **{"command": "shoe compare ... --html report.html"} | how)
    return found


def write_hostile(path: Path, truth: GroundTruth, names: Sequence[str] = HOSTILE) -> None:
    """Compare models whose own names, words and images are hostile, and write the page."""
    truth = truth.within(truth.interactions.images[:60])
    predictions = shoe.read_predictions(PREDICTIONS["free text"])
    predictions = predictions.select_images(np.isin(predictions.images, truth.interactions.images))
    verbs = tuple(HOSTILE[i % 5] + (str(i) if i > 4 else "") for i in range(len(predictions.verbs)))
    predictions = replace(predictions, verbs=verbs)
    table = truth.interactions
    images = tuple(HOSTILE[i % 5] + str(i) for i in range(len(table.images)))
    known = dict(zip(table.images, images, strict=True))
    predictions = replace(predictions, images=tuple(known[name] for name in predictions.images))
    truth = replace(truth, interactions=replace(table, images=images))
    write(path, dict.fromkeys(names, predictions), truth, command="shoe compare '</script>' <b>&amp;")
