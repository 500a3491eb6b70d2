"""A rater's page in a browser: it may say nothing to the console, and ask nothing of any network."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

AXE = Path(os.environ.get("AXE") or Path(__file__).resolve().parents[2] / ".venv/node_modules/axe-core/axe.min.js")
_RUN = "(source) => { (0, eval)(source); return axe.run().then((found) => found.violations) }"


@contextmanager
def opened(browser: Any, path: Path, width: int = 400) -> Iterator[Any]:
    """A page from disk, as a phone shows it."""
    context = browser.new_context(viewport={"width": width, "height": 800}, accept_downloads=True)
    page = context.new_page()
    complaints: list[str] = []
    asked: list[str] = []
    page.on("console", lambda said: complaints.append(said.text))
    page.on("pageerror", lambda error: complaints.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    yield page
    assert (complaints, [url for url in asked if not url.startswith(("file:", "data:"))]) == ([], [])
    context.close()


def violations(page: Any) -> list[tuple[str, str]]:
    """What axe-core finds wrong with a page as it is, and where."""
    if not AXE.is_file():
        pytest.skip("axe-core is not installed: environment ci of scripts/_environment puts it into .venv by npm")
    page.context.new_cdp_session(page).send("Page.setBypassCSP", {"enabled": True})
    problems = page.evaluate(_RUN, AXE.read_text("utf-8"))
    return [(problem["id"], node["html"][:200]) for problem in problems for node in problem["nodes"]]


def saved(page: Any, path: Path) -> Path:
    with page.expect_download() as download:
        page.get_by_role("button", name="Save").click()
    download.value.save_as(path)
    return path
