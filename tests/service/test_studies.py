"""A study in a service: who may answer, what is kept, and that nothing is kept twice or changed."""

import re
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from shoe.core.errors import InputError
from shoe.service import studies, tokens
from shoe.service.database import Database
from shoe.service.errors import ConflictError
from shoe.service.folder import Folder
from shoe.service.types import Answer
from tests.service.calling import calling
from tests.service.study_storm import BAD, ID, storm

ANSWER = {"item": 0, "occasion": 1, "phase": "words", "rating": 3, "shown": 1000.0, "answered": 2000.0}


Headers = dict[str, str]


def published(folder: Folder) -> dict[str, Headers]:
    raters = {
        "rater-1": studies.Rater([(1, 1, "words"), (0, 1, "words")], ["1.jpg"]),
        "rater-2": studies.Rater([(0, 1, "words"), (1, 1, "words"), (0, 2, "words")], []),
    }
    pictures = {"0.jpg": "data:,0", "1.jpg": "data:,1"}
    studies.publish(folder, ID, {"study": ID, "items": ["a", "b"]}, 5, raters, pictures)
    return invited(folder)


def invited(folder: Folder, *raters: list[str]) -> dict[str, Headers]:
    invitations = studies.invite(folder, ID, *raters)
    return {name: {"Authorization": f"Bearer {token}"} for name, token in invitations.items()}


def identity(folder: Folder, headers: Headers) -> tokens.Identity:
    found = tokens.check(folder, headers["Authorization"].partition(" ")[2])
    assert found is not None
    return found


def sent(client: Any, headers: Headers, *answers: dict[str, Any]) -> Any:
    return client.post("/v1/study/answers", headers=headers, json={"answers": answers})


def test_answers_are_kept_once_and_never_changed(folder: Folder) -> None:
    first, second = (identity(folder, headers) for headers in published(folder).values())
    answer = msgspec.convert(ANSWER, Answer)
    later = replace(answer, rating=4, answered=3000.0)
    for answers, kept in (([answer], 1), ([later, answer], 2), ([], 2), ([answer], 2)):
        assert studies.add_answers(folder, first, answers) == kept
    assert [studies.answers_of(folder, rater) for rater in (first, second)] == [[answer, later], []]
    for wrong, found in (
        (replace(answer, item=2), "[2, 1, 'words', 3]"),
        (replace(answer, occasion=2), "[0, 2, 'words', 3]"),
        (replace(answer, phase="picture"), "[0, 1, 'picture', 3]"),
        (replace(answer, rating=5), "[0, 1, 'words', 5]"),
    ):
        with pytest.raises(InputError, match=rf"{re.escape(found)}, .* rater-1, .* 0 to 4") as refused:
            studies.add_answers(folder, first, [later, wrong])
        assert refused.value.record == "answer 2"
    with pytest.raises(ConflictError, match="limit of 20 answers"):
        studies.add_answers(folder, first, [replace(answer, shown=float(number)) for number in range(41)])
    assert [len(each.answers) for each in studies.returned(folder, ID)] == [2, 0]
    for statement in ("UPDATE answers SET rating = 0", "DELETE FROM answers"):
        with pytest.raises(sqlite3.IntegrityError, match="only added"), folder.database.write() as db:
            db.execute(statement)


def test_a_correction_counts_though_the_clock_was_ahead(folder: Folder, caplog: pytest.LogCaptureFixture) -> None:
    rater = identity(folder, published(folder)["rater-1"])
    ahead = replace(msgspec.convert(ANSWER, Answer), answered=4e12)
    corrected = replace(ahead, rating=1, answered=2000.0)
    for answer, is_told in ((ahead, True), (corrected, False), (replace(corrected, shown=3000.0), True)):
        studies.add_answers(folder, rater, [answer])
        assert ("clock of rater-1" in caplog.text) == is_told
        caplog.clear()
    assert [answer.rating for answer in studies.answers_of(folder, rater)][:2] == [3, 1]


def test_a_rater_is_asked_and_answers_over_http(folder: Folder) -> None:
    of = published(folder)
    with calling(folder) as client:
        assert client.get("/v1/study", headers=of["rater-1"]).json() == {
            "shown": {"study": ID, "items": ["a", "b"]},
            "rater": "rater-1",
            "order": [[1, 1, "words"], [0, 1, "words"]],
            "pictures": {"1.jpg": "data:,1"},
        }
        for _ in range(2):
            assert sent(client, of["rater-1"], ANSWER).json() == {"kept": 1}
        assert client.get("/v1/study/answers", headers=of["rater-1"]).json() == {"answers": [ANSWER]}
        assert client.get("/v1/study/answers", headers=of["rater-2"]).json() == {"answers": []}
        for change in ({"item": 2}, {"more": 1}):
            assert sent(client, of["rater-1"], ANSWER | change).status_code == 422
        many = sent(client, of["rater-1"], *[ANSWER] * 2001)
        assert (many.status_code, many.json()["error"][-20:]) == (422, "at most 2000 answers")


def test_a_link_lets_one_rater_answer_and_nothing_else_until_it_ends(folder: Folder) -> None:
    of = published(folder)
    assert studies.invite(folder, ID) == {}
    with calling(folder, always_tokens=True) as client:
        assert client.get("/rate").headers["content-security-policy"].endswith("frame-ancestors 'none'")
        assert client.get("/v1/study").status_code == 401
        for path in ("/v1/runs", "/v1/tokens", "/v1/truths", "/v1/audit"):
            assert client.get(path, headers=of["rater-1"]).status_code == 403
        (renewed,) = invited(folder, ["rater-1"]).values()
        assert sent(client, of["rater-1"], ANSWER).status_code == 401
        assert sent(client, renewed, ANSWER).json() == {"kept": 1}
        assert sent(client, of["rater-2"], ANSWER).json() == {"kept": 1}


def test_a_folder_from_before_there_were_studies_gets_their_tables(tmp_path: Path) -> None:
    path = tmp_path / "shoe.sqlite"
    Database(path).close()
    with sqlite3.connect(path) as db:
        db.executescript(
            "DROP TABLE answers; DROP TABLE raters; DROP TABLE pictures; DROP TABLE studies; DROP TABLE deleted_files;"
            "ALTER TABLE runs DROP COLUMN link; ALTER TABLE boards DROP COLUMN ends;"
            "PRAGMA user_version = 1"
        )
    Database(path).close()
    with sqlite3.connect(path) as db:
        assert db.execute("SELECT * FROM answers").fetchall() == []


@pytest.mark.slow
def test_no_answer_is_lost_or_there_twice_whenever_the_server_is_killed(tmp_path: Path) -> None:
    counts = storm(tmp_path, 4, 0)
    assert {name: counts[name] for name in BAD} == dict.fromkeys(BAD, 0)
    assert (counts["servers killed"], counts["answers given"] > 100) == (4, True)
