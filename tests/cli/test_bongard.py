"""``shoe bongard``: made, scored and shown as a user does, and mistakes in one line."""

from pathlib import Path

import orjson
import pytest

from shoe.core.io.native import write_native
from tests.cli.run import as_json, output, refused, run
from tests.scoring.bongard.made import truth_of


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truth") / "truth.npz"
    labels = [[f"{verb} dog"] for verb in ("feed", "walk", "pet") for _ in range(12)]
    write_native(truth_of(labels).interactions, path)
    return path


@pytest.fixture(scope="module")
def problems(truth: Path) -> list[str]:
    words = ("bongard", "build", truth, "--out", "made", "--name", "toy", "--most", "3", "--json", "b.json")
    assert "several labels dropped" in output(*words, folder=truth.parent)
    facts = orjson.loads((truth.parent / "b.json").read_bytes())
    assert (facts["groups"][0]["group"], facts["groups"][0]["concepts"]) == ("seen_obj_seen_act", 3)
    return [str(truth.parent / path) for path in facts["files"]]


def test_perfect_predictions_answer_all(truth: Path, problems: list[str]) -> None:
    found = as_json("bongard", "score", truth, *problems)
    assert found["oracle"]["average"] == found["soft_oracle"]["average"] == 1
    assert found["named_images"] == found["images"]
    assert "|region:crop|top:10|" in found["signature"]
    table = run("bongard", "score", truth, *problems, "--votes", "detection", "--region", "image").stdout
    assert all(part in table for part in ("seen object,", "votes:detection"))


def test_a_page_shows_them(problems: list[str], tmp_path: Path) -> None:
    assert run("bongard", "show", *problems, "--html", "page.html", "--count", "2", folder=tmp_path).returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert (page.count("<article"), page.count("<script"), page.replace("http-equiv", "").count("http")) == (2, 0, 0)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("score TRUTH TRUTH", ["JSON"]),
        ("score TRUTH none.json", ["none.json: found no such file"]),
        ("score TRUTH PROBLEMS --region crops", ["region 'crops'", "mean crop?"]),
        ("score TRUTH PROBLEMS --votes all", ["votes 'all'"]),
        ("score PROBLEMS PROBLEMS", ["PROBLEMS: found Bongard problems", "predictions"]),
        ("build TRUTH --out TRUTH", ["expected a folder"]),
        ("build TRUTH --out x --name ../y", ["'../y'", "without folders"]),
        ("build TRUTH --out x --seen PROBLEMS --hold-out 0.1", ["--seen, --hold-out", "--split"]),
        ("build PROBLEMS --out x", ["PROBLEMS: found Bongard problems", "ground truth"]),
        ("show PROBLEMS --html p.html --images nowhere", ["nowhere: found no", "folder"]),
    ],
)
def test_a_mistake_is_one_line(words: str, says: list[str], truth: Path, problems: list[str], tmp_path: Path) -> None:
    def named(text: str) -> str:
        return text.replace("TRUTH", str(truth)).replace("PROBLEMS", problems[0])

    refused(run("bongard", *map(named, words.split()), folder=tmp_path), *map(named, says))
    assert not list(tmp_path.iterdir())
