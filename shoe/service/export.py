"""The whole site as files: what everybody may see, for the day when the server is gone."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from shoe.core.errors import InputError
from shoe.service import boards, runs
from shoe.service.folder import Folder
from shoe.service.pages import playground, views
from shoe.service.pages.rendering import STATIC, Stored, file_of, render
from shoe.service.pages.views import View, Viewer
from shoe.service.refusals import NotFoundError
from shoe.service.run_access import AGGREGATES, for_all
from shoe.service.truths import truths
from shoe.service.types import Run

_ANYBODY = Viewer(reader=True)
_MARK = ".shoe-site"
"""A file that says that a folder holds a site, which a later one may replace."""
_AT_ONCE = 200


def export(folder: Folder, path: str | Path) -> int:
    """Write every page and file that everybody may see, with relative links: the site works from disk.

    A site that is there is replaced when all of the new one is written. Returns the number of pages.

    Raises:
        InputError: if the folder holds something else, or cannot be written.
    """
    target = Path(path)
    if target.exists() and not (target.is_dir() and ((target / _MARK).exists() or not any(target.iterdir()))):
        raise InputError(path, found="something else", expected="a new or empty folder, or a site to replace")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        made = Path(mkdtemp(prefix=f".{target.name}-", dir=target.parent))
        try:
            number = _write(folder, made)
            made.chmod(0o755)
            if target.exists():
                shutil.rmtree(target)
            os.replace(made, target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise InputError(path, found=error.strerror or str(error), expected="a folder that can be written") from None
    return number


def _write(folder: Folder, to: Path) -> int:
    public = list(_public(folder))
    pages: dict[str, View] = dict(_pages(folder, public))
    files = {f"/static/{name}": source for name, source in STATIC.items()}
    files |= {path: folder.files.path(sha256) for run in public for path, sha256 in _files(folder, run)}
    there = pages.keys() | files.keys()
    for path, source in files.items():
        _place(to, path).write_bytes(source.read_bytes())
    about: dict[str, Any] = {"who": _ANYBODY, "address": "", "made": time.time()}
    for path, (template, values) in pages.items():
        page = render(template, Stored(path, there), about | {"here": path} | values)
        _place(to, path).write_bytes(page.encode("utf-8", "replace"))
    (to / _MARK).write_text("made by shoe serve export\n", "utf-8")
    return len(pages)


def _place(to: Path, path: str) -> Path:
    place = to / file_of(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    return place


def _public(folder: Folder) -> Iterator[Run]:
    """Finished runs that everybody may see, the latest first."""
    after = None
    while found := runs.runs(folder, "", after, _AT_ONCE, "done"):
        yield from (for_all(folder, run) for run in found)
        after = found[-1].id


def _pages(folder: Folder, public: list[Run]) -> Iterator[tuple[str, View]]:
    template, values = views.front(folder, _ANYBODY)
    yield "/", (template, values | {"runs": views.rows(_ANYBODY, folder, public[:8])})
    yield "/runs", ("runs.html", {"runs": views.rows(_ANYBODY, folder, public)})
    for run in public:
        yield f"/runs/{run.id}", views.run_page(folder, _ANYBODY, run)
        classes = views.classes_page(folder, run)
        if classes is not None:
            yield f"/runs/{run.id}/classes", classes
    yield "/boards", views.board_list(folder, _ANYBODY)
    for board in boards.boards(folder):
        if not board.hidden:
            yield f"/boards/{board.name}", views.board_page(folder, _ANYBODY, board.name)
    yield "/maps", views.map_list(folder)
    for name in playground.places(folder):
        view = views.map_page(folder, name)
        if view is not None:
            yield f"/maps/{name}", view
    yield "/truths", views.truth_list(folder)


def _files(folder: Folder, run: Run) -> Iterator[tuple[str, str]]:
    shown = any(truth.shown for truth in truths(folder) if truth.name == run.truth)
    for name, output in run.outputs.items():
        if shown or name in AGGREGATES:
            try:
                folder.files.path(output.sha256)
            except NotFoundError:  # deleted meanwhile
                continue
            yield f"/v1/runs/{run.id}/files/{name}", output.sha256
