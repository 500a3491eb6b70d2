"""Content of the page of a run, from the files that the run made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec

from shoe.comparison.compare import FULL, marked
from shoe.core.errors import many
from shoe.report.page import svg
from shoe.report.page.svg import Interval, intervals
from shoe.service.folder import Folder
from shoe.service.runs import AGGREGATES, command_of
from shoe.service.truths import Truth
from shoe.service.types import Run

# What the page of a comparison says, from the JSON of ``shoe compare``.

COLOURS = ("m0", "m2")


def comparison_values(found: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Collect the values of ``comparison.html`` from the JSON of ``shoe compare`` and the runs' IDs in its order."""
    models = found["models"]
    keys = list(dict.fromkeys(key for model in models for key in model["figures"]))
    columns = [{"group": _group(key), "heading": marked(key), "key": key} for key in keys]
    rows = [
        {
            "name": model["name"],
            "run": ids[number] if number < len(ids) else None,
            "gain": model.get("gain"),
            "cells": [_cell(model["figures"].get(key)) for key in keys],
        }
        for number, model in enumerate(models)
    ]
    return {
        "result": found,
        "columns": columns,
        "groups": [(name, len(list(of))) for name, of in groupby(columns, key=lambda column: column["group"])],
        "models": rows,
        "intervals": any(cell and cell["low"] is not None for model in rows for cell in model["cells"]),
        "plot": plot([(model["name"], model["figures"]) for model in models]),
        "notes": [*found.get("unlike", ()), *found.get("notes", ())],
    }


def plot(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> object:
    """Draw strict and semantic mAP of each model, with their intervals."""
    strict = first_exact(*(of for _, of in rows))
    drawn = [(name, [_interval(of.get(key)) for key in (strict, "semantic:map")]) for name, of in rows]
    return intervals(drawn, COLOURS, "strict mAP and SHOE-mAP in percent, with 95 % intervals")


def first_exact(*figures: Mapping[str, Any]) -> str:
    """Return the key of the first exact-label mean of any model, triplets before persons; "" for none."""
    keys = [key for of in figures for key in of if key.endswith(f":{FULL}")]
    return next((key for kind in ("strict:", "roles:") for key in keys if key.startswith(kind)), "")


def _interval(of: Mapping[str, Any] | None) -> Interval | None:
    return Interval(of["value"], *of.get("interval", (None, None))) if of else None


def _cell(of: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if of is None:
        return None
    low, high = of.get("interval", (None, None))
    return {"value": of["value"], "best": of.get("rank") == 1, "low": low, "high": high}


def _group(key: str) -> str:
    kind, *protocol, _ = key.split(":")
    return "by meaning" if kind == "semantic" else protocol[0]


ABOUT = {
    "result.json": "every figure, as shoe score --json writes",
    "run.shoe": "what was measured, for shoe compare and shoe verify",
    "classes.csv": "figures of each class",
    "words.csv": "every wording, and what it was taken for",
    "table.tex": "for a paper",
    "table.md": "for a page",
    "report.html": "interactive, in one file",
    "report.txt": "as the terminal shows it",
    "diagnosis.json": "errors, as shoe diagnose --json writes",
    "comparison.json": "every figure, as shoe compare --json writes",
    "comparison.csv": "for a spreadsheet",
    "comparison.tex": "for a paper",
    "comparison.md": "for a page",
    "comparison.html": "interactive, in one file",
    "draws.npz": "figures under draws of images, which the leaderboard ranks by",
}
_SHOWN_CLASSES = ("m0", "m2", "m3")


def run_values(folder: Folder, run: Run, truth: Truth | None, *, all_files: bool) -> dict[str, Any]:
    """Collect what ``run.html`` shows.

    Args:
        truth: that it is held against; None where that is gone.
        all_files: whether files may be had that tell what a hidden ground truth holds.
    """
    result, diagnosis = (read_output(folder, run, name) for name in ("result.json", "diagnosis.json"))
    held = not all_files and truth is not None and not truth.shown
    return {
        "run": run,
        "pending": run.state in ("queued", "running") or "queued" in run.further.values(),
        "took": run.ended - run.started if run.state == "done" and run.ended and run.started else None,
        "about": _facts(run, result),
        "files": _files(run, held=held),
        "command": command_of(folder, run.id),
        "identity": [
            *([("predictions, SHA-256", run.prediction)] if run.prediction else []),
            *([("ground truth, SHA-256", truth.sha256)] if truth else []),
        ],
        "short_signature": short_signature(run.signature, truth),
        **(figures(result, diagnosis, run.further.get("diagnose")) if result else {"result": None}),
    }


def read_output(folder: Folder, run: Run, name: str) -> dict[str, Any] | None:
    """Read a JSON file that a run made; None if it made none of this name."""
    output = run.outputs.get(name)
    return _decoded(folder, output.sha256) if output else None


@lru_cache(maxsize=64)
def _decoded(folder: Folder, sha256: str) -> dict[str, Any]:
    with folder.files.open(sha256) as stream:
        found: dict[str, Any] = msgspec.json.decode(stream.read())
    return found


def figures(result: Mapping[str, Any], diagnosis: Mapping[str, Any] | None, state: str | None) -> dict[str, Any]:
    """Collect what ``figures.html`` shows: strict, semantic, and why.

    Args:
        result: of ``shoe score --json``.
        diagnosis: of ``shoe diagnose --json``; None where there is none.
        state: of the job that makes one; None where none was asked for.
    """
    strict = result.get("protocols") or [result[key] for key in ("strict",) if key in result]
    by_person = [{**each, "classes": each["entries"]} for each in result.get("roles", ())]
    semantic = result.get("semantic")
    why_not = {"queued": "follows", "running": "is being measured", "failed": "could not be measured"}
    found: dict[str, Any] = {
        "result": result,
        "strict": [_full(each, "map", "map_rare", "map_non_rare", "max_recall") for each in (*strict, *by_person)],
        "semantic": _full(semantic, "map_without_no_interaction") if semantic else None,
        "no_meaning": "could not be measured" if result.get("absent") else "was not asked for",
        "gain": semantic["map"] - strict[0]["map"] if semantic and strict and "map" in semantic else None,
        "words": [_word(each) for each in result.get("wordings", ())],
        "notes": result.get("notes", ()),
        "worst": None,
        "why_not": why_not.get(state or "", "was not measured"),
    }
    return found | _why(diagnosis) if diagnosis else found


def _full(of: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return dict.fromkeys(names) | dict(of)


def _word(of: Mapping[str, Any]) -> dict[str, Any]:
    said = of["phrases"][0] if of.get("phrases") else f"{of['verb']['word']} {of['object']['word']}"
    return {
        "said": said,
        "compared_with": of.get("compared_with") or of.get("nearest_class"),
        "verb": of["verb"].get("similarity"),
        "object": of["object"].get("similarity"),
        "times": of["count"],
        "earned": of.get("earned"),
        "lost": of.get("lost"),
    }


def _why(diagnosis: Mapping[str, Any]) -> dict[str, Any]:
    from shoe.diagnosis.error_types import ERRORS

    semantic = diagnosis.get("semantic", {})
    strict = {error.name: diagnosis["errors"][error.name].get("delta_map", 0.0) for error in ERRORS}
    counts = {error.name: diagnosis["errors"][error.name]["count"] for error in ERRORS}
    deltas, colours = [strict], ["m0"]
    counted: list[dict[str, int] | None] = [counts]
    if semantic:
        deltas.append({error.name: semantic["errors"][error.name].get("delta_map", 0.0) for error in ERRORS})
        counted.append(None)
        colours.append("m2")
    called = {error.name: error.label for error in ERRORS}
    worst = sorted(ERRORS, key=lambda error: -strict[error.name])
    found: dict[str, Any] = {
        "worst": [{"label": error.label, "strict": strict[error.name]} for error in worst],
        "error_bars": svg.error_bars(deltas, counted, colours),
        "progression": [
            {"label": called[step["error"]], "map": step.get("map"), "gain": step.get("delta_map")}
            for step in diagnosis.get("progression", ())
        ],
        "diagnosis_map": diagnosis.get("map"),
        "diagnosis_shoe": semantic.get("map"),
        "meaning": None,
    }
    gap = semantic.get("vocabulary_gap")
    if gap:
        labels = ("exact matches of words", "verbs of like meaning", "objects of like meaning")
        values = (gap["exact_map"], gap["verb_credit"], gap["object_credit"])
        parts = list(zip(labels, values, _SHOWN_CLASSES, strict=True))
        found["meaning"] = [{"label": label, "value": value, "colour": colour} for label, value, colour in parts]
        found["meaning_bar"] = svg.stack(parts, "SHOE-mAP, and what of it is credit for meaning")
    return found


def _facts(run: Run, result: Mapping[str, Any] | None) -> list[str]:
    where = [f"ground truth {run.truth}", f"team {run.team}"]
    if result is None:
        return where
    counts = [many(result[f"{name}s"], name.replace("_", " ")) for name in ("image", "ground_truth", "prediction")]
    return [f"{result['dataset']} {result.get('split', '')}".strip(), *counts, *where]


def _files(run: Run, *, held: bool) -> dict[str, Any]:
    kept = [name for name in run.outputs if not held or name in AGGREGATES]

    def path(name: str) -> str:
        return f"/v1/runs/{run.id}/files/{name}"

    return {
        "all": [{"name": n, "path": path(n), "size": run.outputs[n].size, "about": ABOUT.get(n)} for n in sorted(kept)],
        "report": next((path(name) for name in ("report.html", "comparison.html") if name in kept), None),
        "classes": "classes.csv" in kept,
        "words": path("words.csv") if "words.csv" in kept else None,
        "held": "The ground truth is not shown: what tells of single images stays on the server." if held else None,
    }


def short_signature(signature: str | None, truth: Truth | None) -> str | None:
    """Shorten a signature for captions, without protocols that the ground truth implies."""
    if signature is None:
        return None
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.protocols import Signature

    return Signature.parse(signature, benchmark(truth.dataset).protocols if truth else None).short()


def row(run: Run) -> dict[str, Any]:
    """Return the row of a run in lists."""
    strict = run.figures.get(first_exact(run.figures))
    return {
        "id": run.id,
        "kind": run.kind,
        "name": run.name,
        "team": run.team,
        "truth": run.truth,
        "state": run.state,
        "visibility": run.visibility,
        "created": run.created,
        "figures": {
            "strict": strict,
            "semantic": run.figures.get("semantic:map"),
            "mf1": run.figures.get("semantic:mf1"),
        },
    }
