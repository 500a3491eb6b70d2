"""Systematic generalisation splits as files: both tables, and a card that says how they were made and what holds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from shoe.benchmarks.base import Benchmark
from shoe.benchmarks.held_out import file_order
from shoe.benchmarks.systematic import Combinations, Rules, SystematicSplit, split_systematically
from shoe.benchmarks.truth import GroundTruth, read_ground_truth
from shoe.core.arrays import Floats, Indices, Mask
from shoe.core.errors import InputError, OptionError, many, quote
from shoe.core.interactions import Interactions, concatenate
from shoe.io.files import replacing
from shoe.io.json import encode
from shoe.io.native import write_native
from shoe.version import __version__

PARTS = ("train", "test")
CARD = "split.json"
FORMATS = {"json": ".json", "native": ".npz"}
Read = Mapping[str, tuple[Path, GroundTruth]]
"""The files that are split, "train" and "test" or only the former, and what they hold."""


def split_files(
    read: Read,
    rules: Rules,
    seed: int,
    folder: Path,
    written_as: str,
    similarity: tuple[str, Callable[[Indices, Indices], Floats]],
) -> dict[str, Any]:
    """Split files into a folder.

    ``read`` is all of one benchmark, ``written_as`` a key of ``FORMATS``. ``similarity`` is a text on what tells how
    similar classes are, and a function that takes R and S of them and returns (R, S) numbers.

    Returns:
        The card, as it is written beside the two files.

    Raises:
        InputError: for files that do not belong together, and a folder that cannot be written to.
        OptionError: for rules that cannot be kept, and a format in which the benchmark is not written.
    """
    name, similar = similarity
    truth = next(iter(read.values()))[1]
    of, table = truth.benchmark, joined(read)
    write = _writer(of, written_as)
    combinations = Combinations.of(table, file_order(of))
    hoi = of.classes.of[combinations.verb, combinations.object].astype(np.int64)
    of_combinations = similar(hoi, hoi) if rules.by_similarity else None
    made = split_systematically(table, rules, seed, combinations=combinations, similarity=of_combinations)
    nearest = similar(hoi[made.held_out], hoi[made.shown(combinations)]).max(axis=1, initial=0)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / CARD).unlink(missing_ok=True)  # it comes last: files without a card are of no whole split
    except OSError as error:
        expected = "a folder that can be written to"
        raise InputError(folder, found=error.strerror or str(error), expected=expected) from None
    paths = {part: folder / f"{part}{FORMATS[written_as]}" for part in PARTS}
    for part, of_part in zip(PARTS, (made.train, made.test), strict=True):
        write(of_part, paths[part])
    card = {
        "shoe": __version__,
        "dataset": of.name,
        "kind": "systematic",
        "seed": made.seed,
        "tries": made.tries,
        "rules": asdict(rules),
        "inputs": {
            part: {"file": path.name, "split": of_part.split, "truth_sha": of_part.facts()["truth-sha"]}
            for part, (path, of_part) in read.items()
        },
        "original": {part: counted(of_part.interactions) for part, (_, of_part) in read.items()},
        "files": {
            part: {"file": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
            for part, path in paths.items()
        },
        "dropped_images": int(made.dropped.sum()),
        **proof({part: read_ground_truth(path, of) for part, path in paths.items()}, made, combinations),
        "held_out": [of.classes.labels[i] for i in hoi[made.held_out]],
        "nearest": {
            "similarity": name,
            "mean": float(nearest.mean()),
            "quartiles": np.quantile(nearest, [0, 0.25, 0.5, 0.75, 1]).tolist(),
        },
    }
    with replacing(folder / CARD) as stream:
        stream.write(encode(card, readable=True))
    return card


def joined(read: Read) -> Interactions:
    """All images of some files as one table.

    Raises:
        InputError: for an image that is in two of them, and for a test set given as training set.
    """
    (path, truth), *more = read.values()
    splits = truth.benchmark.splits
    for part, (own, of_part) in read.items():
        swapped = next((other for other in PARTS if other != part and other in of_part.split), None)
        if of_part.split in splits and swapped is not None and part not in of_part.split:
            found, hint = f"the split {of_part.split}", "are --train and --test swapped?"
            raise InputError(own, found=found, expected=f"images of {part}", hint=hint)
    for other, of_part in more:
        known = set(truth.interactions.images)
        twice = [name for name in of_part.interactions.images if name in known]
        if twice:
            found = f"{many(len(twice), 'image')} that {path} has, too, as {quote(twice[0])}"
            raise InputError(other, found=found, expected="other images")
    return concatenate([of_part.interactions for _, of_part in read.values()])


def counted(table: Interactions) -> dict[str, int]:
    """Images, those without triplets, triplets, and distinct combinations of object and verb."""
    return {
        "images": len(table.images),
        "empty_images": int((np.diff(table.offsets) == 0).sum()),
        "triplets": len(table),
        "combinations": len(Combinations.of(table)),
    }


def proof(written: Mapping[str, GroundTruth], made: SystematicSplit, of: Combinations) -> dict[str, Any]:
    """Count, in the files as they were written, what the split promises.

    Returns:
        The statistics of both; how many combinations and images both have; how many combinations are held out; and how
        many objects and verbs have one partner in all, and one or none in training images.
    """
    train, test = (written[part] for part in PARTS)
    shared = (train.triplets_per_class > 0) & (test.triplets_per_class > 0)
    images = set(train.interactions.images) & set(test.interactions.images)
    shown = made.shown(of)
    return {
        "statistics": {part: counted(truth.interactions) for part, truth in written.items()},
        "combinations": {"all": len(of), "held_out": int(made.held_out.sum())},
        "shared": {"combinations": int(shared.sum()), "images": len(images)},
        "single": {"objects_of_one_verb": _single(of.object, shown), "verbs_of_one_object": _single(of.verb, shown)},
    }


def _single(index: Indices, shown: Mask) -> dict[str, int]:
    has = np.bincount(index)
    kept = np.bincount(index[shown], minlength=len(has))[has > 0]
    return {"all": int((has == 1).sum()), "train": int((kept == 1).sum()), "absent": int((kept == 0).sum())}


def _writer(of: Benchmark, written_as: str) -> Callable[[Interactions, Path], None]:
    if written_as == "native":
        return write_native
    write = next((known.write for known in of.formats if known.write is not None), None)
    if write is None:
        raise OptionError(f"format: found json, which {of.name} is not written in; expected native")
    return lambda table, path: write(table, path, of)
