"""Tokens of callers: team and permissions. Only hashes are kept; a token is shown once."""

from __future__ import annotations

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Literal

from shoe.core.errors import OptionError, printable, quote, unknown_name
from shoe.service.contract import NotFoundError
from shoe.service.database import read_row
from shoe.service.folder import Folder
from shoe.service.types import Entry, Token

# Who did what, and when.

COMMAND_LINE = "command line"
"""The actor of what is done on the service's own machine."""


def record(
    folder: Folder,
    actor: str,
    action: str,
    object: str | None = None,  # noqa: A002 - what it was done to
    detail: str | None = None,
    address: str | None = None,
) -> None:
    """Add an entry to the audit log; texts of clients are shortened to one line."""
    texts = [None if text is None else printable(text, 300) for text in (actor, address, action, object, detail)]
    with folder.database.write() as db:
        db.execute(
            "INSERT INTO audit (at, actor, address, action, object, detail) VALUES (?, ?, ?, ?, ?, ?)",
            (time.time(), *texts),
        )


def entries(folder: Folder, before: int | None = None, limit: int = 100) -> list[Entry]:
    """Return the last entries, or the last ones before an ID, the newest first."""
    with folder.database.read() as db:
        rows = db.execute(
            "SELECT * FROM audit WHERE id < coalesce(?, 1 << 62) ORDER BY id DESC LIMIT ?", (before, limit)
        )
        return [read_row(row, Entry) for row in rows]


Scope = Literal["read", "submit", "admin", "rate"]
SCOPES: tuple[Scope, ...] = ("read", "submit", "admin")
"""Each allows what those before it allow."""
RATE: Scope = "rate"
"""Allows one rater of a study to answer, and nothing else."""
LOCAL = "local"
"""The team of who needs no token."""
_PREFIX, _SHOWN, _LONGEST_NAME = "shoe_", 10, 80
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller.

    Attributes:
        team: None for a caller without a token.
        key: key under which requests are counted; None where they are not counted.
    """

    team: str | None
    scopes: frozenset[str]
    name: str
    key: str | None

    def allows(self, scope: Scope) -> bool:
        """Return whether the caller has a permission."""
        return any(each in self.scopes for each in (SCOPES[SCOPES.index(scope) :] if scope in SCOPES else (scope,)))


def new_token(
    folder: Folder, name: str, team: str, scopes: Collection[str] = ("read", "submit"), days: float | None = None
) -> str:
    """Make a token of 256 random bits.

    Args:
        team: its team, made if absent.
        days: days until it expires; None for never.

    Returns:
        The token, which cannot be shown again.

    Raises:
        OptionError: for an unknown scope, an empty or long name, or days that are not positive.
    """
    for what, given in (("name", name), ("team", team)):
        if not given.strip() or len(given) > _LONGEST_NAME or not given.isprintable():
            raise OptionError(f"{what}: found {quote(given)}, expected 1 to {_LONGEST_NAME} printable characters")
    if not scopes:
        raise OptionError(f"scopes: found none, expected some of {', '.join(SCOPES)}")
    for scope in scopes:
        if scope not in (*SCOPES, RATE):
            raise unknown_name("scope", scope, SCOPES)
    if days is not None and not 0 < days <= 36500:
        raise OptionError(f"days: found {days:g}, expected more than 0, at most 36500")
    sorted_scopes = " ".join(scope for scope in (*SCOPES, RATE) if scope in scopes)
    token, now = _PREFIX + secrets.token_urlsafe(32), time.time()
    with folder.database.write() as db:
        db.execute("INSERT OR IGNORE INTO teams (name, created) VALUES (?, ?)", (team, now))
        db.execute(
            "INSERT INTO tokens (hash, prefix, name, team, scopes, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (_hash(token), token[:_SHOWN], name, team, sorted_scopes, now, None if days is None else now + days * _DAY),
        )
    return token


def check(folder: Folder, token: str) -> Identity | None:
    """Return the owner of a token; None if it is not valid."""
    hashed = _hash(token)
    with folder.database.read() as db:
        row = db.execute("SELECT * FROM tokens WHERE hash = ?", (hashed,)).fetchone()
    return _identity(row, hashed)


def tokens(folder: Folder) -> list[Token]:
    """Return all tokens, the newest first."""
    with folder.database.read() as db:
        rows = db.execute("SELECT * FROM tokens ORDER BY created DESC, hash")
        return [read_row(row, Token, scopes=row["scopes"].split()) for row in rows]


def revoke(folder: Folder, prefix: str) -> Token:
    """Revoke the token with a prefix, as lists show it, and the logins made with the token.

    Raises:
        NotFoundError: if no valid token has the prefix.
    """
    found = next((token for token in tokens(folder) if token.prefix == prefix and token.revoked is None), None)
    if found is None:
        raise NotFoundError(f"no valid token begins with {quote(prefix)}")
    with folder.database.write() as db:
        db.execute("UPDATE tokens SET revoked = ? WHERE prefix = ? AND revoked IS NULL", (time.time(), prefix))
    return found


def note_use(folder: Folder, used: Mapping[str, float]) -> None:
    """Record when tokens were last used, by their hashes."""
    with folder.database.write() as db:
        db.executemany("UPDATE tokens SET last_used = ? WHERE hash = ?", [(at, of) for of, at in used.items()])


def log_in(folder: Folder, token: str, seconds: float) -> str | None:
    """Begin a browser's session, which lasts at most so many seconds.

    Returns:
        The session's secret, for a cookie; None if the token is not valid.
    """
    if check(folder, token) is None:
        return None
    secret, now = secrets.token_urlsafe(32), time.time()
    with folder.database.write() as db:
        db.execute("DELETE FROM sessions WHERE expires < ?", (now,))
        db.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(secret), _hash(token), now + seconds))
    return secret


def check_session(folder: Folder, secret: str) -> Identity | None:
    """Return the caller of a session; None if it, or its token, has ended."""
    with folder.database.read() as db:
        row = db.execute(
            "SELECT tokens.hash, name, team, scopes, revoked, "
            "min(sessions.expires, coalesce(tokens.expires, sessions.expires)) AS expires "
            "FROM sessions JOIN tokens ON tokens.hash = sessions.token "
            "WHERE sessions.hash = ? AND sessions.expires > ?",
            (_hash(secret), time.time()),
        ).fetchone()
    return _identity(row, row["hash"]) if row is not None else None


def log_out(folder: Folder, secret: str) -> None:
    """End a session."""
    with folder.database.write() as db:
        db.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))


def _hash(secret: str) -> str:
    # A secret has 256 random bits, so that a slow hash, as for passwords, would add nothing.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _identity(row: sqlite3.Row | None, hashed: str) -> Identity | None:
    if row is None or not compare_digest(row["hash"], hashed):
        return None
    if row["revoked"] is not None or (row["expires"] is not None and row["expires"] <= time.time()):
        return None
    return Identity(row["team"], frozenset(row["scopes"].split()), row["name"], hashed)
