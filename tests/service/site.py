"""A folder whose runs were made by hand, with hostile names in every place that a client can fill."""

from pathlib import Path

import msgspec
import numpy as np

from shoe.service import jobs, submissions
from shoe.service.boards import add_board
from shoe.service.folder import Folder
from shoe.service.types import Request, Visibility
from tests.service.calling import claimed, made_folder, packed, queued, stored_files

HOSTILE = "<script>alert('x')</script>\u202e\" onload=\"&amp;"
PARTS = {"verb": {"word": HOSTILE, "similarity": 0.5}, "object": {"word": "pony", "similarity": 1.0}}
RESULT = {
    "dataset": "hico-det", "split": "test2015", "images": 3, "ground_truths": 5, "predictions": 1234,
    "strict": {"protocol": "hico-det", "map": 0.1593, "map_rare": 0.18, "map_non_rare": 0.15, "classes": 4},
    "semantic": {"map": 0.3619, "mf1": 0.4598, "gt_miss_rate": 0.51, "prediction_miss_rate": 0.2, "classes": 4},
    "wordings": [{**PARTS, "phrases": [], "count": 7, "earned": 5.25, "lost": 1.75, "compared_with": "ride horse"}],
    "notes": [f"words      {HOSTILE}", "a note without a key"],
}  # fmt: skip
ERRORS = ("human_box", "object_box", "both_boxes", "association", "duplicate", "interaction", "missed_gt")
ALL_ERRORS = (*ERRORS, "false_positive", "false_negative")
DIAGNOSIS = {
    "map": 0.2,
    "progression": [{"error": "human_box", "map": 0.25, "delta_map": 0.05}],
    "errors": {name: {"count": 10 * n, "delta_map": 0.01 * n} for n, name in enumerate(ALL_ERRORS)},
    "semantic": {
        "map": 0.4,
        "errors": {name: {"delta_map": 0.02 * n} for n, name in enumerate(ALL_ERRORS)},
        "vocabulary_gap": {"exact_map": 0.22, "verb_credit": 0.1, "object_credit": 0.08, "map": 0.4},
    },
}
SHOWN = {"human": [10, 10, 60, 90], "object": [50, 20, 90, 80], "verb": "ride", "noun": "horse"}
EXAMPLE = {"image": "HICO_test2015_00000001.jpg", "size": [100, 100], "score": 0.75, "truth": SHOWN, "about": True}
EXAMPLES = [
    {**EXAMPLE, "error": "interaction", "predicted": {**SHOWN, "verb": HOSTILE}, "found": 0.5, "overlap": [0.9, 0.8]},
    {**EXAMPLE, "error": "missed_gt", "predicted": None, "score": None, "found": None, "overlap": None},
]
CLASSES = f"""class,verb,object,rare,ground_truths,predictions,shoe_ap
{HOSTILE!r},a,b,rare,3,1,0.25
ride horse,ride,horse,,2,1,
"""
FIGURES = {"strict:hico-det:full": 0.1593, "semantic:map": 0.3619, "semantic:mf1": 0.4598}
STRICT = {"value": 0.15, "interval": [0.1, 0.2]}
COMPARED = {
    "models": [
        {"name": name, "gain": 0.2, "figures": {
            "strict:hico-det:full": STRICT | {"rank": rank}, "semantic:map": {"value": 0.36, "rank": rank},
        }}
        for rank, name in enumerate((HOSTILE, "other"), 1)
    ],
    "notes": ["images     1,000 resamples"],
}  # fmt: skip
RUNS: dict[str, tuple[Visibility, str | None, str]] = {
    "public": ("public", None, "local"),
    "other": ("public", None, "local"),
    "team": ("team", None, "local"),
    "foreign": ("team", None, "others"),
    "secret": ("public", "secret", "local"),
    "ranked": ("public", "board", "local"),
}


def made_site(path: Path) -> tuple[Folder, dict[str, str]]:
    """The folder, and ids of its runs by what they are."""
    folder = made_folder(path)
    add_board(folder, "board", Request(truth="small"), title=HOSTILE)
    add_board(folder, "secret", Request(truth="small"), title="secret title", hidden=True)
    ids = {}
    for name, (visibility, board, team) in RUNS.items():
        run = queued(folder, f"{HOSTILE} {name}", name.encode(), team, file=HOSTILE, visibility=visibility, board=board)
        ids[name] = run.id
        do_all(folder)
    ids["compare"] = submissions.compare(folder, "local", [ids["public"], ids["other"]], visibility="public").id
    do_all(folder)
    ids["failed"] = queued(folder, "broken.json").id
    fail_one(folder)
    return folder, ids | {name: queued(folder, f"{name}.json").id for name in ("queued", "mine")}


# What a job of each kind makes.
FILES: dict[str, dict[str, bytes]] = {
    "score": {
        "result.json": msgspec.json.encode(RESULT), "classes.csv": CLASSES.encode(), "run.shoe": b"kept",
        "words.csv": b"word\n",
    },
    "diagnose": {"diagnosis.json": msgspec.json.encode(DIAGNOSIS), "examples.json": msgspec.json.encode(EXAMPLES)},
    "page": {"report.html": b"<!doctype html><title>report</title>"},
    "compare": {"comparison.json": msgspec.json.encode(COMPARED)},
    "board": {
        "draws.npz": packed(**{key: np.linspace(value - 0.05, value + 0.05, 20) for key, value in FIGURES.items()})
    },
}  # fmt: skip
LOSSES = {"error:object_box": 0.22, "error:false_negative": 0.9}
ALL_FIGURES = {"score": FIGURES, "board": FIGURES, "diagnose": LOSSES}


def do_all(folder: Folder) -> None:
    while (job := jobs.claim(folder)) is not None:
        outputs = stored_files(folder, FILES[job.kind])
        signature = "shoe:1|data:hico-det" if job.kind == "score" else None
        assert jobs.finish(folder, job, outputs, ALL_FIGURES.get(job.kind), signature, after=submissions.follow_up)


def fail_one(folder: Folder) -> None:
    assert jobs.fail(folder, claimed(folder), f"broken.json: line 1: found {HOSTILE}, expected JSON")
