"""What a folder has of a dataset, in the terminal and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.card import IMAGE_LABELS
from shoe.core.errors import many
from shoe.predictions.formats import BONGARD
from shoe.predictions.inventory import Found, Inventory
from shoe.report.text import say


def inventory_dict(folder: str, found: Inventory, wanted: Sequence[Benchmark]) -> dict[str, Any]:
    """The keys of ``shoe dataset check --json``."""
    return {
        "folder": folder,
        "pictures": found.pictures,
        "files": [_file_dict(file) for file in found.files],
        "missing": [
            {
                "dataset": of.name,
                "holds": holds,
                "files": [{"name": file.name, "purpose": file.purpose, "place": file.place} for file in files],
            }
            for of in wanted
            for holds, files in found.missing(of).items()
        ],
        "commands": list(_commands(folder, found)),
    }


def print_inventory(folder: str, found: Inventory, wanted: Sequence[Benchmark], to: Console) -> None:
    """Print what there is of each dataset wanted, what is missing, and what can be done with it."""
    say(to, f"{folder}: {many(len(found.files), 'file')}, {many(found.pictures, 'picture')}", "bold")
    for of in wanted:
        say(to, of.name, "bold")
        for file in found.files:
            if file.dataset == of.name:
                say(to, f"you have   {_said(file)}")
        for holds, files in found.missing(of).items():
            places = "; or ".join(f"{file.name} from {file.place}" for file in files)
            say(to, f"missing    {holds} ({files[0].purpose}): get {places}")
    for command in _commands(folder, found):
        say(to, f"you can    {command}")
    loose = [file for file in found.files if (file.kind or file.problem) and not file.dataset]
    for file in loose:
        say(to, f"also       {_said(file)}")
    if others := [file.path for file in found.files if not (file.kind or file.problem or file.dataset)]:
        say(to, f"not read   {', '.join(others)}", "dim")
    if not found.datasets and all(file.kind != BONGARD for file in found.files):
        say(to, "nothing here is a dataset's; shoe dataset list names those that shoe knows")


def _said(file: Found) -> str:
    if file.problem:
        return f"{file.path}, which cannot be read: {file.problem}"
    if file.kind == IMAGE_LABELS:
        return f"{file.path}: {file.holds}"
    if file.kind == BONGARD:
        return f"{file.path}: {BONGARD}, which shoe bongard score answers from predictions"
    counts = f"{many(file.counts['images'], 'image')}, {many(file.counts['triplets'], 'triplet')} ({file.format})"
    if file.kind == "predictions":
        return f"{file.path}: predictions, {counts}"
    if file.published is None:
        verdict = "nothing published to hold it to"
    elif file.published["matches"]:
        verdict = "as published"
    else:
        differs = file.published["differs"].items()
        numbers = ", ".join(
            f"{name.replace('_', ' ')} {of['found']:,}, not {of['published']:,}" for name, of in differs
        )
        verdict = f"not as published: {numbers}; figures on it are none on {file.holds}"
    return f"{file.path}: {file.holds}, {counts}, {verdict}"


def _commands(folder: str, found: Inventory) -> Iterator[str]:
    """What can be asked of the files that are there."""
    labels = {file.dataset: file.path for file in found.files if file.holds == IMAGE_LABELS}
    for file in found.files:
        if file.kind == "ground truth" and "train" not in file.holds:
            of = f" --dataset {file.dataset}" if file.dataset != "hico-det" else ""
            truth = shlex.quote(f"{folder}/{file.path}")
            command = f"shoe score PREDICTIONS --ground-truth {truth}{of}"
            yield command
            if file.dataset in labels and "test" in file.holds:
                path = shlex.quote(f"{folder}/{labels[file.dataset]}")
                yield f"{command} --protocol {file.dataset}-known-object --image-labels {path}"


def _file_dict(file: Found) -> dict[str, Any]:
    said = {"kind": file.kind, "dataset": file.dataset, "format": file.format, "holds": file.holds}
    known: dict[str, Any] = {key: value for key, value in said.items() if value} | file.counts
    if file.published is not None:
        known["published"] = file.published
    return {"file": file.path, **known, **({"problem": file.problem} if file.problem else {})}
