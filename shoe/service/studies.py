"""Rating studies: questions for invited raters, and the answers of the raters."""

import logging
import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shoe.core.errors import InputError, quote, unknown_name
from shoe.service import tokens
from shoe.service.database import to_json
from shoe.service.errors import ConflictError, NotFoundError
from shoe.service.folder import Folder
from shoe.service.types import Answer, Question, RaterQuestions

_MOST = 20
"""Limit of stored answers per question, on average over the questions for a rater; corrections are answers, too."""
_DAY = 86_400_000
_log = logging.getLogger(__name__)
_TEAM = "study "  # prefix of the team of raters' tokens; the ID of the study follows


class Returned(msgspec.Struct):
    """Answers of one rater to a study, in the format of the files that the rating page saves."""

    study: str
    rater: str
    answers: list[Answer]


class Rater(msgspec.Struct):
    """Questions for one rater in order of presentation, and names of the image files that the questions show."""

    order: Sequence[Question]
    pictures: Sequence[str]


def publish(
    folder: Folder,
    id_: str,
    shown: Mapping[str, Any],
    levels: int,
    raters: Mapping[str, Rater],
    pictures: Mapping[str, str],
) -> None:
    """Publish a study; if the study is published already, update only `shown`, and add new raters and images.

    `shown` is the content of the page for all raters; ratings range from 0 to `levels` - 1. `raters` has the questions
    by name of the rater, and `pictures` images as ``data:`` URLs by file name.
    """
    with folder.database.write() as db:
        db.execute(
            "INSERT INTO studies VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET shown = excluded.shown",
            (id_, to_json(shown), levels, time.time()),
        )
        rows = [(id_, name, to_json(rater)) for name, rater in raters.items()]
        db.executemany("INSERT INTO raters VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)
        images = [(id_, file, address) for file, address in pictures.items()]
        db.executemany("INSERT INTO pictures VALUES (?, ?, ?) ON CONFLICT DO NOTHING", images)


def invite(folder: Folder, id_: str, names: Sequence[str] = ()) -> dict[str, str]:
    """Create tokens for raters of a study who have no valid token, and replace the tokens of the raters `names`.

    Return the new tokens, which cannot be shown again, by name of the rater; raise OptionError for an unknown rater.
    """
    with folder.database.read() as db:
        known = _raters(db, id_)
    for name in names:
        if name not in known:
            raise unknown_name("rater", name, known)
    team = _TEAM + id_
    with folder.database.write() as db:
        ended = [(time.time(), team, name) for name in names]
        db.executemany("UPDATE tokens SET revoked = ? WHERE team = ? AND name = ? AND revoked IS NULL", ended)
    have = {token.name for token in tokens.tokens(folder) if token.team == team and token.revoked is None}
    return {name: tokens.new_token(folder, name, team, [tokens.RATE]) for name in known if name not in have}


def questions_of(folder: Folder, identity: tokens.Identity) -> RaterQuestions:
    """Return the questions for the rater `identity`; raise NotFoundError if the study is not on this server."""
    id_, name = _study_and_rater(identity)
    with folder.database.read() as db:
        rater, _ = _read_questions(db, identity)
        shown = db.execute("SELECT shown FROM studies WHERE id = ?", (id_,)).fetchone()["shown"]
        rows = db.execute(
            "SELECT file, address FROM pictures JOIN json_each(?) ON file = value WHERE study = ?",
            (to_json(rater.pictures), id_),
        ).fetchall()
    raw: Any = msgspec.Raw(shown.encode())  # the study's JSON, sent as it is
    return RaterQuestions(shown=raw, rater=name, order=list(map(list, rater.order)), pictures=dict(map(tuple, rows)))


def _read_questions(db: sqlite3.Connection, identity: tokens.Identity) -> tuple[Rater, int]:
    """Return the questions for a rater, and the number of rating levels of the study."""
    row = db.execute(
        "SELECT asked, levels FROM raters JOIN studies ON id = study WHERE study = ? AND name = ?",
        _study_and_rater(identity),
    ).fetchone()
    if row is None:
        raise NotFoundError("this link is for a study that is not on this server: ask its organiser for a new link")
    return msgspec.json.decode(row["asked"], type=Rater), row["levels"]


def add_answers(folder: Folder, identity: tokens.Identity, answers: Sequence[Answer]) -> int:
    """Store answers of a rater (exactly equal answers once); return the number of all stored answers of the rater.

    Raise NotFoundError if the study of the token is not published on this server, InputError if an answer belongs to no
    question for this rater or its rating is out of range, ConflictError for over 20 answers per question on average.
    """
    with folder.database.read() as db:
        rater, levels = _read_questions(db, identity)
    questions = set(rater.order)
    for number, answer in enumerate(answers):
        if (answer.item, answer.occasion, answer.phase) not in questions or answer.rating >= levels:
            found = quote([answer.item, answer.occasion, answer.phase, answer.rating])
            expected = f"a question for {identity.name}, and a rating from 0 to {levels - 1}"
            raise InputError("request", record=f"answer {number + 1}", found=found, expected=expected)
    who, now = _study_and_rater(identity), time.time()
    if any(not answer.shown <= answer.answered <= 1000 * now + _DAY for answer in answers):
        _log.warning("study %s: the clock of %s is wrong: an answer is before its question, or in the future", *who)
    with folder.database.write() if answers else folder.database.read() as db:
        db.executemany(
            "INSERT INTO answers (study, rater, item, occasion, phase, rating, shown, answered, received) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(*who, *msgspec.structs.astuple(answer), now) for answer in answers],
        )
        kept: int = db.execute("SELECT count(*) FROM answers WHERE study = ? AND rater = ?", who).fetchone()[0]
        if answers and kept > _MOST * len(questions):
            raise ConflictError(f"answers: limit of {_MOST} answers per question (on average) exceeded")
    return kept


def answers_of(folder: Folder, identity: tokens.Identity) -> list[Answer]:
    """Return all answers of a rater in the order of arrival; their times may be wrong, like browser clocks."""
    with folder.database.read() as db:
        return _read_answers(db, *_study_and_rater(identity))


def returned(folder: Folder, id_: str) -> list[Returned]:
    """Return one item per rater of a study, even without answers; raise NotFoundError if the study is not published."""
    with folder.database.read() as db:
        names = _raters(db, id_)
        if not names:
            raise NotFoundError(f"no study {id_} on this server")
        return [Returned(id_, name, _read_answers(db, id_, name)) for name in names]


def _read_answers(db: sqlite3.Connection, id_: str, rater: str) -> list[Answer]:
    rows = db.execute(
        "SELECT item, occasion, phase, rating, shown, answered FROM answers WHERE study = ? AND rater = ? "
        "ORDER BY number",
        (id_, rater),
    )
    return [Answer(*row) for row in rows]


def _raters(db: sqlite3.Connection, id_: str) -> list[str]:
    return [row["name"] for row in db.execute("SELECT name FROM raters WHERE study = ? ORDER BY rowid", (id_,))]


def _study_and_rater(identity: tokens.Identity) -> tuple[str, str]:
    return str(identity.team).removeprefix(_TEAM), identity.name
