"""What who runs the server does: tokens, and what was done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from shoe.service import tokens, types
from shoe.service.callers import Admin, App
from shoe.service.contract import contract
from shoe.service.refusals import body, json_response

router = APIRouter(tags=["admin"])
Prefix = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,20}$", description="First characters of a token, as listed.")]


@router.get("/v1/tokens", **contract(types.Tokens, open_to="token"))
def list_tokens(_: Admin, app: App) -> Response:
    """All tokens, but for themselves."""
    return json_response(types.Tokens(tokens=tokens.tokens(app.folder)))


@router.post("/v1/tokens", **contract(types.MadeToken, types.NewToken, status=201))
def make_token(asked: Annotated[types.NewToken, body(types.NewToken)], _: Admin, app: App) -> Response:
    """Make a token; it is shown this once."""
    made = tokens.new_token(app.folder, asked.name, asked.team, asked.scopes, asked.days)
    return json_response(types.MadeToken(token=made, name=asked.name, team=asked.team, scopes=list(asked.scopes)), 201)


@router.delete("/v1/tokens/{prefix}", **contract(types.Token))
def revoke_token(prefix: Prefix, _: Admin, app: App) -> Response:
    """Take a token back, and the logins made with it."""
    return json_response(tokens.revoke(app.folder, prefix))


@router.get("/v1/audit", **contract(types.Audit))
def list_audit(
    _: Admin,
    app: App,
    before: Annotated[int | None, Query(ge=1, le=2**62, description="Id of the last entry of the list before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most entries.")] = 100,
) -> Response:
    """What was done, by whom, from where, the latest first."""
    return json_response(types.Audit(entries=tokens.entries(app.folder, before, limit)))
