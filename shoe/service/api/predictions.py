"""API routes for uploading prediction files, in one request or in parts."""

import secrets
from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Depends, Header, Path, Query
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from shoe.service import runs, types
from shoe.service.callers import App, AppState, Reader, Submitter, Uploader
from shoe.service.contract import Refused, body, contract, json_response, known_parameters
from shoe.service.errors import ConflictError, NotFoundError, TooLargeError
from shoe.service.folder import Encoding, Receiver, Upload

router = APIRouter(tags=["predictions"], dependencies=[Depends(known_parameters)])
_BINARY = ("application/octet-stream",)
_GATHERED = 1 << 20
Name = Annotated[str, Query(min_length=1, max_length=200, description="Name of the file, for display only.")]
Digest = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="SHA-256 of a file.")]
UploadId = Annotated[str, Path(alias="id", pattern="^[0-9a-f]{32}$", description="ID of the upload.")]
Expected = Annotated[
    str | None, Header(alias="X-Content-SHA256", pattern="^[0-9a-f]{64}$", description="Expected SHA-256 of the file.")
]
Packed = Annotated[
    str | None, Header(alias="Content-Encoding", description="gzip or zstd; the file is stored decompressed.")
]


@router.put("/v1/predictions", **contract(types.StoredFile, raw=_BINARY))
async def put_predictions(
    request: Request,
    identity: Submitter,
    app: App,
    name: Name = "predictions",
    expected: Expected = None,
    packed: Packed = None,
) -> Response:
    """Upload a prediction file as the body of one request; the response contains size and SHA-256 of the file."""
    team, counted = str(identity.team), 0
    room = await run_in_threadpool(_room, app, team)
    room -= await run_in_threadpool(app.uploads.announced, team)
    left = room - app.receiving[team]
    most = min(app.settings.largest_upload, left)
    if int(request.headers.get("content-length", "0")) > left or left <= 0:
        raise runs.no_room(left)

    def count(size: int) -> None:
        nonlocal counted
        app.receiving[team] += size - counted
        counted = size
        if app.receiving[team] > room:
            raise runs.no_room(room - app.receiving[team] + size)

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
        app.receiving[team] -= counted
    return json_response(stored)


@router.get("/v1/predictions/{sha256}", **contract(types.StoredFile))
def get_predictions(sha256: Digest, identity: Reader, app: App) -> Response:
    """Return size and SHA-256 of a file if your team has uploaded the file; otherwise, the status is 404."""
    with app.folder.database.read() as db:
        row = db.execute(
            "SELECT size FROM given JOIN predictions USING (sha256) WHERE sha256 = ? AND team = ?",
            (sha256, identity.team),
        ).fetchone()
    if row is None:
        raise NotFoundError(f"no prediction file {sha256}")
    return json_response(types.StoredFile(sha256=sha256, size=row["size"]))


@router.delete("/v1/predictions/{sha256}", **contract(status=204))
def delete_predictions(sha256: Digest, identity: Submitter, app: App) -> Response:
    """Delete a prediction file of your team to free disk quota; the status is 409 if a run of your team uses it."""
    with app.folder.database.write() as db:
        used = db.execute(
            "SELECT id FROM runs WHERE prediction_sha256 = ? AND team = ? AND deleted = 0", (sha256, identity.team)
        ).fetchone()
        if used is not None:
            raise ConflictError(f"prediction file {sha256} is used by run {used['id']}: delete the run first")
        gone = db.execute("DELETE FROM given WHERE sha256 = ? AND team = ?", (sha256, identity.team)).rowcount
    if not gone:
        raise NotFoundError(f"no prediction file {sha256}")
    return Response(status_code=204)


@router.post("/v1/uploads", **contract(types.Upload, types.NewUpload, status=201))
def begin_upload(
    document: Annotated[types.NewUpload, body(types.NewUpload)], identity: Submitter, app: App
) -> Response:
    """Start an upload in parts, or return the interrupted or complete upload of the file with the given SHA-256."""
    team = str(identity.team)
    if document.sha256 is not None and runs.file_name(app.folder, team, document.sha256) is not None:
        size = app.folder.files.path(document.sha256).stat().st_size
        there = types.Upload(id=secrets.token_hex(16), offset=size, size=size, sha256=document.sha256)
        return json_response(there, 201, {"Upload-Offset": str(size)})
    if document.size > app.settings.largest_upload:
        raise TooLargeError(f"size: found {document.size:,} bytes, expected at most {app.settings.largest_upload:,}")
    room = _room(app, team) - app.receiving[team]
    upload = app.uploads.begin(team, document.name, document.size, document.sha256, room)
    return _state(app, upload, 201)


@router.head("/v1/uploads/{id}", **contract())
@router.get("/v1/uploads/{id}", **contract(types.Upload))
def get_upload(id_: UploadId, identity: Reader, app: App) -> Response:
    """Return an unfinished upload with its number of received bytes, which the header Upload-Offset contains, too."""
    return _state(app, app.uploads.find(str(identity.team), id_))


@router.patch("/v1/uploads/{id}", **contract(types.Upload, raw=_BINARY))
async def send_part(
    id_: UploadId,
    request: Request,
    identity: Uploader,
    app: App,
    offset: Annotated[int, Header(alias="Upload-Offset", ge=0, le=1 << 40, description="Offset of the part in bytes.")],
    packed: Packed = None,
) -> Response:
    """Send the part of a file from the first missing byte (else status 409). The last response has the SHA-256."""
    upload = await run_in_threadpool(app.uploads.find, str(identity.team), id_)
    if offset != app.uploads.offset(upload):
        offset = app.uploads.offset(upload)
        headers = {"Upload-Offset": str(offset)}
        raise Refused(409, f"Upload-Offset: expected {offset:,}, the end of the previous part", headers=headers)
    with app.uploads.receiving(upload, offset, _encoding(packed)) as receiver:
        await _receive(request, receiver)
    if app.uploads.offset(upload) < upload.size:
        return _state(app, upload)

    def finish() -> types.StoredFile:
        stored = app.uploads.finish(upload)
        runs.add_file(app.folder, upload.team, upload.name, stored, app.settings.disk_per_team)
        return stored

    return _state(app, upload, stored=await run_in_threadpool(finish))


@router.delete("/v1/uploads/{id}", **contract(status=204))
def end_upload(id_: UploadId, identity: Submitter, app: App) -> Response:
    """Cancel an upload, and delete its received bytes."""
    app.uploads.end(app.uploads.find(str(identity.team), id_))
    return Response(status_code=204)


def _state(app: AppState, upload: Upload, status: int = 200, stored: types.StoredFile | None = None) -> Response:
    offset = upload.size if stored else app.uploads.offset(upload)
    state = types.Upload(id=upload.id, offset=offset, size=upload.size, sha256=stored.sha256 if stored else None)
    return json_response(state, status, {"Upload-Offset": str(offset)})


async def _receive(request: Request, receiver: Receiver, count: Callable[[int], None] = lambda size: None) -> None:
    """Write a body to a receiver in pieces of about 1 MiB; `count` is called with the total size after each piece."""
    held, size = [], 0
    async for piece in request.stream():
        held.append(piece)
        size += len(piece)
        if size >= _GATHERED or (size and not piece):  # the last piece of a stream is empty
            await run_in_threadpool(receiver.write, b"".join(held))
            count(receiver.size)
            held, size = [], 0


_ENCODINGS: dict[str, Encoding | None] = {"": None, "identity": None, "gzip": "gzip", "x-gzip": "gzip", "zstd": "zstd"}


def _encoding(named: str | None) -> Encoding | None:
    if (name := (named or "").lower()) not in _ENCODINGS:
        raise Refused(415, "Content-Encoding: expected gzip or zstd", headers={"Accept-Encoding": "gzip, zstd"})
    return _ENCODINGS[name]


def _room(app: AppState, team: str) -> int:
    with app.folder.database.read() as db:
        return app.settings.disk_per_team - runs.disk_used(db, team)
