"""The page as text: what is packed comes back, and what is said is escaped."""

import base64
import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import shoe
from shoe.comparison.compare import compare
from shoe.comparison.sweeps import Point, Setting, Survival
from shoe.demo import PREDICTIONS, TRUTH
from shoe.diagnosis.oracles import ERRORS
from shoe.page.build import page
from shoe.page.markup import Markup, joined, tag
from shoe.page.packed import pack
from shoe.runs.run import Run
from tests.cli.run import refused, run


def test_packed_columns_stand_where_the_head_says() -> None:
    columns = {"small": np.arange(5), "signed": np.array([-3, 70000]), "real": np.array([0.1, np.nan])}
    content = gzip.decompress(base64.b64decode(pack({"label": "</script>\u202e", "of": [columns]})))
    length = int.from_bytes(content[:4], "little")
    head = json.loads(content[4 : 4 + length])
    start = -(-(4 + length) // 8) * 8
    assert head["value"]["label"] == "</script>\ufffd"
    for name, of in columns.items():
        kind, offset, size = head["columns"][head["value"]["of"][0][name]["$column"]]
        np.testing.assert_array_equal(np.frombuffer(content, f"<{kind}", size, start + offset), of)
    assert [kind for kind, _, _ in head["columns"]] == ["u1", "i4", "f8"]


def test_text_is_escaped_and_markup_is_not() -> None:
    made = tag("p", "</p><b>", tag("i", "&"), None, title='"<', hidden=True, class_="a", lang=None)
    assert made == '<p title="&quot;&lt;" hidden class="a">&lt;/p&gt;&lt;b&gt;<i>&amp;</i></p>'
    assert joined("<", Markup("<br>")) == "&lt;<br>"
    assert tag("p", "a\u202eb\x1b\u2066", title="\u200f") == '<p title="\ufffd">a\ufffdb\ufffd\ufffd</p>'


@pytest.mark.slow
def test_errors_cost_what_the_diagnosis_says_over_its_seeds() -> None:
    truth = shoe.read_ground_truth(TRUTH)
    reports = {name: shoe.score(shoe.read_predictions(file), truth) for name, file in PREDICTIONS.items()}
    found = compare([Run.of(report, name) for name, report in reports.items()], resamples=0)
    points = [Point(Setting("delta", 0.25), {"map": (0.12345, None)})]
    made = page(found, reports, "shoe", swept=(points, [Survival("map", 1, (), None)]))
    assert "<td><bdi>delta</bdi></td><td><bdi>0.25</bdi></td><td><bdi>12.35</bdi></td>" in made
    assert ">by SHOE-mAP no two models change places under" in made
    assert all(f"Most apart, {name}<" in made for name in ("mAP", "SHOE-mAP"))
    bars = made.partition('class="bars"')[2].partition("</svg>")[0]
    for report in reports.values():
        diagnosis = shoe.diagnose(report.predictions, truth)
        for error in ERRORS:
            assert f">{round(100 * (diagnosis.deltas[error.name].map or 0), 2) + 0:+.2f}<" in bars
    assert "seeds 0 to 19" in made


def test_pictures_need_a_page_and_a_folder(tmp_path: Path) -> None:
    words = ("compare", "a.shoe", "b.shoe", "--images")
    refused(run(*words, tmp_path), "--images: found no --html, the page that shows them")
    refused(run(*words, tmp_path / "none", "--html", tmp_path / "page.html"), "found no such folder")
