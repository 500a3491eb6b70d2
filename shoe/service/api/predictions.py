"""Prediction files on their way in, whole or in parts."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Header, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoe.service import runs, types
from shoe.service.callers import App, AppState, Reader, Submitter, Uploader
from shoe.service.contract import ConflictError, NotFoundError, Refused, TooLargeError, body, contract, json_response
from shoe.service.folder import Encoding, Receiver, Stored
from shoe.service.tokens import Identity
from shoe.service.uploads import Upload

router = APIRouter(tags=["predictions"])
_BINARY = ("application/octet-stream",)
_GATHERED = 1 << 20
Name = Annotated[str, Query(min_length=1, max_length=200, description="What the file is called; kept as text only.")]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="SHA-256 of a file.")]
UploadId = Annotated[str, Path(pattern="^[0-9a-f]{32}$", description="Of an upload.")]
Expected = Annotated[
    str | None, Header(alias="X-Content-SHA256", pattern="^[0-9a-f]{64}$", description="Refuses any other content.")
]
Packed = Annotated[str | None, Header(alias="Content-Encoding", description="gzip or zstd; the file is kept unpacked.")]


@router.put("/v1/predictions", **contract(types.StoredFile, raw=_BINARY))
async def put_predictions(
    request: Request,
    identity: Submitter,
    app: App,
    name: Name = "predictions",
    expected: Expected = None,
    packed: Packed = None,
) -> Response:
    """Send a prediction file: the body is the file."""
    team, counted = _team(identity), 0
    room = await run_in_threadpool(_room, app, team)
    room -= await run_in_threadpool(app.uploads.announced, team)
    left = room - app.coming[team]
    most = min(app.settings.largest_upload, left)
    if int(request.headers.get("content-length", "0")) > left or left <= 0:
        raise runs.no_room(left)

    def count(size: int) -> None:
        nonlocal counted
        app.coming[team] += size - counted
        counted = size
        if app.coming[team] > room:
            raise runs.no_room(room - app.coming[team] + size)

    try:
        with app.folder.files.receiving(_encoding(packed), most, app.settings.free_below) as receiver:
            await _receive(request, receiver, count)
            stored = await run_in_threadpool(receiver.finish, expected)
        await run_in_threadpool(runs.add_file, app.folder, team, name, stored, app.settings.disk_per_team)
    except TooLargeError:
        if most < app.settings.largest_upload:
            raise runs.no_room(left) from None
        raise
    finally:
        app.coming[team] -= counted
    return json_response(types.StoredFile(sha256=stored.sha256, size=stored.size))


@router.get("/v1/predictions/{sha256}", **contract(types.StoredFile))
def get_predictions(sha256: Digest, identity: Reader, app: App) -> Response:
    """Ask whether your team has sent a file, so that it need not be sent again."""
    with app.folder.database.read() as db:
        row = db.execute(
            "SELECT size FROM given JOIN predictions USING (sha256) WHERE sha256 = ? AND team = ?",
            (sha256, identity.team),
        ).fetchone()
    if row is None:
        raise NotFoundError(f"no predictions {sha256}")
    return json_response(types.StoredFile(sha256=sha256, size=row["size"]))


@router.delete("/v1/predictions/{sha256}", **contract(status=204))
def delete_predictions(sha256: Digest, identity: Submitter, app: App) -> Response:
    """Take a file back that no run of your team has: it counts to the team's disk space no more."""
    with app.folder.database.write() as db:
        used = db.execute(
            "SELECT id FROM runs WHERE prediction_sha256 = ? AND team = ? AND deleted = 0", (sha256, identity.team)
        ).fetchone()
        if used is not None:
            raise ConflictError(
                f"predictions {sha256}: found the run {used['id']} of them, expected none: delete it first"
            )
        gone = db.execute("DELETE FROM given WHERE sha256 = ? AND team = ?", (sha256, identity.team)).rowcount
    if not gone:
        raise NotFoundError(f"no predictions {sha256}")
    return Response(status_code=204)


@router.post("/v1/uploads", **contract(types.Upload, types.NewUpload, status=201))
def begin_upload(asked: Annotated[types.NewUpload, body(types.NewUpload)], identity: Submitter, app: App) -> Response:
    """Announce a file that comes in parts; the same file again goes on where it ended, or is there already."""
    if asked.sha256 is not None and runs.file_name(app.folder, _team(identity), asked.sha256) is not None:
        size = app.folder.files.path(asked.sha256).stat().st_size
        there = types.Upload(id=secrets.token_hex(16), offset=size, size=size, sha256=asked.sha256)
        return json_response(there, 201, {"Upload-Offset": str(size)})
    if asked.size > app.settings.largest_upload:
        raise TooLargeError(f"size: found {asked.size:,}, expected at most {app.settings.largest_upload:,} bytes")
    team = _team(identity)
    room = _room(app, team) - app.coming[team]
    upload = app.uploads.begin(team, asked.name, asked.size, asked.sha256, room)
    return _state(app, upload, 201)


@router.head("/v1/uploads/{id}", **contract())
@router.get("/v1/uploads/{id}", **contract(types.Upload))
def get_upload(id: UploadId, identity: Reader, app: App) -> Response:  # noqa: A002 - of the path
    """How much of a file has come: in the header Upload-Offset, too."""
    return _state(app, app.uploads.find(_team(identity), id))


@router.patch("/v1/uploads/{id}", **contract(types.Upload, raw=_BINARY))
async def send_part(
    id: UploadId,  # noqa: A002 - of the path
    request: Request,
    identity: Uploader,
    app: App,
    offset: Annotated[int, Header(alias="Upload-Offset", ge=0, le=1 << 40, description="Where the part begins.")],
    packed: Packed = None,
) -> Response:
    """Send the next part; a part may be packed by itself. With the last one, the file has its hash."""
    upload = await run_in_threadpool(app.uploads.find, _team(identity), id)
    if offset != app.uploads.offset(upload):
        offset = app.uploads.offset(upload)
        headers = {"Upload-Offset": str(offset)}
        raise Refused(409, f"Upload-Offset: expected {offset:,}, where the last part ended", headers=headers)
    with app.uploads.receiving(upload, offset, _encoding(packed)) as receiver:
        await _receive(request, receiver)
    if app.uploads.offset(upload) < upload.size:
        return _state(app, upload)
    stored = await run_in_threadpool(_finished, app, upload)
    return _state(app, upload, stored=stored)


@router.delete("/v1/uploads/{id}", **contract(status=204))
def end_upload(id: UploadId, identity: Submitter, app: App) -> Response:  # noqa: A002 - of the path
    """Give an upload up."""
    app.uploads.end(app.uploads.find(_team(identity), id))
    return Response(status_code=204)


def _finished(app: AppState, upload: Upload) -> Stored:
    stored = app.uploads.finish(upload)
    runs.add_file(app.folder, upload.team, upload.name, stored, app.settings.disk_per_team)
    return stored


def _state(app: AppState, upload: Upload, status: int = 200, stored: Stored | None = None) -> Response:
    offset = upload.size if stored else app.uploads.offset(upload)
    said = types.Upload(id=upload.id, offset=offset, size=upload.size, sha256=stored.sha256 if stored else None)
    return json_response(said, status, {"Upload-Offset": str(offset)})


async def _receive(request: Request, receiver: Receiver, count: Callable[[int], None] = lambda size: None) -> None:
    """Bring a body to a file, in pieces that are worth a thread; the sizes that it has reached are told."""
    held, size = [], 0
    async for piece in request.stream():
        held.append(piece)
        size += len(piece)
        if size >= _GATHERED or (size and not piece):  # the last piece of a stream is empty
            await run_in_threadpool(receiver.write, b"".join(held))
            count(receiver.size)
            held, size = [], 0


def _encoding(named: str | None) -> Encoding | None:
    match (named or "identity").lower():
        case "identity":
            return None
        case "gzip" | "x-gzip":
            return "gzip"
        case "zstd":
            return "zstd"
        case _:
            raise Refused(415, "Content-Encoding: expected gzip or zstd", headers={"Accept-Encoding": "gzip, zstd"})


def _room(app: AppState, team: str) -> int:
    """Bytes that a team may send beside what it gave."""
    with app.folder.database.read() as db:
        return app.settings.disk_per_team - runs.disk_used(db, team)


def _team(identity: Identity) -> str:
    return str(identity.team)
