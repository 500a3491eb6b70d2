"""Studies that people are invited to: questions to raters, and their answers."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from shoe.core.errors import InputError, quote, unknown_name
from shoe.service import tokens
from shoe.service.contract import ConflictError, NotFoundError
from shoe.service.folder import Folder
from shoe.service.types import Answer, Asked, Question

_MOST = 20
"""Answers that are kept for each question to a rater, on average: people put some right."""

_TEAM = "study "
"""Prefix of the study's ID in the team of its raters' tokens."""


class Returned(msgspec.Struct):
    """A rater's answers to a study: the file that a page saves."""

    study: str
    rater: str
    answers: list[Answer]


class Rater(msgspec.Struct):
    """Questions of one rater in order, and the files of pictures shown with them."""

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
    """Put a study into a service; of one that is there, texts are taken over, and what raters are asked stays.

    Args:
        shown: what the page shows every rater.
        levels: how many ratings there are, from 0.
        raters: what each is asked, by name.
        pictures: by the names of their files, ``data:`` addresses.
    """
    with folder.database.write() as db:
        db.execute(
            "INSERT INTO studies VALUES (?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET shown = excluded.shown",
            (id_, msgspec.json.encode(shown).decode(), levels, time.time()),
        )
        rows = [(id_, name, msgspec.json.encode(of).decode()) for name, of in raters.items()]
        db.executemany("INSERT INTO raters VALUES (?, ?, ?) ON CONFLICT DO NOTHING", rows)
        of_study = [(id_, file, address) for file, address in pictures.items()]
        db.executemany("INSERT INTO pictures VALUES (?, ?, ?) ON CONFLICT DO NOTHING", of_study)


def invite(folder: Folder, id_: str, names: Sequence[str] = ()) -> dict[str, str]:
    """Make tokens for raters of a study who have none, and new ones for the raters `names`, whose old ones end.

    Returns:
        Tokens by rater: they cannot be shown again.

    Raises:
        OptionError: for a name that is no rater's.
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


def asked(folder: Folder, identity: tokens.Identity) -> Asked:
    """What a rater is asked.

    Raises:
        NotFoundError: where the token is for no rater of a study that is here.
    """
    id_, name = _who(identity)
    with folder.database.read() as db:
        rater, _ = _asked(db, identity)
        shown = db.execute("SELECT shown FROM studies WHERE id = ?", (id_,)).fetchone()["shown"]
        rows = db.execute(
            "SELECT file, address FROM pictures JOIN json_each(?) ON file = value WHERE study = ?",
            (msgspec.json.encode(rater.pictures).decode(), id_),
        ).fetchall()
    raw: Any = msgspec.Raw(shown.encode())  # the study's JSON, sent as it is
    return Asked(shown=raw, rater=name, order=list(map(list, rater.order)), pictures=dict(map(tuple, rows)))


def _asked(db: sqlite3.Connection, identity: tokens.Identity) -> tuple[Rater, int]:
    """Return a rater's questions, and the number of ratings."""
    row = db.execute(
        "SELECT asked, levels FROM raters JOIN studies ON id = study WHERE study = ? AND name = ?", _who(identity)
    ).fetchone()
    if row is None:
        raise NotFoundError("the study that this token is for is not here")
    return msgspec.json.decode(row["asked"], type=Rater), row["levels"]


def keep(folder: Folder, identity: tokens.Identity, answers: Sequence[Answer]) -> int:
    """Add a rater's answers to those that are kept; one that is there is not kept twice.

    Returns:
        How many of the rater's answers are kept.

    Raises:
        NotFoundError: where the token is for no rater of a study that is here.
        InputError: for an answer to what the rater is not asked.
        ConflictError: for more answers than a person gives.
    """
    with folder.database.read() as db:
        rater, levels = _asked(db, identity)
    questions = set(rater.order)
    for number, answer in enumerate(answers):
        if (answer.item, answer.occasion, answer.phase) not in questions or answer.rating >= levels:
            found = quote([answer.item, answer.occasion, answer.phase, answer.rating])
            expected = f"a question to {identity.name}, and a rating 0 to {levels - 1}"
            raise InputError("request", record=f"answer {number}", found=found, expected=expected)
    who = _who(identity)
    with folder.database.write() if answers else folder.database.read() as db:
        db.executemany(
            "INSERT INTO answers (study, rater, item, occasion, phase, rating, shown, answered, received) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            [(*who, *msgspec.structs.astuple(answer), time.time()) for answer in answers],
        )
        kept: int = db.execute("SELECT count(*) FROM answers WHERE study = ? AND rater = ?", who).fetchone()[0]
        if answers and kept > _MOST * len(questions):
            raise ConflictError(f"found more than {_MOST} answers for each question, expected fewer")
    return kept


def given(folder: Folder, identity: tokens.Identity) -> list[Answer]:
    """Return a rater's answers, the earliest first."""
    with folder.database.read() as db:
        return _given(db, *_who(identity))


def returned(folder: Folder, id_: str) -> list[Returned]:
    """What all raters of a study have answered, each as the file that a page saves.

    Raises:
        NotFoundError: for a study that is not here.
    """
    with folder.database.read() as db:
        names = _raters(db, id_)
        if not names:
            raise NotFoundError(f"no study {id_}")
        return [Returned(id_, name, _given(db, id_, name)) for name in names]


def _given(db: sqlite3.Connection, id_: str, rater: str) -> list[Answer]:
    rows = db.execute(
        "SELECT item, occasion, phase, rating, shown, answered FROM answers WHERE study = ? AND rater = ? "
        "ORDER BY answered, number",
        (id_, rater),
    )
    return [Answer(*row) for row in rows]


def _raters(db: sqlite3.Connection, id_: str) -> list[str]:
    return [row["name"] for row in db.execute("SELECT name FROM raters WHERE study = ? ORDER BY rowid", (id_,))]


def _who(identity: tokens.Identity) -> tuple[str, str]:
    """Return study and rater of a token."""
    return str(identity.team).removeprefix(_TEAM), identity.name
