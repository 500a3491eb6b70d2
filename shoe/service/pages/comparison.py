"""What the page of a comparison says, from the JSON of ``shoe compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from shoe.comparison.headings import FULL, marked
from shoe.page.svg import Interval, intervals

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
    """Key of the first mean by exact labels that any model has, of triplets before those by person; "" for none."""
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
