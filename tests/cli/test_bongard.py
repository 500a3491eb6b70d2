"""``shoe bongard``: made, scored and shown as a user does, and mistakes in one line."""

from pathlib import Path

import orjson
import pytest

from shoe.core.io.native import write_native
from tests.cli.run import run
from tests.scoring.bongard.made import truth_of


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("truth") / "truth.npz"
    labels = [[f"{verb} dog"] for verb in ("feed", "walk", "pet") for _ in range(12)]
    write_native(truth_of(labels).interactions, path)
    return path


@pytest.fixture(scope="module")
def problems(truth: Path) -> list[str]:
    done = run(
        "bongard",
        "build",
        truth,
        "--out",
        "made",
        "--name",
        "toy",
        "--most",
        "3",
        "--json",
        "b.json",
        folder=truth.parent,
    )
    assert done.returncode == 0, done.stderr
    assert "regions with several labels dropped" in done.stdout
    facts = orjson.loads((truth.parent / "b.json").read_bytes())
    assert facts["groups"][0]["group"] == "seen_obj_seen_act"
    assert facts["groups"][0]["concepts"] == 3
    return [str(truth.parent / path) for path in facts["files"]]


def test_perfect_predictions_answer_all(truth: Path, problems: list[str]) -> None:
    done = run("bongard", "score", truth, *problems, "--json", "-")
    assert done.returncode == 0, done.stderr
    found = orjson.loads(done.stdout)
    assert found["oracle"]["average"] == found["soft_oracle"]["average"] == 1
    assert found["named_images"] == found["images"]
    assert "|region:crop|top:10|" in found["signature"]
    table = run("bongard", "score", truth, *problems, "--votes", "detection", "--region", "image").stdout
    assert "seen object, seen action" in table
    assert "votes:detection" in table


def test_a_page_shows_them(problems: list[str], tmp_path: Path) -> None:
    done = run("bongard", "show", *problems, "--html", "page.html", "--count", "2", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text()
    assert page.count("<article") == 2
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["score", "TRUTH", "TRUTH"], "expected JSON"),
        (["score", "TRUTH", "none.json"], "none.json: found no such file, expected a file"),
        (["score", "TRUTH", "PROBLEMS", "--region", "crops"], "unknown region 'crops' (did you mean crop?)"),
        (["score", "TRUTH", "PROBLEMS", "--votes", "all"], "unknown votes 'all'"),
        (["score", "PROBLEMS", "PROBLEMS"], "PROBLEMS: found Bongard problems, expected predictions"),
        (["build", "TRUTH", "--out", "TRUTH"], "expected a folder that can be written to"),
        (["build", "TRUTH", "--out", "x", "--name", "../y"], "found '../y', expected a name without folders"),
        (
            ["build", "TRUTH", "--out", "x", "--seen", "PROBLEMS", "--hold-out", "0.1"],
            "--seen, --hold-out and a class --split",
        ),
        (["build", "PROBLEMS", "--out", "x"], "PROBLEMS: found Bongard problems, expected ground truth"),
        (["show", "PROBLEMS", "--html", "p.html", "--images", "nowhere"], "nowhere: found no such folder"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], message: str, truth: Path, problems: list[str], tmp_path: Path
) -> None:
    names = {"TRUTH": str(truth), "PROBLEMS": problems[0]}
    done = run("bongard", *(names.get(word, word) for word in words), folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert message.replace("PROBLEMS", problems[0]) in done.stderr
    assert not list(tmp_path.iterdir())
