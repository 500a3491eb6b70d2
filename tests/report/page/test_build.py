"""The page as text: what is packed comes back, and what is said is escaped."""

import base64
import gzip
import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError
from markupsafe import Markup

import shoe
from shoe.benchmarks.truth import GroundTruth
from shoe.demo import PREDICTIONS
from shoe.diagnosis.error_types import ERRORS
from shoe.report.page.rendering import environment
from shoe.report.page.rescoring import pack
from shoe.report.page.svg import element
from tests.cli.run import refused, run
from tests.report.page.made import HOSTILE, write_hostile


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
    made = element("p", "</p><b>", element("i", "&"), None, title='"<', class_="a", lang=None)
    assert made == '<p title="&#34;&lt;" class="a">&lt;/p&gt;&lt;b&gt;<i>&amp;</i></p>'
    assert element("p", "a\u202eb\x1b\u2066", title="\u200f") == '<p title="\ufffd">a\ufffdb\ufffd\ufffd</p>'
    template = environment().from_string('<p title="{{ text }}">{{ text }}{{ markup }}{{ nothing }}</p>')
    rendered = template.render(text='"<\u202e', markup=Markup("<br>"), nothing=None)
    assert rendered == '<p title="&#34;&lt;\ufffd">&#34;&lt;\ufffd<br></p>'
    with pytest.raises(UndefinedError):
        template.render(text="", markup="")  # a value is missing


def test_errors_cost_what_the_diagnosis_says(demo: Path, truth: GroundTruth) -> None:
    made = demo.read_text("utf-8")
    assert "<td><bdi>delta</bdi></td><td><bdi>0.25</bdi></td><td><bdi>12.35</bdi></td>" in made
    assert ">by SHOE-mF1 no " in made
    assert all(f"Most apart, {name}<" in made for name in ("mAP", "SHOE-mAP"))
    bars = made.partition('class="bars"')[2].partition("</svg>")[0]
    for file in PREDICTIONS.values():
        diagnosis = shoe.diagnose(shoe.read_predictions(file), truth, similarity=None)
        for error in ERRORS:
            assert f">{round(100 * (diagnosis.deltas[error.name].map or 0), 2) + 0:+.2f}<" in bars
    assert "seeds 0 to 19" in made


def test_hostile_names_make_no_element(truth: GroundTruth, demo: Path, tmp_path: Path) -> None:
    write_hostile(tmp_path / "hostile.html", truth, HOSTILE[:1])
    text = (tmp_path / "hostile.html").read_text("utf-8")
    assert Elements(text).names <= Elements(demo.read_text("utf-8")).names  # no <img>, no <b> of a name
    # Data of the page, all models, the model, images; worker.
    assert Elements(text).scripts == ["text/plain"] * 5 + ["module"]
    assert set("\u202e\x07").isdisjoint(text)
    assert text.count("&lt;/script&gt;&lt;script&gt;document.title=") > 1


class Elements(HTMLParser):
    """Names of all elements of a page, and the types of its scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.scripts: list[str | None] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        if tag == "script":
            self.scripts.append(dict(attrs).get("type"))


def test_pictures_need_a_page_and_a_folder(tmp_path: Path) -> None:
    words = ("compare", "a.shoe", "b.shoe", "--images")
    refused(run(*words, tmp_path), "--images", "--html")
    refused(run(*words, tmp_path / "none", "--html", tmp_path / "page.html"), "found no such folder")
