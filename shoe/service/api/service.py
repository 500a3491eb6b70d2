"""API routes for state, login, tokens, leaderboards, ground truths, similarity maps, studies, and words."""

import shutil
from typing import Annotated, Any, Literal

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from msgspec.structs import replace
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from shoe.core.errors import OptionError, quote
from shoe.lexicon.resolve import resolve as candidates_of
from shoe.service import boards, studies, tokens, truths, types
from shoe.service.callers import Admin, Anybody, App, AppState, Rater, Reader, require_scope, verify_token
from shoe.service.contract import body, contract, json_response, known_parameters
from shoe.service.http_guard import COOKIE
from shoe.version import __version__

router = APIRouter(dependencies=[Depends(known_parameters)])
API = 1


@router.get("/v1/version", tags=["about"], **contract(types.Version, open_to="all"))
async def version() -> Response:
    """Return the version of shoe and the supported versions of the API."""
    return json_response(types.Version(shoe=__version__, api=[API]))


@router.get("/v1/health", tags=["about"], **contract(types.Health, open_to="all"))
def health(app: App) -> Response:
    """Return whether disk space is left and the job executor is ready, and how many jobs are queued and running."""
    with app.folder.database.read() as db:
        rows = db.execute("SELECT state, count(*) FROM jobs WHERE state IN ('queued', 'running') GROUP BY state")
        counts = dict(rows.fetchall())
    full = shutil.disk_usage(app.folder.path).free < app.settings.free_below
    return json_response(
        types.Health(
            state="full" if full else "working",
            queued=counts.get("queued", 0),
            running=counts.get("running", 0),
            engine=app.executor.name,
            engine_state="working" if app.executor.is_ready else "lost",
        )
    )


@router.post("/v1/session", tags=["about"], **contract(types.Session, types.Login, open_to="all"))
async def log_in(
    document: Annotated[types.Login, body(types.Login)], request: Request, _: Anybody, app: App
) -> Response:
    """Log in with a token: the response sets a session cookie, which is valid for 12 hours by default."""
    identity = await run_in_threadpool(verify_token, request, document.token)
    response = json_response(_session(identity))
    await run_in_threadpool(set_session, app, request, response, document.token)
    return response


@router.get("/v1/session", tags=["about"], **contract(types.Session, open_to="all"))
async def get_session(identity: Anybody) -> Response:
    """Return team, name and permissions of the caller; the team of an anonymous caller is empty."""
    return json_response(_session(identity))


@router.delete("/v1/session", tags=["about"], **contract(status=204, open_to="all"))
def log_out(request: Request, _: Anybody, app: App) -> Response:
    """Log out: end the session of the session cookie, and delete the cookie."""
    tokens.log_out(app.folder, request.cookies.get(COOKIE, ""))
    response = Response(status_code=204)
    response.delete_cookie(COOKIE)
    return response


def _session(identity: tokens.Identity) -> types.Session:
    scopes: list[str] = [scope for scope in tokens.SCOPES if identity.allows(scope)]
    return types.Session(team=identity.team or "", name=identity.name, scopes=scopes)


def set_session(app: AppState, request: Request, response: Response, token: str) -> None:
    """Start a session and set its cookie (HttpOnly, SameSite=Strict); do nothing if the token is not valid."""
    secret = tokens.log_in(app.folder, token, app.settings.session)
    if secret is not None:
        age, is_https = app.settings.session, request.url.scheme == "https"
        response.set_cookie(COOKIE, secret, max_age=age, httponly=True, samesite="strict", secure=is_https)


@router.get("/v1/truths", tags=["catalog"], **contract(types.Truths))
async def list_truths(_: Reader, app: App) -> Response:
    """List the metadata of all ground truths, without boxes and labels."""
    found = [msgspec.convert(truth, types.Truth, from_attributes=True) for truth in truths.truths(app.folder)]
    return json_response(types.Truths(truths=found))


@router.get("/v1/maps", tags=["catalog"], **contract(types.Maps))
async def list_maps(_: Reader, app: App) -> Response:
    """List similarities by which runs can be scored: computed from WordNet, built-in maps, then registered maps."""
    own = [types.Map(name=name) for name in truths.own_similarities()]
    return json_response(types.Maps(maps=own + truths.maps(app.folder)))


Name = Annotated[str, Path(max_length=80, description="Name of the leaderboard.")]


@router.get("/v1/boards", tags=["boards"], **contract(types.Boards, open_to="all"))
async def list_boards(identity: Anybody, app: App) -> Response:
    """List leaderboards, without tables; callers without the permission to read get no hidden leaderboards."""
    known = boards.boards(app.folder)
    return json_response(types.Boards(boards=[each for each in known if identity.allows("read") or not each.hidden]))


@router.get("/v1/boards/{name}", tags=["boards"], **contract(types.Standing, open_to="all"))
async def get_board(name: Name, identity: Anybody, app: App) -> Response:
    """Return a leaderboard with its table; a hidden one needs the permission "read", and has rows only for "admin"."""
    board = boards.board(app.folder, name)
    if board.hidden and not identity.allows("admin"):
        require_scope(identity, "read")
    found = boards.standing(app.folder, board)
    if board.hidden and not identity.allows("admin"):
        found = replace(found, rows=[], left_out=[])
    return json_response(found)


Part = Literal["verb", "object"]
Ensemble = Literal["mean", "median", "majority", "majority-mean"]
Combine = Literal["arithmetic", "geometric", "minimum"]


@router.get("/v1/resolve", tags=["words"], **contract(types.Resolutions))
def resolve(
    word: Annotated[str, Query(min_length=1, max_length=200, description="A word or phrase, as predicted.")],
    _: Reader,
    part: Annotated[Part | None, Query(description="Part of the interaction (default: both).")] = None,
) -> Response:
    """Return the WordNet senses that a word may mean as a verb or as an object, the best first."""
    if not word.strip():
        raise OptionError("word: found only blanks, expected a word or phrase")
    parts: tuple[Part, ...] = (part,) if part else ("verb", "object")
    found = []
    for each in parts:
        senses = candidates_of(word, each).candidates
        candidates = [types.Candidate(sense.name, sense.lemma, sense.reason) for sense in senses]
        found.append(types.Resolution(word, each, candidates))
    return json_response(types.Resolutions(resolutions=found))


@router.get("/v1/similarity", tags=["words"], **contract(dict[str, Any]))
def similarity(
    a: Annotated[str, Query(min_length=1, max_length=200, description="Class: a sense, a word or an interaction.")],
    b: Annotated[str, Query(min_length=1, max_length=200, description="Prediction: a word or an interaction.")],
    _: Reader,
    app: App,
    part: Annotated[Part | None, Query(description="verb or object, for a word that may be either.")] = None,
    map: Annotated[str, Query(max_length=80, description="Name of a similarity map.")] = "hico-det",  # noqa: A002
    ensemble: Annotated[Ensemble, Query(description="How the ratings of several raters are aggregated.")] = "mean",
    combine: Annotated[Combine, Query(description="How verb and object similarity are combined.")] = "arithmetic",
    weight: Annotated[float, Query(ge=0, le=1, description="Weight of the verb, 0 to 1.")] = 0.5,
) -> Response:
    """Return the similarity of a class and a predicted word or interaction, as the JSON of ``shoe similarity``."""
    from shoe.report.similarity import similarity_of

    for name, text in (("a", a), ("b", b)):
        if not text.strip():
            raise OptionError(f"{name}: found {quote(text)}, expected a word or phrase")
    source = truths.similarity(app.folder, map)
    place = str(app.folder.maps / source["folder"]) if "folder" in source else map
    return json_response(similarity_of(truths.loaded(place, ensemble), a, b, part, combine, weight).to_dict())


@router.get("/v1/study", tags=["studies"], **contract(types.RaterQuestions, open_to="token"))
def get_study(identity: Rater, app: App) -> Response:
    """Return the rating questions for the rater who owns the token, in the order in which to show them."""
    return json_response(studies.questions_of(app.folder, identity))


@router.get("/v1/study/answers", tags=["studies"], **contract(types.Answers, open_to="token"))
def list_answers(identity: Rater, app: App) -> Response:
    """List all answers of the rater, from all devices, the earliest first."""
    return json_response(types.Answers(answers=studies.answers_of(app.folder, identity)))


@router.post("/v1/study/answers", tags=["studies"], **contract(types.AnswerCount, types.Answers, open_to="token"))
def add_answers(document: Annotated[types.Answers, body(types.Answers)], identity: Rater, app: App) -> Response:
    """Store answers of the calling rater, and return how many answers the rater has now; retries add no duplicates."""
    return json_response(types.AnswerCount(kept=studies.add_answers(app.folder, identity, document.answers)))


Prefix = Annotated[
    str, Path(pattern="^[A-Za-z0-9_-]{1,80}$", description="First 10 characters of a token, or the whole token.")
]


@router.get("/v1/tokens", tags=["admin"], **contract(types.Tokens, open_to="token"))
def list_tokens(_: Admin, app: App) -> Response:
    """List all tokens, without their secrets."""
    return json_response(types.Tokens(tokens=tokens.tokens(app.folder)))


@router.post("/v1/tokens", tags=["admin"], **contract(types.NewTokenSecret, types.NewToken, status=201))
def make_token(document: Annotated[types.NewToken, body(types.NewToken)], _: Admin, app: App) -> Response:
    """Create a token, which is shown only in this response."""
    made = tokens.new_token(app.folder, document.name, document.team, document.scopes, document.days)
    secret = types.NewTokenSecret(token=made, name=document.name, team=document.team, scopes=list(document.scopes))
    return json_response(secret, 201)


@router.delete("/v1/tokens/{prefix}", tags=["admin"], **contract(types.Token))
def revoke_token(prefix: Prefix, _: Admin, app: App) -> Response:
    """Revoke a token, and the sessions that were started with the token."""
    return json_response(tokens.revoke(app.folder, prefix))


@router.get("/v1/audit", tags=["admin"], **contract(types.Audit))
def list_audit(
    _: Admin,
    app: App,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="ID of the last entry of the previous page.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=1000, description="Maximum number of entries.")] = 100,
) -> Response:
    """List entries of the audit log (with action, actor and network address), the latest first."""
    return json_response(types.Audit(entries=tokens.entries(app.folder, before, limit)))
