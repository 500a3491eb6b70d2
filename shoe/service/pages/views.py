"""Template and values of each page, for the server and for the exported site."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from csv import reader
from functools import lru_cache, partial
from itertools import groupby
from statistics import median
from typing import Any, NamedTuple, get_args

import msgspec

from shoe.benchmarks import benchmark
from shoe.benchmarks.signature import Signature
from shoe.comparison.columns import FULL, heading_with_arrow
from shoe.comparison.run import SEMANTIC
from shoe.core.errors import pluralize
from shoe.diagnosis.error_types import ERRORS
from shoe.report.page import svg
from shoe.report.page.svg import Interval, intervals
from shoe.report.text import percent
from shoe.service import access, boards
from shoe.service.access import AGGREGATES
from shoe.service.folder import Folder
from shoe.service.job_process import LEAST_TRUTHS
from shoe.service.pages import playground
from shoe.service.runs import command_of
from shoe.service.submissions import quota_of
from shoe.service.tokens import ADMIN, Identity
from shoe.service.truths import Truth, loaded, truths
from shoe.service.types import Board, Run, Standing, State
from shoe.similarity import SimilarityMap


@lru_cache(maxsize=8)
def map_values(name: str, place: str) -> dict[str, Any]:
    """Return the values of ``map.html``; `place` is the name of a built-in map, or the folder of a registered map."""
    from shoe.maps.info import describe

    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - for the type checker
    info = describe(similarity)
    names = [rater.name for rater in similarity.raters]
    return {
        "name": name,
        "map": similarity,
        "info": info,
        "coverage": {f"{part}s": _coverage(of) for part, of in info.parts.items()},
        "histograms": {
            (rater.name, part): svg.histogram(
                rater.part(part).histogram, f"how often {rater.name} gave each rating to {part}s"
            )
            for rater in info.raters
            for part in info.parts
        },
        "agreement": {
            f"{part}s": svg.matrix(
                names,
                [
                    (names.index(first), names.index(second), two.quadratic_weighted_kappa)
                    for two in of.agreement
                    for first, second in [two.raters]
                ],
                f"agreement of raters on {part}s, as quadratic weighted kappa",
            )
            for part, of in info.parts.items()
            if of.agreement
        },
    }


@lru_cache(maxsize=32)
def map_row(name: str, place: str) -> dict[str, Any]:
    """Return the row of a map in the list of maps; `place` is a built-in name, or the folder of a registered map."""
    similarity = loaded(place)
    assert isinstance(similarity, SimilarityMap)  # noqa: S101 - for the type checker
    pairs = {part: len(table) for part, table in similarity.tables.items()}
    counts = {"raters": len(similarity.raters), "verbs": pairs.get("verb", 0), "objects": pairs.get("object", 0)}
    return {"name": name, "digest": similarity.digest, "dataset": similarity.dataset} | counts


def _coverage(info: Any) -> list[str]:
    """Return a map's table row: pairs, rated pairs, class senses, and statistics of rated pairs per class sense."""
    spread = ["–"] * 4
    if info.coverage:
        rated = list(info.coverage.values())
        with_any = f"{sum(number > 0 for number in rated)} of {len(rated)}"
        spread = [with_any, *(f"{int(statistic(rated)):,}" for statistic in (min, median, max))]
    return [*(f"{count:,}" for count in (info.pairs, info.rated_pairs, info.class_senses)), *spread]


PAGE = 50
"""Number of runs on a page of the list."""


class View(NamedTuple):
    """Template and values of a page; `derive` returns further values, which depend only on `values` and on files."""

    template: str
    values: dict[str, Any]
    derive: Callable[[], dict[str, Any]] | None = None


def rows(folder: Folder, found: Iterable[Run]) -> list[dict[str, Any]]:
    """Return the values of a table row for each run; metrics ("strict", "semantic", "mf1") are None if not computed.

    "hidden" is whether the leaderboard of the run is hidden, "comparable" whether the caller may compare the run, and
    "empty" whether its file contains no predictions.
    """
    shown = {truth.name: truth.shown for truth in truths(folder)}
    hidden = {board.name for board in boards.boards(folder) if board.hidden}
    names = ("id", "kind", "name", "team", "truth", "state", "visibility", "created", "reason")
    values = []
    for run in found:
        strict = first_exact(run.figures)
        keys = {"strict": strict, "semantic": "semantic:map", "mf1": "semantic:mf1"}
        values.append({name: getattr(run, name) for name in names} | {
            "figures": {name: run.figures.get(key) for name, key in keys.items()},
            "protocol": strict.split(":")[1] if strict else None,
            "hidden": run.board in hidden,
            "empty": 0 in (run.figures.get(strict), run.figures.get("semantic:map")) and _is_empty(folder, run),
            "comparable": "run.shoe" in run.outputs,
            "rounded": not shown.get(run.truth, True),
        })  # fmt: skip
    return values


def _is_empty(folder: Folder, run: Run) -> bool:
    return bool((read_output(folder, run, "result.json") or {}).get("predictions") == 0)


def front(folder: Folder, identity: Identity) -> View:
    """Return the front page: leaderboards (hidden ones not for anonymous callers), and the latest 8 visible runs.

    Callers without the permission to read see only finished runs on leaderboards that are not hidden.
    """
    state = None if identity.allows("read") else "done"
    recent = rows(folder, access.visible_runs(folder, identity, limit=8, state=state))
    return View("front.html", {"runs": recent, "boards": open_boards(folder, identity)})


def open_boards(folder: Folder, identity: Identity) -> list[dict[str, Any]]:
    """Return the leaderboards in the caller's lists, as dicts of "board", "quota" (of the caller's team) and "ended".

    Ended leaderboards are last. Hidden ones are not listed for anonymous callers, whose quotas count no submission.
    """
    with folder.database.read() as db:
        known = [each for each in boards.boards(folder) if identity.team is not None or not each.hidden]
        known.sort(key=lambda board: board.ended)
        quotas = [quota_of(db, identity.team or "", each.name, each.truth) for each in known]
    return [{"board": b, "quota": quota, "ended": b.ended} for b, quota in zip(known, quotas, strict=True)]


def run_list(folder: Folder, identity: Identity, filters: Mapping[str, str], after: str | None) -> View:
    """Return a page of the list of runs: at most 50 runs, the latest first, older than the run `after` (None: all).

    `filters` has "state" and "truth" of the listed runs, and "name", a part of their names; "" for no restriction.
    """
    given = {key: value or None for key, value in filters.items()}
    found = access.visible_runs(folder, identity, after, PAGE, **given)
    values = {
        "runs": rows(folder, found),
        "asked": filters,
        "states": get_args(State),
        "truths": [each.name for each in truths(folder)],
        "last": found[-1].id if len(found) == PAGE else None,
        "chosen": (),
    }
    return View("runs.html", values)


def run_page(folder: Folder, identity: Identity, run: Run, *, images: bool = False) -> View:
    """Return the page of a run or comparison; examples show images if the server has the `images` of the dataset."""
    truth, lines = _truth(folder, run.truth), access.visible_log(folder, identity, run)
    board = boards.board(folder, run.board) if run.board else None
    quota = None
    if run.state in ("failed", "cancelled"):
        with folder.database.read() as db:
            quota = quota_of(db, run.team, run.board, run.truth)
    is_open = not (board and board.ended) and (quota is None or quota.left != 0)
    again = ("retry",) if is_open or run.kind == "compare" else ()
    actions = {"queued": ("cancel",), "running": ("cancel",), "failed": again, "cancelled": again}
    values = {
        "run": run,
        "truth": truth,
        "images": images,
        "mine": identity.allows("submit") and (identity.allows("admin") or identity.team == run.team),
        "actions": actions.get(run.state, ()),
        "open": is_open,
        "quota": quota,
        "command": command_of(folder, run.id),
        "log": [line.line for line in lines if line.line != f"failed: {run.reason}"],
        "hidden": access.is_hidden(folder, identity, run),
        "board": board,
    }

    def derive() -> dict[str, Any]:
        found = run_values(folder, run, truth, all_files=identity.allows("admin"), images=images)
        if run.kind == "compare":
            compared = read_output(folder, run, "comparison.json")
            found |= comparison_values(compared, run.request["runs"]) if compared else {"result": None}
        return found

    return View("comparison.html" if run.kind == "compare" else "run.html", values, derive)


def classes_page(folder: Folder, run: Run) -> View | None:
    """Return the page of metrics by class, in percent; None if the run has no file ``classes.csv``."""
    output = run.outputs.get("classes.csv")
    if output is None:
        return None

    headings, *rows = reader(folder.files.path(output.sha256).read_text("utf-8").splitlines())
    columns = [number for number, name in enumerate(headings) if name not in ("verb", "object")]
    is_percentage = [name.endswith(("_ap", "_recall", "_f1")) for name in headings]
    truth = _truth(folder, run.truth)
    in_percent = partial(percent, rounded=truth is not None and not truth.shown)
    shown = [[in_percent(float(row[n])) if is_percentage[n] and row[n] else row[n] for n in columns] for row in rows]
    names = [re.sub("(ap|f1)$", lambda end: end[0].upper(), headings[n].replace("_", " ")) for n in columns]
    return View("classes.html", {"run": run, "headings": names, "rows": shown, "least": LEAST_TRUTHS})


def board_page(folder: Folder, identity: Identity, board: Board, *, best: bool = False) -> View:
    """Return the page of a leaderboard; its value "hidden" is True if the caller must not see the results.

    With `best`, the table has only the best run of each team, and the runs of administrators (baselines).
    """
    found, hidden = boards.standing(folder, board), board.hidden and not identity.allows("admin")
    truth, linked = _truth(folder, board.truth), access.visible_ids(folder, identity, board.name)
    with folder.database.read() as db:
        quota = quota_of(db, identity.team or "", board.name, board.truth)
    values = {"quota": quota, "best": best, "board": board, "hidden": hidden, "truth": truth}
    values |= {"ended": board.ended}
    values |= {"standing": found, "linked": linked}
    return View("board.html", values, lambda: _board_values(found, truth, hidden=hidden, best=best))


def _board_values(found: Standing, truth: Truth | None, *, hidden: bool, best: bool) -> dict[str, Any]:
    ranked = found.board.figure
    strict = first_exact(*(each.figures for each in found.rows)) if ranked.startswith("semantic:") else ranked
    keys = (strict, "semantic:map", "semantic:mf1")
    labels = {error.name: error.label for error in ERRORS}
    table, drawn, teams = [], [], Counter[str]()
    for each in found.rows:
        baseline = each.team == ADMIN
        teams[each.team] += not baseline
        if best and teams[each.team] > 1:
            continue
        cells = {key: {"value": each.figures.get(key), "interval": each.intervals.get(key)} for key in keys}
        metrics = each.figures
        gain = metrics["semantic:map"] - metrics[strict] if {"semantic:map", strict} <= metrics.keys() else None
        why = next(((labels[name], delta) for name, delta in each.why.items() if name in labels and delta), None)
        table.append({"run": each, "cells": cells.values(), "gain": gain, "why": why, "baseline": baseline})
        drawn.append((each.name, cells))
    return {
        "ranked_by": heading_with_arrow(ranked),
        "rounded": truth is not None and not truth.shown,
        "several": max(teams.values(), default=0) > 1,
        "rows": table,
        "left_out": [] if hidden else found.left_out,
        "plot": plot(drawn) if table else None,
        "signature": found.signature,
        "short_signature": short_signature(found.signature, truth),
    }


def map_list(folder: Folder) -> View:
    """Return the list of built-in and registered similarity maps."""
    return View("maps.html", {"maps": [map_row(name, place) for name, place in playground.places(folder).items()]})


def _truth(folder: Folder, name: str) -> Truth | None:
    return next(iter(truths(folder, name)), None)


COLOURS = ("m0", "m2")


def comparison_values(found: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return the values of ``comparison.html``; `found` is the JSON of ``shoe compare``, `ids` are the run IDs."""
    models = found["models"]
    keys = list(dict.fromkeys(key for model in models for key in model["figures"]))
    numbers = {model["name"]: number for number, model in enumerate(models, 1)}
    above: dict[tuple[str, str], list[int]] = {}
    for each in found.get("differences", ()):
        if each["significant"]:
            rank = {name: models[numbers[name] - 1]["figures"][each["figure"]]["rank"] for name in each["models"]}
            better, worse = sorted(rank, key=lambda name: rank[name])
            above.setdefault((better, each["figure"]), []).append(numbers[worse])
    group = {key: key.split(":")[0 if key.startswith("semantic:") else 1] for key in keys}
    columns = [{"group": group[key], "heading": heading_with_arrow(key), "key": key} for key in keys]
    rows = [
        {
            "name": model["name"],
            "run": ids[number] if number < len(ids) else None,
            "gain": model.get("gain"),
            "cells": [(model["figures"].get(key), sorted(above.get((model["name"], key), ()))) for key in keys],
        }
        for number, model in enumerate(models)
    ]
    return {
        "result": found,
        "columns": columns,
        "groups": [(name, len(list(group))) for name, group in groupby(columns, key=lambda column: column["group"])],
        "models": rows,
        "intervals": any(cell and "interval" in cell for model in rows for cell, _ in model["cells"]),
        "tested": bool(found.get("differences")),
        "plot": plot([(model["name"], model["figures"]) for model in models]),
        "unlike": found.get("unlike", ()),
        "notes": found.get("notes", ()),
    }


def plot(rows: Sequence[tuple[str, Mapping[str, Any]]]) -> object:
    """Return an SVG plot of strict and semantic mAP of each model; `rows` has (name, metrics by key) per model."""
    strict = first_exact(*(metrics for _, metrics in rows))
    drawn = [(name, [_interval(metrics.get(key)) for key in (strict, "semantic:map")]) for name, metrics in rows]
    return intervals(drawn, COLOURS, "strict mAP and SHOE-mAP in percent, with 95 % intervals")


def first_exact(*figures: Mapping[str, Any]) -> str:
    """Return the key of the first strict mAP, of a triplet protocol if any, in mappings {key: metric}, or ""."""
    keys = [key for metrics in figures for key in metrics if key.endswith(f":{FULL}")]
    return next((key for kind in ("strict:", "roles:") for key in keys if key.startswith(kind)), "")


def _interval(metric: Mapping[str, Any] | None) -> Interval | None:
    if metric is None or metric["value"] is None:
        return None
    return Interval(metric["value"], *(metric.get("interval") or ()))


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
_ABOUT_ROUNDED = {
    "result.json": "rounded metrics, with the keys of shoe score --json",
    "classes.csv": f"metrics of classes with at least {LEAST_TRUTHS} ground truths, rounded",
    "report.txt": "rounded metrics as text",
    "diagnosis.json": "rounded numbers of errors, with the keys of shoe diagnose --json",
}
"""Descriptions of output files of runs on a ground truth that is not shown."""


def run_values(folder: Folder, run: Run, truth: Truth | None, *, all_files: bool, images: bool) -> dict[str, Any]:
    """Return the values of ``run.html`` from the output files of a run, with `all_files` also from withheld files."""
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
        "files": _files(run, held=held, about=ABOUT | _ABOUT_ROUNDED if rounded else ABOUT),
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


_STRICT = dict.fromkeys(("map", "map_rare", "map_non_rare", "max_recall"))
_MEANING = dict.fromkeys(("map_without_no_interaction", *SEMANTIC))


def figures(
    result: Mapping[str, Any], diagnosis: Mapping[str, Any] | None, state: str | None, *, rounded: bool = False
) -> dict[str, Any]:
    """Return the values of ``figures.html``: strict metrics, semantic metrics, and errors.

    `result` and `diagnosis` are the JSON of ``shoe score`` and ``shoe diagnose``, and `state` is the state of the
    diagnosis job. Metrics are `rounded` if the ground truth is hidden.
    """
    strict = result.get("protocols") or ([result["strict"]] if "strict" in result else [])
    by_person = [{**each, "classes": each["entries"]} for each in result.get("roles", ())]
    semantic = result.get("semantic")
    why_not = {"queued": "pending", "running": "being computed", "failed": "could not be computed"}
    found: dict[str, Any] = {
        "result": result,
        "strict": [_STRICT | each for each in (*strict, *by_person)],
        "semantic": _MEANING | semantic if semantic else None,
        "no_meaning": "could not be computed" if result.get("absent") else "not requested",
        "triplets": svg.triplets,
        "gain": semantic["map"] - strict[0]["map"] if semantic and strict and "map" in semantic else None,
        "words": result.get("wordings", ()),
        "notes": result.get("notes", ()),
        "worst": None,
        "why_not": why_not.get(state or "", "not computed"),
        "rounded": rounded,
    }
    return found | _why(diagnosis, rounded=rounded) if diagnosis else found


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


def _files(run: Run, *, held: bool, about: Mapping[str, str]) -> dict[str, Any]:
    kept = [name for name in run.outputs if not held or name in AGGREGATES]

    def path(name: str) -> str:
        return f"/v1/runs/{run.id}/files/{name}"

    return {
        "all": [{"name": n, "path": path(n), "size": run.outputs[n].size, "about": about.get(n)} for n in sorted(kept)],
        "report": next((path(name) for name in ("report.html", "comparison.html") if name in kept), None),
        "classes": "classes.csv" in kept,
        "words": path("words.csv") if "words.csv" in kept else None,
        "held": held,
    }


def short_signature(signature: str | None, truth: Truth | None) -> str | None:
    """Return a signature in short form: version, data, protocol and changed options; None if there is no signature."""
    if signature is None:
        return None

    return Signature.parse(signature, benchmark(truth.dataset).protocols if truth else None).short()
