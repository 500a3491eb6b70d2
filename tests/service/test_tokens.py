import sqlite3
from pathlib import Path

import pytest

from shoe.core.errors import OptionError
from shoe.service import tokens
from shoe.service.errors import NotFoundError
from shoe.service.folder import Folder
from shoe.service.tokens import SCOPES
from tests.cli.run import run


def test_a_token_is_kept_as_its_hash_and_ends(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    token = tokens.new_token(folder, "ci", "a", ["submit"], days=1)
    assert len(token) == len("shoe_") + 43
    identity = tokens.check(folder, token)
    assert identity is not None
    assert [identity.allows(scope) for scope in SCOPES] == [True, True, False]
    assert [tokens.check(folder, wrong) for wrong in (token[:-1], "\udcff")] == [None, None]
    assert token not in "\n".join(sqlite3.connect(folder.path / "shoe.sqlite").iterdump())
    session = tokens.log_in(folder, token, 60)
    assert session is not None
    assert tokens.check_session(folder, session) == identity
    assert tokens.check(folder, session) is None  # a cookie is no token
    made = tokens.tokens(folder)[0].created
    with monkeypatch.context() as later:
        later.setattr("time.time", lambda: made + 61)
        assert tokens.check_session(folder, session) is None
        later.setattr("time.time", lambda: made + 86401)
        assert tokens.check(folder, token) is None
    assert tokens.revoke(folder, token[:10]).name == "ci"
    assert tokens.check(folder, token) is tokens.check_session(folder, session) is None
    with pytest.raises(NotFoundError):
        tokens.revoke(folder, token[:10])


def test_a_token_is_revoked_by_its_beginning_or_as_a_whole(folder: Folder) -> None:
    for given in ("{}", " {}\n", "{:.10}", "{:.10}..."):
        token = tokens.new_token(folder, "ci", "a")
        assert tokens.revoke(folder, given.format(token)).revoked is not None
        assert tokens.check(folder, token) is None


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"scopes": ["root"]}, "unknown scope 'root'"),
        ({"scopes": []}, "scopes"),
        ({"name": " "}, "name"),
        ({"team": "a\nb"}, "team"),
        ({"days": 0.0}, "days"),
    ],
)
def test_a_token_that_cannot_be_is_refused(folder: Folder, wrong: dict[str, object], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        tokens.new_token(folder, **{"name": "n", "team": "t", **wrong})  # type: ignore[arg-type]
    assert tokens.tokens(folder) == []


def test_what_is_done_by_the_command_line_is_written_down(tmp_path: Path) -> None:
    place = tmp_path / "service"
    Folder.open(place).close()
    token = run("serve", "token", "new", place, "ci", "--team", "a").stdout.strip()
    run("serve", "token", "revoke", place, token[:10])
    said = [(entry.actor, entry.action, entry.object) for entry in tokens.entries(Folder.open(place))]
    assert said == [("command line", "token revoke", token[:10]), ("command line", "token new", "ci of a")]
