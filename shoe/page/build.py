"""The report of a comparison as one HTML file: works from disk, asks for nothing from any network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoe.comparison.compare import Comparison
from shoe.diagnosis.diagnose import diagnose
from shoe.io.files import replacing
from shoe.page import classes, examples, sections
from shoe.page.markup import Markup, document, joined, tag
from shoe.page.packed import pack
from shoe.page.rescoring import Rescoring, rescoring
from shoe.runs.run import Run
from shoe.scoring.score import Report

_STATIC = Path(__file__).parent / "static"
_WORKER = ("packed", "tied", "rescore", "worker")
_PAGE = ("packed", "dom", "curves", "classes", "settings", "examples", "main")
_WITHOUT = "it takes predictions, and there are runs without them"
_HIDDEN = "it takes the ground truth, which is not shown"
_BETWEEN_MODULES = re.compile(r"^import .*;\n|^export (?=class|const|function|async)", re.MULTILINE)


def write_page(
    path: str | Path,
    found: Comparison,
    reports: Mapping[str, Report],
    command: str,
    images: Path | None = None,
    swept: sections.Swept = ((), ()),
    *,
    people: Markup | None = None,
    shown: bool = True,
) -> None:
    """Write the report.

    Args:
        path: the HTML file.
        found: the comparison.
        reports: by the names of models, what was scored; the page can score again, break down errors and show images
            only where it has those of all models.
        command: what was typed, for who wants to do it again.
        images: folder of the dataset's images, of which small copies of the shown ones go into the page.
        swept: the figures under other choices of the metric, and whether rankings survive them.
        people: what a rating study says of the similarity map (:func:`shoe.page.people.people_part`).
        shown: whether what the page says may tell boxes and labels of single images: examples, curves, and what
            scoring again needs.

    Raises:
        InputError: if the file cannot be written.
    """
    content = page(found, reports, command, images, swept, people=people, shown=shown).encode("utf-8", "replace")
    with replacing(path) as stream:
        stream.write(content)


def page(
    found: Comparison,
    reports: Mapping[str, Report],
    command: str,
    images: Path | None = None,
    swept: sections.Swept = ((), ()),
    *,
    people: Markup | None = None,
    shown: bool = True,
) -> str:
    """Make the report; arguments as in :func:`write_page`."""
    known = [reports[name] for name in found.names] if all(name in reports for name in found.names) else []
    again = rescoring(known) if known and shown else _WITHOUT if shown else _HIDDEN
    diagnoses = [diagnose(report.predictions, report.truth, similarity=None, notes=report.notes) for report in known]
    data: dict[str, Any] = {"models": found.names, "classes": classes.classes(found.runs, curves=shown)}
    packed: dict[str, Any] = {"data-page": data}
    if isinstance(again, Rescoring):
        data["rescoring"] = _settings(again, found.runs)
        packed["data-shared"] = again.shared
        packed |= {f"data-model-{number}": model for number, model in enumerate(again.models)}
    pictures = examples.examples(found.names, known, images) if shown else None
    if pictures is not None:
        packed["data-examples"] = pictures

    why_not = again if isinstance(again, str) else None
    body = sections.body(
        found, command, why_not, diagnoses, pictures is not None, data["classes"] is not None, swept, people
    )
    script, style = modules(_PAGE), Markup((_STATIC / "page.css").read_text("utf-8"))
    return document(
        "shoe: " + ", ".join(name[:40] for name in found.names),
        policy(script, style),
        style,
        body,
        *(tag("script", Markup(pack(value)), type="text/plain", id=name) for name, value in packed.items()),
        tag("script", modules(_WORKER), type="text/plain", id="worker"),
        tag("script", script, type="module"),
    )


def _settings(again: Rescoring, runs: Sequence[Run]) -> dict[str, Any]:
    figures = [
        {key.split(":")[1]: value for key, value in run.figures().items() if key.startswith("semantic:")}
        for run in runs
    ]
    return {
        "settings": again.shared["settings"],
        "ensembles": [each["label"] for each in again.shared["ensembles"]],
        "options": [each["option"] for each in again.shared["ensembles"]],
        "figures": figures,
    }


def modules(names: Sequence[str]) -> Markup:
    """Modules as one: a page from disk may not load others, so what they say to each other is left out."""
    sources = ((_STATIC / f"{name}.js").read_text("utf-8") for name in names)
    return joined(*(Markup(_BETWEEN_MODULES.sub("", source)) for source in sources))


def policy(script: str, style: str) -> str:
    """What the browser may do: run this script and its worker, show pictures of the page's own, and ask for nothing."""
    scripts, styles = (base64.b64encode(hashlib.sha256(of.encode()).digest()).decode() for of in (script, style))
    return (
        f"default-src 'none'; script-src 'sha256-{scripts}' blob:; worker-src blob:; style-src 'sha256-{styles}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
