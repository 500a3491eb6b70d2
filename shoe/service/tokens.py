"""Access tokens, browser sessions, and the audit log. Only hashes of tokens are stored; a token is shown once."""

import hashlib
import secrets
import sqlite3
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from shoe.core.errors import OptionError, printable, quote, unknown_name
from shoe.service.database import read_row
from shoe.service.errors import NotFoundError
from shoe.service.folder import Folder
from shoe.service.types import Entry, Token

COMMAND_LINE = "command line"
"""Name of the actor in the audit log for commands on the server's own machine."""


def record(folder: Folder, actor: str, action: str, changed: str | None = None, address: str | None = None) -> None:
    """Add `action` on `changed` by `actor` at a network `address` to the audit log; texts are cut to 300 characters."""
    texts = [None if text is None else printable(text, 300) for text in (actor, address, action, changed)]
    with folder.database.write() as db:
        query = "INSERT INTO audit (at, actor, address, action, object) VALUES (?, ?, ?, ?, ?)"
        db.execute(query, (time.time(), *texts))


def entries(folder: Folder, before: int | None = None, limit: int = 100) -> list[Entry]:
    """Return at most `limit` entries of the audit log, the newest first, only with IDs below `before` if given."""
    with folder.database.read() as db:
        rows = db.execute(
            "SELECT * FROM audit WHERE id < coalesce(?, 1 << 62) ORDER BY id DESC LIMIT ?", (before, limit)
        )
        return [read_row(row, Entry) for row in rows]


Scope = Literal["read", "submit", "admin", "rate"]
SCOPES: tuple[Scope, ...] = ("read", "submit", "admin")
"""Permissions in ascending order; each permission includes all earlier permissions."""
RATE: Scope = "rate"
"""Permission of one rater to answer the questions of a study; it includes no other permission."""
ADMIN = "admin"
"""Team and permission of the token that is created at the first start; runs of this team are baselines."""
LOCAL = "local"
"""Team of callers on this machine, who need no token."""
_PREFIX, _SHOWN, _LONGEST_NAME = "shoe_", 10, 80
_DAY = 86400.0


@dataclass(frozen=True, slots=True)
class Identity:
    """A caller of the API."""

    team: str | None  # team of the token; without a token "local" for a local caller, None for an anonymous caller
    scopes: frozenset[str]  # permissions of the token
    name: str  # name of the token
    key: str | None  # token hash or network address, by which requests are counted; None for no rate limit

    def allows(self, scope: Scope) -> bool:
        """Return whether the caller has a permission, or a higher permission that includes it."""
        return any(each in self.scopes for each in (SCOPES[SCOPES.index(scope) :] if scope in SCOPES else (scope,)))


def new_token(
    folder: Folder, name: str, team: str, scopes: Collection[str] = ("read", "submit"), days: float | None = None
) -> str:
    """Create a token of 256 random bits, store a hash of the token, and return the token.

    `name` is the name of the user or program that gets the token. A team that does not exist is created. The token
    expires after `days` (None: never). Raise OptionError if a permission is missing or unknown, name or team are not 1
    to 80 printable characters, or `days` is not above 0 and at most 36500.
    """
    for what, given in (("name", name), ("team", team)):
        if not given.strip() or len(given) > _LONGEST_NAME or not given.isprintable():
            raise OptionError(f"{what}: found {quote(given)}, expected 1 to {_LONGEST_NAME} printable characters")
    if not scopes:
        raise OptionError(f"scopes: found none, expected at least one of {', '.join(SCOPES)}")
    for scope in scopes:
        if scope not in (*SCOPES, RATE):
            raise unknown_name("scope", scope, SCOPES)
    if days is not None and not 0 < days <= 36500:
        raise OptionError(f"days: found {days:g}, expected more than 0 and at most 36500")
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
    """Return the caller that a token belongs to; None if the token is unknown, expired or revoked."""
    with folder.database.read() as db:
        return _identity(db.execute("SELECT * FROM tokens WHERE hash = ?", (_hash(token),)).fetchone())


def tokens(folder: Folder) -> list[Token]:
    """Return all tokens, the newest first, including expired and revoked tokens."""
    with folder.database.read() as db:
        rows = db.execute("SELECT * FROM tokens ORDER BY created DESC, hash")
        return [read_row(row, Token, scopes=row["scopes"].split()) for row in rows]


def revoke(folder: Folder, prefix: str) -> Token:
    """Revoke and return a token (whole, or its first 10 characters), and end its sessions; NotFoundError if absent."""
    prefix, now = prefix.strip()[:_SHOWN], time.time()
    found = next((token for token in tokens(folder) if token.prefix == prefix and token.revoked is None), None)
    if found is None:
        raise NotFoundError(f"no valid token begins with {quote(prefix)}")
    with folder.database.write() as db:
        db.execute("UPDATE tokens SET revoked = ? WHERE prefix = ? AND revoked IS NULL", (now, prefix))
    return replace(found, revoked=now)


def note_use(folder: Folder, used: Mapping[str, float]) -> None:
    """Record when tokens were last used; `used` maps token hashes to times in seconds since 1970."""
    with folder.database.write() as db:
        rows = [(at, hashed) for hashed, at in used.items()]
        db.executemany("UPDATE tokens SET last_used = ? WHERE hash = ?", rows)


def log_in(folder: Folder, token: str, seconds: float) -> str | None:
    """Start a browser session of `seconds` at most, and return the session secret; None if the token is not valid."""
    if check(folder, token) is None:
        return None
    secret, now = secrets.token_urlsafe(32), time.time()
    with folder.database.write() as db:
        db.execute("DELETE FROM sessions WHERE expires < ?", (now,))
        db.execute("INSERT INTO sessions VALUES (?, ?, ?)", (_hash(secret), _hash(token), now + seconds))
    return secret


def check_session(folder: Folder, secret: str) -> Identity | None:
    """Return the caller of the session with a secret; None if the session or its token has expired or was revoked."""
    with folder.database.read() as db:
        row = db.execute(
            "SELECT tokens.hash, name, team, scopes, revoked, "
            "min(sessions.expires, coalesce(tokens.expires, sessions.expires)) AS expires "
            "FROM sessions JOIN tokens ON tokens.hash = sessions.token "
            "WHERE sessions.hash = ? AND sessions.expires > ?",
            (_hash(secret), time.time()),
        ).fetchone()
    return _identity(row)


def log_out(folder: Folder, secret: str) -> None:
    """End the browser session with the given secret."""
    with folder.database.write() as db:
        db.execute("DELETE FROM sessions WHERE hash = ?", (_hash(secret),))


def _hash(secret: str) -> str:
    # A slow password hash is not needed, because a secret has 256 random bits and cannot be guessed.
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def _identity(row: sqlite3.Row | None) -> Identity | None:
    if row is None or row["revoked"] is not None or (row["expires"] is not None and row["expires"] <= time.time()):
        return None
    return Identity(row["team"], frozenset(row["scopes"].split()), row["name"], row["hash"])
