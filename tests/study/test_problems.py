"""Bongard problems that people answer: who is asked what, the page, what testers' answers say, and what is kept."""

import json
from collections import Counter
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from shoe.scoring.bongard.problems import read_problems, write_problems
from shoe.study.folder import load_study
from shoe.study.plan import ProblemStudy, Question, new_problem_study
from shoe.study.testers import one_tester, read_trials, result_of
from tests.cli.run import refused, run
from tests.errors import says
from tests.present import present
from tests.scoring.bongard.made import BOX, problems_of
from tests.study.browser import opened, saved, violations
from tests.study.made import scene

GROUPS = ("seen_obj_seen_act", "unseen_obj_unseen_act")
HEADER = "problem,group,concept,query,rater,right,seconds"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("lab")
    made = problems_of(5, GROUPS)
    (path / "images").mkdir()
    for number, verb in enumerate(made.regions.verb.tolist()):
        words = f"{made.regions.verbs[verb]} {number}"
        scene(path / "images" / f"{number:03d}.jpg", words, (120, 115), (BOX, (50, 50, 100, 90)))
    write_problems(made, path / "problems", "made", "folder")
    return path


def files_of(lab: Path) -> list[Path]:
    return sorted((lab / "problems").iterdir())


def asked(lab: Path, folder: Path, *more: str | Path) -> ProblemStudy:
    done = run("study", "bongard", folder, *files_of(lab), "--images", lab / "images", *more)
    assert (done.returncode, done.stderr) == (0, "")
    study = load_study(folder)
    assert isinstance(study, ProblemStudy)
    return study


def test_each_problem_has_three_testers_and_each_tester_as_many_problems() -> None:
    problems = problems_of(40, GROUPS)
    study, again, other = (new_problem_study(problems, [Path("a.json")], 7, 3, seed) for seed in (5, 5, 6))
    assert study == again != other
    orders = [study.order(rater) for rater in range(7)]
    times = Counter(question for order in orders for question in order)
    assert times == Counter({Question(item, 1, "sides"): 3 for item in range(80)})
    assert {len(order) for order in orders} <= {34, 36}
    assert len({tuple(order[:6]) for order in orders}) == 7
    for order in orders:
        assert [item.item for item in order[1::2]] == [item.item + 1 for item in order[::2]]
    assert 8 < sum([problem.shows[0] for problem in study.problems]) < 32
    for problem, positives in zip(study.problems, problems.positives.tolist(), strict=True):
        assert problem.sides[0] == [f"{row}.jpg" for row in positives[:6]]
        assert (problem.queries[problem.shows.index(True)], sum(problem.shows)) == (f"{positives[6]}.jpg", 1)


@pytest.mark.slow
def test_what_testers_answered_by_hand(tmp_path: Path) -> None:
    """Ann is right about 3 of 4 queries, Bob about 2 of 4; problem 1 is solved by Ann alone, problem 2 by nobody."""
    lines = [
        *("1,g,,positive,ann,1,4", "1,g,,negative,ann,1,2", "1,g,,positive,bob,1,", "1,g,,negative,bob,0,"),
        *("2,g,,positive,ann,0,3", "2,g,,negative,ann,1,1", "2,g,,positive,bob,1,9", "2,g,,negative,bob,0,9"),
        *("3,h,,positive,ann,0,1", "3,h,,negative,ann,0,1"),
        "4,h,,positive,bob,1,1",  # and not the other one
    ]
    table = tmp_path / "answers.csv"
    table.write_text("\n".join([HEADER, *lines]))
    trials = read_trials(table)
    everything = present(result_of(trials, np.ones(4, bool)))
    assert (everything.problems, everything.testers) == (3, (1, 2))
    assert everything.accuracy.value == pytest.approx(5 / 10)
    assert (everything.positive.value, everything.negative.value) == (3 / 5, 2 / 5)
    assert (everything.kept, everything.dropped, everything.waiting) == (1, 1, 1)
    assert everything.guessed == pytest.approx((2 * 7 / 16 + 1 / 4) / 3)
    ann, bob = (one_tester(trials, j) for j in range(2))
    summary = attrgetter("problems", "accuracy", "solved", "seconds")
    assert (summary(ann), summary(bob)) == ((3, 0.5, 1 / 3, 4.0), (2, 0.5, 0.0, 18.0))
    found = json.loads(run("study", "report", table, "--json", "-").stdout)
    assert (found["groups"]["h"]["waiting"], found["testers"]["bob"]["solved"]) == (1, 0)
    shown = run("study", "report", table, "--latex", tmp_path / "table.tex").stdout
    assert "waiting    1 problem " in shown
    of_a_spreadsheet = tmp_path / "spreadsheet.csv"
    of_a_spreadsheet.write_text(table.read_text().replace(",", ";"), "utf-8-sig")
    assert json.loads(run("study", "report", of_a_spreadsheet, "--json", "-").stdout)["groups"] == found["groups"]
    assert r"\toprule" in (tmp_path / "table.tex").read_text()


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (("1,g,,up,ann,1,",), "line 2: query: found 'up'"),
        (("1,g,,positive,ann,2,",), "line 2: right: found '2'"),
        (("1,g,,positive,,1,",), "line 2: rater: found ''"),
        (("1,g,,positive,ann,1,",) * 2, "line 3: rater: found 'ann'"),
        (("1,g,,positive,ann,1,", "1,h,,negative,ann,1,"), "line 3: group: found 'h', expected 'g'"),
        (("1,g,,positive,ann,1,soon",), "line 2: seconds: found 'soon'"),
        (("1,g,,positive,ann,1,",), "found no tester"),
    ],
)
def test_tables_that_are_refused(tmp_path: Path, lines: tuple[str, ...], said: str) -> None:
    (tmp_path / "answers.csv").write_text("\n".join([HEADER, *lines]))
    refused(run("study", "report", tmp_path / "answers.csv"), said)


@pytest.mark.slow
def test_problems_are_answered_by_keyboard_collected_and_kept(lab: Path, browser: Any, tmp_path: Path) -> None:
    folder = tmp_path / "study"
    study = asked(lab, folder, "--examples", files_of(lab)[0])
    order = study.order(0)
    truth = {item: study.problems[item // 2].shows[item % 2] for item in range(10)}
    given = {item: truth[item] != (item in (0, 7)) for item in truth}  # wrong about problems 0 and 3
    with opened(browser, folder / "rater-1.html") as tab:
        tab.get_by_role("button", name="I agree").click()
        tab.get_by_role("button", name="See an example").click()
        assert "A: ride horse" in tab.inner_text("main")
        assert (tab.locator(".query").all_inner_texts(), violations(tab)) == (["side A", "side B"], [])
        for _ in range(3):  # as many as the file has
            tab.keyboard.press("Enter")
        for page in range(3):
            queries = order[4 * page : 4 * page + 4]
            assert f"{page + 1} of 3" in tab.inner_text("main")
            tab.wait_for_function("[...document.images].every((image) => image.naturalWidth > 0)")
            assert tab.locator("img").count() == 7 * len(queries)
            if page == 1:  # the browser crashed after one answer, and a wrong one is put right
                tab.keyboard.press("a" if given[queries[0].item] else "b")
                tab.reload()
                tab.keyboard.press("b" if given[queries[0].item] else "a")
                tab.keyboard.press("ArrowUp")
            assert not tab.get_by_role("button", name="Next").is_enabled()
            tab.keyboard.press("Enter")
            for question in queries:
                assert tab.locator(".query.current").count() == 1
                tab.keyboard.press("a" if given[question.item] else "B")
            if page == 0:
                assert tab.evaluate("document.documentElement.scrollWidth") <= 400
                for scheme in ("light", "dark"):
                    tab.emulate_media(color_scheme=scheme)
                    assert violations(tab) == []
            tab.keyboard.press("Enter")
        returned = [saved(tab, tmp_path / "rater-1.json")]
    for rater in (2, 3):  # both are wrong about problem 3 as well; who says A everywhere is right about no problem
        document = json.loads(returned[0].read_bytes())
        document["rater"] = f"rater-{rater}"
        for answer in document["answers"]:
            answer["rating"] = 1 if rater == 2 else int(truth[answer["item"]] != (answer["item"] == 7))
        returned.append(tmp_path / f"rater-{rater}.json")
        returned[-1].write_text(json.dumps(document))
    table, kept = tmp_path / "answers.csv", tmp_path / "kept"
    done = run("study", "collect", folder, *returned, "--out", table, "--kept", kept)
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 of 5 problems" in done.stdout
    found = json.loads(run("study", "report", table, "--json", "-").stdout)
    assert (found["all"]["kept"], found["all"]["dropped"], found["all"]["waiting"]) == (4, 1, 0)
    assert found["testers"]["rater-1"]["right"] == 0.8
    assert found["testers"]["rater-2"] == found["testers"]["rater-2"] | {"right": 0.5, "solved": 0}
    assert found["all"]["kept_by_guessing"] == pytest.approx(1 - 0.75**3)
    everything, left = read_problems(*files_of(lab)), read_problems(*kept.iterdir())
    whole = [[everything.regions.images[i] for i in everything.regions.image[row]] for row in everything.rows]
    assert [[left.regions.images[i] for i in left.regions.image[row]] for row in left.rows] == whole[:3] + whole[4:]
    assert run("bongard", "show", *kept.iterdir(), "--html", tmp_path / "page.html").returncode == 0


@pytest.mark.slow
def test_what_problems_cannot_be_asked_from(lab: Path, tmp_path: Path) -> None:
    new = "study", "bongard", tmp_path / "study"
    given = *files_of(lab), "--images", lab / "images"
    refused(run(*new, *given, "--raters", "2"), "--raters: found 2, expected at least 3")
    refused(run(*new, *files_of(lab), "--images", tmp_path), "000.jpg: found no such image")
    refused(run(*new, *given, "--images", tmp_path / "none"), "none: found no such folder")
    assert not (tmp_path / "study").exists()
    folder = tmp_path / "other"
    asked(lab, folder, "--seed", "1")
    refused(run("study", "bongard", folder, *given), "holds another study")
    one = tmp_path / "rater-1.json"
    one.write_text(json.dumps({"study": load_study(folder).id, "rater": "rater-1", "answers": []}))
    (folder / "problems" / files_of(lab)[0].name).write_bytes(files_of(lab)[1].read_bytes())
    done = run("study", "collect", folder, one, "--out", tmp_path / "answers.csv", "--kept", tmp_path / "kept")
    assert (done.returncode, says(done.stderr, "problems: ", "changed problems")) == (2, True)
