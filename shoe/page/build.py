"""The report of a comparison as one HTML file: works from disk, asks for nothing from any network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shoe.diagnosis.diagnose import Diagnosis
from shoe.io.files import replacing
from shoe.page import classes, examples, sections
from shoe.page.markup import Markup, joined, tag
from shoe.page.packed import pack
from shoe.page.rescoring import Rescoring, rescoring
from shoe.runs.run import Run
from shoe.scoring.score import Report

_STATIC = Path(__file__).parent / "static"
_WORKER = ("packed", "tied", "rescore", "worker")
_PAGE = ("packed", "dom", "curves", "classes", "settings", "examples", "main")
_BETWEEN_MODULES = re.compile(r"^import .*;\n|^export (?=class|const|function|async)", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class PageModel:
    """One model of a comparison.

    Attributes:
        run: its figures.
        report: its predictions as scored; without it the page can neither score again nor show images.
        diagnosis: its errors; without it the page does not break them down.
    """

    run: Run
    report: Report | None = None
    diagnosis: Diagnosis | None = None


def write_page(path: str | Path, models: Sequence[PageModel], command: str, images: Path | None = None) -> None:
    """Write the report.

    Args:
        path: the HTML file.
        models: at least one, of one ground truth and scored under the same protocols.
        command: what was typed, for who wants to do it again.
        images: folder of the dataset's images, of which small copies of the shown ones go into the page.

    Raises:
        InputError: if the file cannot be written.
    """
    content = page(models, command, images).encode("utf-8", "replace")
    with replacing(path) as stream:
        stream.write(content)


def page(models: Sequence[PageModel], command: str, images: Path | None = None) -> str:
    """Make the report; arguments as in :func:`write_page`."""
    runs = [model.run for model in models]
    reports = [model.report for model in models if model.report is not None]
    diagnoses = [model.diagnosis for model in models if model.diagnosis is not None]
    again: Rescoring | str = "this takes predictions, and a model was given as what was measured of it"
    if len(reports) == len(models):
        again = rescoring(reports)
    shown = len(reports) == len(models) and all(report.semantic is not None for report in reports)

    names = [run.name for run in runs]
    data: dict[str, Any] = {"models": names, "classes": classes.classes(runs)}
    packed: dict[str, Any] = {"data-page": data}
    if isinstance(again, Rescoring):
        data["rescoring"] = _settings(again, runs)
        data["similarity"] = {name: again.shared["options"][name] for name in ("combine", "weight")}
        packed["data-shared"] = again.shared
        packed |= {f"data-model-{number}": model for number, model in enumerate(again.models)}
    elif shown and runs[0].semantic is not None:
        data["similarity"] = {"combine": runs[0].semantic.options.combine, "weight": runs[0].semantic.options.weight}
    if shown:
        packed["data-examples"] = examples.examples(names, reports, images)

    body = sections.body(
        runs,
        command,
        again=again if isinstance(again, str) else None,
        diagnoses=diagnoses if len(diagnoses) == len(models) else [],
        shown=shown,
    )
    script, style = _modules(_PAGE), Markup((_STATIC / "page.css").read_text("utf-8"))
    return "<!doctype html>\n" + tag(
        "html",
        tag(
            "head",
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=_policy(script, style)),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("title", "shoe: " + ", ".join(name[:40] for name in names)),
            tag("style", style),
        ),
        tag(
            "body",
            body,
            *(tag("script", Markup(pack(value)), type="text/plain", id=name) for name, value in packed.items()),
            tag("script", _modules(_WORKER), type="text/plain", id="worker"),
            tag("script", script, type="module"),
        ),
        lang="en",
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


def _modules(names: Sequence[str]) -> Markup:
    """Modules as one: a page from disk may not load others, so what they say to each other is left out."""
    sources = ((_STATIC / f"{name}.js").read_text("utf-8") for name in names)
    return joined(*(Markup(_BETWEEN_MODULES.sub("", source)) for source in sources))


def _policy(script: str, style: str) -> str:
    """What the browser may do: run this script and its worker, show pictures of the page's own, and ask for nothing."""
    scripts, styles = (base64.b64encode(hashlib.sha256(of.encode()).digest()).decode() for of in (script, style))
    return (
        f"default-src 'none'; script-src 'sha256-{scripts}' blob:; worker-src blob:; style-src 'sha256-{styles}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
