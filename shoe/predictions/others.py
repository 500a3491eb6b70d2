"""Files that are no predictions though they are given as such: those that shoe knows are told as what they are."""

from __future__ import annotations

import re

from shoe.benchmarks.others import benchmark_of_truth
from shoe.core.errors import InputError, flag
from shoe.predictions.source import Source

BONGARD = "Bongard problems"
SWAPPED = "are PREDICTIONS and --ground-truth swapped?"
PROBLEMS = re.compile(rb"\s*(?:\[\s*){3}\{[^{}]*\"crop_bbox\"")


def refuse_others(source: Source, expected: str) -> None:
    """Refuse a file that is something else.

    Args:
        source: the file, opened.
        expected: what it should be.

    Raises:
        InputError: naming what it is, and what is done with that.
    """
    is_map = {
        "folder": (source.path / "map.json").is_file(),
        "text": b"class_synset" in source.data[:4096].split(b"\n", 1)[0],
        "npz": source.kind == "npz" and "verb_classes.npy" in source.members,
    }
    found = hint = None
    if is_map.get(source.kind):
        found, hint = "a similarity map", "a map is given with --similarity; shoe map import makes one of ratings"
    elif not {"action_to_object", "role_object_id"}.isdisjoint(source.first) and (
        truth := benchmark_of_truth(source.data, marked=True)
    ):
        found = f"{truth[1].name}, ground truth of {truth[0].name}"
        hint = f"give {flag('dataset', truth[0].name)}"
        if truth[0].name == source.benchmark.name:
            found, hint = found if expected == "predictions" else None, SWAPPED
    elif PROBLEMS.match(source.data):
        found, hint = BONGARD, "shoe bongard score answers them from predictions"
    if found:
        raise InputError(source.path, found=found, expected=expected, hint=hint)
