"""Values of the page of a run or a comparison, from the output files of the run."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from typing import Any

import msgspec

from shoe.benchmarks import benchmark
from shoe.benchmarks.protocols import Signature
from shoe.comparison.compare import FULL, heading_with_arrow
from shoe.comparison.run import SEMANTIC
from shoe.core.errors import pluralize
from shoe.diagnosis.error_types import ERRORS
from shoe.report.page import svg
from shoe.report.page.svg import Interval, intervals
from shoe.service.folder import Folder
from shoe.service.runs import AGGREGATES
from shoe.service.truths import Truth
from shoe.service.types import Run

COLOURS = ("m0", "m2")


def comparison_values(found: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``comparison.html``; `found` is the JSON of ``shoe compare``, `ids` has its run IDs."""
    models = found["models"]
    keys = list(dict.fromkeys(key for model in models for key in model["figures"]))
    columns = [{"group": _group(key), "heading": heading_with_arrow(key), "key": key} for key in keys]
    rows = [
        {
            "name": model["name"],
            "run": ids[number] if number < len(ids) else None,
            "gain": model.get("gain"),
            "cells": [model["figures"].get(key) for key in keys],
        }
        for number, model in enumerate(models)
    ]
    return {
        "result": found,
        "columns": columns,
        "groups": [(name, len(list(group))) for name, group in groupby(columns, key=lambda column: column["group"])],
        "models": rows,
        "intervals": any(cell and "interval" in cell for model in rows for cell in model["cells"]),
        "plot": plot([(model["name"], model["figures"]) for model in models]),
        "notes": [*found.get("unlike", ()), *found.get("notes", ())],
    }


def plot(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> object:
    """Return an SVG plot of strict and semantic mAP of each model; `rows` has (name, metrics by key) per model."""
    strict = first_exact(*(metrics for _, metrics in rows))
    drawn = [(name, [_interval(metrics.get(key)) for key in (strict, "semantic:map")]) for name, metrics in rows]
    return intervals(drawn, COLOURS, "strict mAP and SHOE-mAP in percent, with 95 % intervals")


def first_exact(*figures: Mapping[str, Any]) -> str:
    """Return the key of the first exact-label mAP in several mappings {key: metric}; "" without such a key.

    Keys of triplet protocols ("strict:...") come before keys of role protocols ("roles:...").
    """
    keys = [key for metrics in figures for key in metrics if key.endswith(f":{FULL}")]
    return next((key for kind in ("strict:", "roles:") for key in keys if key.startswith(kind)), "")


def _interval(metric: Mapping[str, Any] | None) -> Interval | None:
    if metric is None or metric["value"] is None:
        return None
    return Interval(metric["value"], *(metric.get("interval") or ()))


def _group(key: str) -> str:
    kind, *protocol, _ = key.split(":")
    return "by meaning" if kind == "semantic" else protocol[0]


ABOUT = {
    "result.json": "all results, as written by shoe score --json",
    "run.shoe": "saved run, for shoe compare and shoe verify",
    "classes.csv": "metrics by class",
    "words.csv": "predicted phrases, and the classes that they matched",
    "table.tex": "LaTeX table",
    "table.md": "Markdown table",
    "report.html": "interactive report",
    "report.txt": "report as printed by the command line",
    "diagnosis.json": "errors, as written by shoe diagnose --json",
    "examples.json": "boxes and words of example errors",
    "comparison.json": "all results, as written by shoe compare --json",
    "comparison.csv": "table for spreadsheets",
    "comparison.tex": "LaTeX table",
    "comparison.md": "Markdown table",
    "comparison.html": "interactive report",
    "draws.npz": "metrics on bootstrap samples of images, for the ranks of the leaderboard",
}


def run_values(folder: Folder, run: Run, truth: Truth | None, *, all_files: bool, images: bool) -> dict[str, Any]:
    """Return the values of ``run.html`` that are computed from a run and its output files.

    Args:
        truth: ground truth of the run; None if it is no longer registered.
        all_files: whether to list all output files, even if they reveal a ground truth that must not be shown.
        images: whether the server has the images of the dataset.
    """
    result, diagnosis, cases = (
        read_output(folder, run, f"{name}.json") for name in ("result", "diagnosis", "examples")
    )
    rounded = truth is not None and not truth.shown
    held = rounded and not all_files
    return {
        "pending": not {"queued", "running"}.isdisjoint((run.state, *run.further.values())),
        "took": run.ended - run.started if run.state == "done" and run.ended and run.started else None,
        "about": _facts(run, result),
        "examples": [] if held else [_example(run, n, case, images=images) for n, case in enumerate(cases or ())],
        "files": _files(run, held=held),
        "rounded": rounded,
        "identity": {"predictions, SHA-256": run.prediction, "ground truth, SHA-256": truth and truth.sha256},
        "short_signature": short_signature(run.signature, truth),
        **(figures(result, diagnosis, run.further.get("diagnose"), rounded=rounded) if result else {"result": None}),
    }


def _example(run: Run, number: int, case: Mapping[str, Any], *, images: bool) -> dict[str, Any]:
    """Return the values of an example in the file ``examples.json``: drawing, prediction, ground truth, and reason."""
    error = next(error for error in ERRORS if error.name == case["error"])
    truth, predicted, overlap = case["truth"], case["predicted"], case["overlap"]
    drawn = [(kind, pair["human"], pair["object"]) for kind, pair in (("truth", truth), ("m1", predicted)) if pair]
    why = error.meaning
    if overlap:
        why += "; IoU with the annotated boxes: human {:.2f}, object {:.2f}".format(*overlap)
    if case["found"] is not None and case["about"]:
        why += f"; another prediction with score {case['found']:.2f} matched this ground truth"
    return {
        "error": error.label,
        "image": case["image"],
        "predicted": f"{predicted['verb']} {predicted['noun']}" if predicted else None,
        "score": case["score"],
        "truth": f"{truth['verb']} {truth['noun']}" if truth else None,
        "about": case["about"],
        "why": why,
        "path": f"/runs/{run.id}/images/{number}" if images else None,
        "size": case["size"],
        "boxes": drawn,
    }


def read_output(folder: Folder, run: Run, name: str) -> Any:
    """Return the decoded JSON of an output file of a run; None if the run has no such file."""
    output = run.outputs.get(name)
    return _decoded(folder, output.sha256) if output else None


@lru_cache(maxsize=64)
def _decoded(folder: Folder, sha256: str) -> Any:
    return msgspec.json.decode(folder.files.path(sha256).read_bytes())


def figures(
    result: Mapping[str, Any], diagnosis: Mapping[str, Any] | None, state: str | None, *, rounded: bool = False
) -> dict[str, Any]:
    """Return the values of ``figures.html``: strict metrics, semantic metrics, and errors.

    Args:
        result: JSON of ``shoe score``.
        diagnosis: JSON of ``shoe diagnose``; None if it does not exist.
        state: state of the diagnosis job; None if there is no such job.
        rounded: whether metrics are rounded, because the ground truth is not shown.
    """
    strict = result.get("protocols") or ([result["strict"]] if "strict" in result else [])
    by_person = [{**each, "classes": each["entries"]} for each in result.get("roles", ())]
    semantic = result.get("semantic")
    why_not = {"queued": "pending", "running": "being computed", "failed": "could not be computed"}
    found: dict[str, Any] = {
        "result": result,
        "strict": [_full(each, "map", "map_rare", "map_non_rare", "max_recall") for each in (*strict, *by_person)],
        "semantic": _full(semantic, "map_without_no_interaction", *SEMANTIC) if semantic else None,
        "no_meaning": "could not be computed" if result.get("absent") else "not requested",
        "triplets": svg.triplets,
        "gain": semantic["map"] - strict[0]["map"] if semantic and strict and "map" in semantic else None,
        "words": result.get("wordings", ()),
        "notes": result.get("notes", ()),
        "worst": None,
        "why_not": why_not.get(state or "", "not computed"),
    }
    return found | _why(diagnosis, rounded=rounded) if diagnosis else found


def _full(metrics: Mapping[str, Any], *names: str) -> dict[str, Any]:
    """Return a copy of `metrics` in which absent `names` have the value None."""
    return dict.fromkeys(names) | dict(metrics)


def _why(diagnosis: Mapping[str, Any], *, rounded: bool) -> dict[str, Any]:
    def deltas(part: Mapping[str, Any]) -> dict[str, float]:
        return {error.name: part["errors"][error.name].get("delta_map", 0.0) for error in ERRORS}

    semantic, strict = diagnosis.get("semantic", {}), deltas(diagnosis)
    bars = [strict, deltas(semantic)] if semantic else [strict]
    counts = {error.name: diagnosis["errors"][error.name]["count"] for error in ERRORS}
    labels = {error.name: error.label for error in ERRORS}
    found: dict[str, Any] = {
        "worst": [(labels[name], strict[name]) for name in sorted(strict, key=lambda name: -strict[name])],
        "error_bars": svg.error_bars(bars, [counts, None][: len(bars)], COLOURS[: len(bars)], rounded=rounded),
        "progression": [
            (labels[step["error"]], step.get("map"), step.get("delta_map")) for step in diagnosis.get("progression", ())
        ],
        "diagnosis_map": diagnosis.get("map"),
        "diagnosis_shoe": semantic.get("map"),
        "meaning": None,
    }
    gap = semantic.get("vocabulary_gap")
    if gap:
        names = ("exact matches", "credit for similar verbs", "credit for similar objects")
        values = (gap["exact_map"], gap["verb_credit"], gap["object_credit"])
        found["meaning"] = list(zip(names, values, ("m0", "m2", "m3"), strict=True))
        found["meaning_bar"] = svg.stack(found["meaning"], "SHOE-mAP, and its part from credit for similar meaning")
    return found


def _facts(run: Run, result: Mapping[str, Any] | None) -> list[str]:
    where = [f"ground truth {run.truth}", f"team {run.team}"]
    if result is None:
        return where
    counts = [pluralize(result[f"{name}s"], name.replace("_", " ")) for name in ("image", "ground_truth", "prediction")]
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
        "held": held,
    }


def short_signature(signature: str | None, truth: Truth | None) -> str | None:
    """Return the short form of a signature for captions, without protocols that the dataset implies; None for None."""
    if signature is None:
        return None

    return Signature.parse(signature, benchmark(truth.dataset).protocols if truth else None).short()


def row(run: Run) -> dict[str, Any]:
    """Return the values of a row in a table of runs; metrics ("strict", "semantic", "mf1") are None if not computed."""
    keys = {"strict": first_exact(run.figures), "semantic": "semantic:map", "mf1": "semantic:mf1"}
    names = ("id", "kind", "name", "team", "truth", "state", "visibility", "created")
    metrics = {name: run.figures.get(key) for name, key in keys.items()}
    protocol = keys["strict"].split(":")[1] if keys["strict"] else None
    return {name: getattr(run, name) for name in names} | {"figures": metrics, "protocol": protocol}
