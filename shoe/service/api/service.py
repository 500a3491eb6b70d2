"""Routes about the service itself: its state, log-in, tokens, leaderboards, ground truths, studies, and words."""

from __future__ import annotations

import shutil
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Path, Query, Request
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shoe.core.errors import OptionError, quote
from shoe.service import boards, studies, tokens, truths, types
from shoe.service.callers import Admin, Anybody, App, AppState, Rater, Reader, demand, verified
from shoe.service.contract import body, contract, json_response
from shoe.service.security import COOKIE
from shoe.version import __version__

if TYPE_CHECKING:
    from shoe.similarity import Similarity

about_router = APIRouter(tags=["about"])
API = 1


@about_router.get("/v1/version", **contract(types.Version, open_to="all"))
async def version() -> Response:
    """What runs here."""
    return json_response(types.Version(shoe=__version__, api=[API]))


@about_router.get("/v1/health", **contract(types.Health, open_to="all"))
def health(app: App) -> Response:
    """Whether the service takes work, and how much is before it."""
    with app.folder.database.read() as db:
        rows = db.execute("SELECT state, count(*) AS n FROM jobs WHERE state IN ('queued', 'running') GROUP BY state")
        counts = {row["state"]: row["n"] for row in rows}
    full = shutil.disk_usage(app.folder.path).free < app.settings.free_below
    health = types.Health(
        state="full" if full else "working",
        queued=counts.get("queued", 0),
        running=counts.get("running", 0),
        engine=app.place.name,
        engine_state="working" if app.place.is_ready else "lost",
    )
    return json_response(health)


@about_router.post("/v1/session", **contract(types.Session, types.Login, open_to="all"))
async def log_in(asked: Annotated[types.Login, body(types.Login)], request: Request, _: Anybody, app: App) -> Response:
    """Log a browser in: its cookie stands for the token, for half a day."""
    identity = await run_in_threadpool(verified, request, asked.token)
    response = json_response(_session(identity))
    await run_in_threadpool(set_session, app, request, response, asked.token)
    return response


@about_router.get("/v1/session", **contract(types.Session, open_to="all"))
async def get_session(identity: Anybody) -> Response:
    """Who you are here."""
    return json_response(_session(identity))


@about_router.delete("/v1/session", **contract(status=204, open_to="all"))
def log_out(request: Request, _: Anybody, app: App) -> Response:
    """Log a browser out."""
    tokens.log_out(app.folder, request.cookies.get(COOKIE, ""))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


def _session(identity: tokens.Identity) -> types.Session:
    scopes: list[str] = [scope for scope in tokens.SCOPES if identity.allows(scope)]
    return types.Session(team=identity.team or "", name=identity.name, scopes=scopes)


def set_session(app: AppState, request: Request, response: Response, token: str) -> None:
    """Start a session and set its cookie, which no script can read and no other site can send."""
    secret = tokens.log_in(app.folder, token, app.settings.session)
    if secret is not None:
        response.set_cookie(
            COOKIE,
            secret,
            max_age=app.settings.session,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )


# What who runs the server does: tokens, and what was done.

admin_router = APIRouter(tags=["admin"])
Prefix = Annotated[str, Path(pattern="^[A-Za-z0-9_-]{1,20}$", description="First characters of a token, as listed.")]


@admin_router.get("/v1/tokens", **contract(types.Tokens, open_to="token"))
def list_tokens(_: Admin, app: App) -> Response:
    """All tokens, but for themselves."""
    return json_response(types.Tokens(tokens=tokens.tokens(app.folder)))


@admin_router.post("/v1/tokens", **contract(types.MadeToken, types.NewToken, status=201))
def make_token(asked: Annotated[types.NewToken, body(types.NewToken)], _: Admin, app: App) -> Response:
    """Make a token; it is shown this once."""
    made = tokens.new_token(app.folder, asked.name, asked.team, asked.scopes, asked.days)
    return json_response(types.MadeToken(token=made, name=asked.name, team=asked.team, scopes=list(asked.scopes)), 201)


@admin_router.delete("/v1/tokens/{prefix}", **contract(types.Token))
def revoke_token(prefix: Prefix, _: Admin, app: App) -> Response:
    """Take a token back, and the logins made with it."""
    return json_response(tokens.revoke(app.folder, prefix))


@admin_router.get("/v1/audit", **contract(types.Audit))
def list_audit(
    _: Admin,
    app: App,
    before: Annotated[int | None, Query(ge=1, le=2**62, description="Id of the last entry of the list before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Most entries.")] = 100,
) -> Response:
    """What was done, by whom, from where, the latest first."""
    return json_response(types.Audit(entries=tokens.entries(app.folder, before, limit)))


# Leaderboards: what there is, and how each stands.

boards_router = APIRouter(tags=["boards"])
Name = Annotated[str, Path(max_length=80, description="Of a leaderboard.")]


@boards_router.get("/v1/boards", **contract(types.Boards, open_to="all"))
async def list_boards(identity: Anybody, app: App) -> Response:
    """Leaderboards that runs can be submitted to; without a token, those whose results all may see."""
    known = boards.boards(app.folder)
    return json_response(types.Boards(boards=[of for of in known if identity.allows("read") or not of.hidden]))


@boards_router.get("/v1/boards/{name}", **contract(types.Standing, open_to="all"))
def get_board(name: Name, identity: Anybody, app: App) -> Response:
    """How a leaderboard stands; of one that is hidden, who runs the server sees the rows."""
    found = boards.standing(app.folder, name)
    if found.board.hidden and not identity.allows("admin"):
        demand(identity, "read")
        found = replace(found, rows=[], left_out=[])
    return json_response(found)


# What runs can be asked for: ground truths and similarity maps.

catalog_router = APIRouter(tags=["catalog"])


@catalog_router.get("/v1/truths", **contract(types.Truths))
async def list_truths(_: Reader, app: App) -> Response:
    """Ground truths that runs can name: their facts, never their boxes and labels."""
    found = [msgspec.convert(truth, types.Truth, from_attributes=True) for truth in truths.truths(app.folder)]
    return json_response(types.Truths(truths=found))


@catalog_router.get("/v1/maps", **contract(types.Maps))
async def list_maps(_: Reader, app: App) -> Response:
    """Similarities that runs can name: shoe's own, and those that are registered."""
    own = [types.Map(name=name) for name in truths.own_similarities()]
    return json_response(types.Maps(maps=own + truths.maps(app.folder)))


# A study, for a rater who was invited: what is asked, and what was answered.

studies_router = APIRouter(tags=["studies"])


@studies_router.get("/v1/study", **contract(types.Asked, open_to="token"))
def get_study(identity: Rater, app: App) -> Response:
    """What the rater of an invite link is asked, in the rater's order."""
    return json_response(studies.asked(app.folder, identity))


@studies_router.get("/v1/study/answers", **contract(types.Answers, open_to="token"))
def list_answers(identity: Rater, app: App) -> Response:
    """All that the rater has answered, on whatever device, the earliest first."""
    return json_response(types.Answers(answers=studies.given(app.folder, identity)))


@studies_router.post("/v1/study/answers", **contract(types.KeptAnswers, types.Answers, open_to="token"))
def add_answers(asked: Annotated[types.Answers, body(types.Answers)], identity: Rater, app: App) -> Response:
    """Add answers of the rater; one that was sent before is kept once, so whatever is in doubt is sent again."""
    return json_response(types.KeptAnswers(kept=studies.keep(app.folder, identity, asked.answers)))


# What the metric takes words to mean.

words_router = APIRouter(tags=["words"])
Part = Literal["verb", "object"]
Ensemble = Literal["mean", "median", "majority", "majority-mean"]
Combine = Literal["arithmetic", "geometric", "minimum"]


@words_router.get("/v1/resolve", **contract(types.Resolutions))
def resolve(
    word: Annotated[str, Query(min_length=1, max_length=200, description="A word or phrase, as predicted.")],
    _: Reader,
    part: Annotated[Part | None, Query(description="As what; both unless given.")] = None,
) -> Response:
    """The senses that a word may have, those that count first."""
    from shoe.lexicon.resolve import resolve as candidates_of

    if not word.strip():
        raise OptionError("word: found blanks, expected a word or phrase")
    parts: tuple[Part, ...] = (part,) if part else ("verb", "object")
    found = [msgspec.convert(candidates_of(word, each), types.Resolution, from_attributes=True) for each in parts]
    return json_response(types.Resolutions(resolutions=found))


@words_router.get("/v1/similarity", **contract(dict[str, Any]))
def similarity(
    a: Annotated[str, Query(min_length=1, max_length=200, description="A class: a sense, a word or an interaction.")],
    b: Annotated[str, Query(min_length=1, max_length=200, description="What was predicted: a word or an interaction.")],
    _: Reader,
    app: App,
    part: Annotated[Part | None, Query(description="For a word that is both.")] = None,
    map: Annotated[str, Query(max_length=80, description="Name of a similarity.")] = "hico-det",  # noqa: A002
    ensemble: Annotated[Ensemble, Query(description="Raters into one.")] = "mean",
    combine: Annotated[Combine, Query(description="Verb and object into one.")] = "arithmetic",
    weight: Annotated[float, Query(ge=0, le=1, description="Of the verb.")] = 0.5,
) -> Response:
    """The JSON of ``shoe similarity``: senses, ratings of each rater, what was never rated."""
    from shoe.report.similarity import similarity_of

    for name, text in (("a", a), ("b", b)):
        if not text.strip():
            raise OptionError(f"{name}: found {quote(text)}, expected a word or phrase")
    source = truths.similarity(app.folder, map)
    place = str(app.folder.maps / source["folder"]) if "folder" in source else map
    return json_response(similarity_of(_loaded(place, ensemble), a, b, part, combine, weight).to_dict())


@lru_cache(maxsize=8)
def _loaded(place: str, ensemble: str) -> Similarity:
    from shoe.similarity import load_similarity

    return load_similarity(place, ensemble)
