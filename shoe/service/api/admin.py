"""What who runs the server does: tokens, and what was done."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from shoe.service import audit, tokens
from shoe.service.api import models
from shoe.service.callers import Admin, TheDesk
from shoe.service.contract import contract
from shoe.service.reading import body
from shoe.service.refusals import json_response

router = APIRouter(tags=["admin"])
Prefix = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,20}$", description="First characters of a token, as listed.")]


@router.get("/v1/tokens", **contract(models.Tokens, open_to="token"))
def list_tokens(identity: Admin, desk: TheDesk) -> Response:
    """All tokens, but for themselves."""
    del identity
    return json_response(models.Tokens(tokens=[_answer(token) for token in tokens.tokens(desk.folder)]))


@router.post("/v1/tokens", **contract(models.MadeToken, models.NewToken, status=201))
def make_token(asked: Annotated[models.NewToken, body(models.NewToken)], identity: Admin, desk: TheDesk) -> Response:
    """Make a token; it is shown this once."""
    del identity
    made = tokens.new_token(desk.folder, asked.name, asked.team, asked.scopes, asked.days)
    said = models.MadeToken(token=made, name=asked.name, team=asked.team, scopes=list(asked.scopes))
    return json_response(said, 201)


@router.delete("/v1/tokens/{prefix}", **contract(models.Token))
def revoke_token(prefix: Prefix, identity: Admin, desk: TheDesk) -> Response:
    """Take a token back, and the logins made with it."""
    del identity
    return json_response(_answer(tokens.revoke(desk.folder, prefix)))


@router.get("/v1/audit", **contract(models.Audit))
def list_audit(
    identity: Admin,
    desk: TheDesk,
    before: Annotated[int | None, Query(ge=1, le=2**62, description="Id of the last entry of the list before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most entries.")] = 100,
) -> Response:
    """What was done, by whom, from where, the latest first."""
    del identity
    found = audit.entries(desk.folder, before, limit)
    said = [
        models.Entry(
            id=each.id,
            at=each.at,
            actor=each.actor,
            action=each.action,
            address=each.address,
            object=each.object,
            detail=each.detail,
        )
        for each in found
    ]
    return json_response(models.Audit(entries=said))


def _answer(token: tokens.Token) -> models.Token:
    return models.Token(
        prefix=token.prefix,
        name=token.name,
        team=token.team,
        scopes=list(token.scopes),
        created=token.created,
        expires=token.expires,
        last_used=token.last_used,
        revoked=token.revoked,
    )
