"""Figures and the page of a study: what they show, and that they can be read."""

from dataclasses import replace
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest
from msgspec import structs

from shoe.report.figures.studies import ceilings, draw_study, levels, pictures, reference
from shoe.report.page.study import people_part
from shoe.study.analysis import StudyReport, analyse
from shoe.study.raters_and_people import Ensemble, PeopleAndRaters, RatedRater
from shoe.study.ratings import StudyRatings
from shoe.study.sampling import simulated
from tests.cli.run import run
from tests.present import present
from tests.report.figures.drawn import assert_readable
from tests.scripts.conftest import SCRIPTS

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found() -> tuple[StudyRatings, StudyReport]:
    study = run_path(str(SCRIPTS / "simulated_studies.py"))["careless"](simulated(30, 3, 4), 4)
    names = ("<b>ann</b>", "bob $x$", "x" * 200)
    shown = np.where(np.arange(len(study.items))[:, None] < 20, (study.first + (study.first == 1)).astype(np.int8), -1)
    return analyse(replace(study, raters=names, picture=shown, again=study.first))


def with_machine(found: StudyReport) -> StudyReport:
    placed = [RatedRater(name, person=True, bias=0.1, noise=0.9, rho=0.7) for name in found.raters]
    machine = RatedRater("an LLM", person=False, bias=-0.2, noise=1.1, rho=None)
    beside = PeopleAndRaters(30, [*placed, machine], [Ensemble(("an LLM",), 0.8, among_best=True)], [])
    return structs.replace(found, beside=beside)


def test_figures_can_be_read_and_the_report_says_the_same(found: tuple[StudyRatings, StudyReport]) -> None:
    study, report = found
    assert {"0", "4", "bob $x$"} <= set(assert_readable(lambda: levels(report)))
    assert "an LLM" in assert_readable(lambda: ceilings(with_machine(report)))
    fit = present(report.all.reference)
    assert any("rating of people" in text for text in assert_readable(lambda: reference(study, fit)))
    counts = assert_readable(lambda: pictures(study))
    both = (study.first >= 0) & (study.picture >= 0)
    assert str(int(((study.first == 1) & both).sum())) in counts
    part = people_part(study, with_machine(report))
    assert "&lt;b&gt;ann&lt;/b&gt;" in part
    assert "<b>ann" not in part
    assert f"{report.all.kappa.value:.3f} [" in part
    assert "1 ensemble of 1 " in part


def test_all_figures_are_written_the_same_each_time(found: tuple[StudyRatings, StudyReport], tmp_path: Path) -> None:
    first, again = (draw_study(*found, tmp_path / name) for name in "ab")
    names = ("levels", "reference", "ceiling", "picture")
    assert [path.name for path in first] == [f"study_{name}.{end}" for name in names for end in ("pdf", "png")]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in again]


def test_a_report_with_figures_and_page(tmp_path: Path) -> None:
    path = tmp_path / "answers.csv"
    rows = [f"i{i},{rater},{(i * 7 + j) % 5},{1 + i % 3},s{i % 2}" for i in range(12) for j, rater in enumerate("xyz")]
    path.write_text("\n".join(["item,rater,rating,weight,stratum", *rows]) + "\n")
    page, figures = tmp_path / "page.html", tmp_path / "figures"
    done = run("study", "report", path, "--population", "--html", page, "--figures", figures)
    assert (done.returncode, done.stderr) == (0, "")
    assert "24 pairs" in done.stdout
    assert "24 pairs" in page.read_text()
    assert (figures / "study_levels.png").exists()
    assert "`--population` weights items" in run("study", "report", path).stdout
    path.write_text(path.read_text().replace("weight", "heavy"))
    refused = run("study", "report", path, "--population")
    assert (refused.returncode, refused.stderr.count("\n")) == (2, 1)
