"""Stages about reading, scoring and comparing a full test set.

The folder that each stage is given holds truth.json, detector.json, detector.npz, vlm.jsonl, replies.jsonl and
replies_in_class_words.jsonl; ``scripts/bench`` makes it.
"""

from __future__ import annotations

import cProfile
import pstats
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
import orjson
import synthetic_persons

from benchmarks.shared import (
    SHOE,
    Row,
    at_least,
    at_most,
    environment,
    fresh,
    in_turns,
    peak_memory,
    rate,
    ratio,
    seconds_row,
    timed,
)
from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.systematic import SplitRules, split_systematically
from shoe.benchmarks.truth import GroundTruth, read_truth_file
from shoe.benchmarks.v_coco import ROLE_PROTOCOLS as BY_PERSON
from shoe.comparison.run import Run
from shoe.comparison.significance import statistics
from shoe.core.arrays import index_in_group
from shoe.core.interactions import Interactions
from shoe.core.io.native import read_native
from shoe.demo import PREDICTIONS, TRUTH
from shoe.predictions import read_predictions
from shoe.predictions.source import collection_paused
from shoe.scoring.bongard.build import build_problems
from shoe.scoring.bongard.score import score_problems
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.score import score
from shoe.similarity import load_similarity

PROCESS_REPEATS = 15
COMPARISONS, RESAMPLES = 2, 1000
PROFILE_LINES = 14
GROWTH = (0.25, 0.5, 1.0)
EVERY_NTH_IMAGE = 10
"""The slow oracle is timed on every tenth image."""


def read(folder: str) -> list[Row]:
    """Read the QPIC JSON bare, then into a table, then the native file."""
    path = Path(folder)

    def bare() -> object:
        with collection_paused():  # as the reader does; the yardstick is not to suffer from what it is spared
            return orjson.loads((path / "detector.json").read_bytes())

    works: dict[str, Callable[[], object]] = {
        "bare": bare,
        "parse": lambda: read_predictions(path / "detector.json"),
        "native": lambda: read_native(path / "detector.npz"),
    }
    seconds = in_turns(works)
    generated = orjson.loads((path / "generated.json").read_bytes())
    return [
        seconds_row("generate both files (when they were made)", generated["generated"]["seconds"]),
        seconds_row("orjson.loads, QPIC JSON", seconds["bare"]),
        seconds_row("parse, QPIC JSON to Interactions", seconds["parse"]),
        ratio("  / orjson.loads", seconds["parse"], seconds["bare"], 1.3),
        Row("  peak memory", fresh("scoring", "parse_peak", folder), "MB"),
        seconds_row("load, native file", seconds["native"]),
        ratio("  / orjson.loads", seconds["native"], seconds["bare"], 1 / 20),
    ]


def parse_peak(folder: str) -> float:
    """Read the QPIC JSON once, and return the peak memory."""
    read_predictions(Path(folder) / "detector.json")
    return peak_memory()


def model_answers(folder: str) -> list[Row]:
    """Read raw replies of a model, the first time with every phrase still unknown."""
    found = []
    sizes = sizes_of(read_truth_file(Path(folder) / "truth.json"))
    for name, words in (("replies", ""), ("replies_in_class_words", ", in the words of the classes")):
        path = Path(folder) / f"{name}.jsonl"
        count = path.read_bytes().count(b"\n")

        def whole(path: Path = path) -> object:
            return read_predictions(path, sizes=sizes, boxes="thousand")

        if not words:
            found.append(seconds_row("read raw replies, 4 forms, first in its process", timed(whole, 1)))
        seconds = timed(whole)
        found.append(seconds_row(f"read raw replies, 4 forms{words}", seconds))
        found.append(seconds_row("  a reply", [1000 * value / count for value in seconds], "ms", 0.2))
    return found


def whole_run(folder: str) -> list[Row]:
    """Score the native file as `shoe score` does by default: what all of it costs, reading included."""
    path = Path(folder)
    start = perf_counter()
    score(read_native(path / "detector.npz"), read_truth_file(path / "truth.json"))
    seconds = perf_counter() - start
    limit = 6 * (path / "detector.npz").stat().st_size / 1e6 + 200
    return [
        at_most("peak memory, whole run on the native file", peak_memory(), "MB", limit),
        Row("  its seconds", seconds, "s"),
    ]


_STAGES = """
import json, resource, sys
from time import process_time as clock
times = [("start", clock())]
{}
print(json.dumps([times, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""
_BARE = """
import msgspec
times.append(("imports", clock()))
msgspec.json.decode(open(sys.argv[1], "rb").read())
times.append(("decode", clock()))
"""
_WHOLE = """
import shoe.cli.app
from shoe.benchmarks.truth import read_truth_file
from shoe.predictions import read_predictions
from shoe.report.score import print_report
from shoe.report.text import console
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.score import score
times.append(("imports", clock()))
predictions = read_predictions(sys.argv[1])
times.append(("read predictions", clock()))
truth = read_truth_file(sys.argv[2])
times.append(("read ground truth", clock()))
report = score(predictions, truth)
times.append(("score", clock()))
print_report(report, console(), Evidence.from_report(report))
times.append(("check and print", clock()))
"""


def process(folder: str) -> list[Row]:
    """Time the stages of `shoe score` on the QPIC JSON, each run in a new process, beside a bare msgspec parse."""
    files = [str(Path(folder) / name) for name in ("detector.json", "truth.json")]

    def run(code: str) -> tuple[dict[str, float], float]:
        command = [sys.executable, "-c", _STAGES.format(code), *files]
        done = subprocess.run(command, check=True, capture_output=True, env=environment())
        times, memory = orjson.loads(done.stdout.splitlines()[-1])
        spent = {name: end - begin for (_, begin), (name, end) in pairwise(times)}
        return spent | {"whole process": times[-1][1]}, memory * (1 if sys.platform == "darwin" else 1024) / 1e6

    bare, whole = zip(*[(run(_BARE), run(_WHOLE)) for _ in range(PROCESS_REPEATS // 3)], strict=True)
    yardstick = [times["decode"] for times, _ in bare]
    found = [
        seconds_row("msgspec.json.decode, QPIC JSON (CPU time)", yardstick),
        Row("  peak memory", bare[0][1], "MB"),
    ]
    for name in whole[0][0]:
        seconds = [times[name] for times, _ in whole]
        most = 2.3 if name == "whole process" else None
        found += [seconds_row(f"shoe score, {name}", seconds), ratio("  / msgspec", seconds, yardstick, most)]
    return [*found, Row("  peak memory", whole[0][1], "MB")]


def resolve(folder: str) -> list[Row]:
    """Look up the free text's words, in a process that has not loaded the lexicon and the map before."""
    path = Path(folder)
    task = Task(read_predictions(path / "vlm.jsonl"), read_truth_file(path / "truth.json"))
    start = perf_counter()
    source = load_similarity("hico-det")
    loaded = perf_counter()
    HoiSimilarity.from_task(task, source, SEMANTIC["shoe"])
    done = perf_counter()
    return [
        Row("load similarity map (first in its process)", loaded - start, "s"),
        Row("resolve the free text's words (first)", done - loaded, "s"),
        Row("  words", len(task.predictions.verbs) + len(task.predictions.objects), ""),
    ]


def scoring(folder: str) -> list[Row]:
    """Score what is in memory by each protocol, beside the slow oracle of the tests, and NumPy alone."""
    truth, detector, vlm = tables(folder)
    first = timed(lambda: score(detector, truth, protocols=["shoe"]), 1)
    rates = {name: _oracle(*some_images(truth, detector), name) for name in ("strict", "semantic")}
    found = [Row("images", len(truth.interactions.images), ""), Row("detector's triplets", len(detector), "")]
    for name in (*STRICT, "shoe", "shoe-literal"):
        seconds = timed(lambda name=name: score(detector, truth, protocols=[name]))  # type: ignore[misc]
        kind = {"hico-det": "strict", "shoe": "semantic"}.get(name)
        found.append(seconds_row(f"match and score, {name}", seconds))
        found.append(rate("  triplets a second", len(detector), seconds, 3e6 if kind else None))
        if kind:
            times = len(detector) / median(seconds) / rates[kind]
            found.append(at_least("  / slow oracle's triplets a second", times, "×", 40))
    seconds = timed(lambda: score(vlm, truth, protocols=["shoe"]))
    classes = Task(detector, truth).hoi

    def yardstick() -> None:
        order = np.lexsort((-detector.score, classes))
        for part in np.split(detector.score[order], np.flatnonzero(np.diff(classes[order])) + 1):
            np.cumsum(part)

    found += [
        seconds_row("match and score, shoe, first in its process", first),
        seconds_row("match and score, shoe, free text", seconds),
        rate("  triplets a second", len(vlm), seconds),
        seconds_row("NumPy alone: sort, cumulative sums by class", timed(yardstick)),
        *[Row(f"slow oracle, {name}, triplets a second", value, "1/s") for name, value in rates.items()],
    ]
    for name, predictions in (("detector", detector), ("free text", vlm)):
        report = score(predictions, truth)
        for how, result in (("strict", report.strict), ("shoe", report.semantic)):
            if result is not None and result.map is not None:
                found.append(Row(f"mAP, {name}, {how}", 100 * result.map, "%"))
    return found


def _oracle(truth: GroundTruth, detector: Interactions, kind: str) -> float:
    """Triplets a second of the slow oracle. Ties are in input order, which spares it the enumeration."""
    from tests.oracles.model import from_tables
    from tests.oracles.semantic import semantic
    from tests.oracles.strict import strict

    verb, noun = similarities(Task(detector, truth))

    def work() -> object:
        scenes = from_tables(truth, detector)
        if kind == "strict":
            return strict(scenes, truth.classes, "hico-det")
        return semantic(scenes, truth.classes, verb, noun, {"ties": "input"})

    return len(detector) / median(timed(work, 3))


def growth(folder: str) -> list[Row]:
    """Score a quarter, a half and all of the images, predictions per image and classes, and fit exponents.

    For fewer classes, all rows are relabelled, so that only the number of classes that occur changes.
    """
    truth, detector, _ = tables(folder)
    classes, hoi = truth.classes, Task(detector, truth).hoi

    def images(part: float) -> tuple[GroundTruth, Interactions]:
        kept = np.arange(round(len(detector.images) * part))
        return replace(truth, interactions=truth.interactions.select_images(kept)), detector.select_images(kept)

    def predictions(part: float) -> tuple[GroundTruth, Interactions]:
        count = np.diff(detector.offsets)
        return truth, detector.select(index_in_group(count) < np.repeat(np.round(count * part), count))

    def occurring(part: float) -> tuple[GroundTruth, Interactions]:
        t, p = (each % round(len(classes) * part) for each in (truth.hoi, hoi))
        table = replace(truth.interactions, verb=classes.verb[t], object=classes.object[t])
        words = replace(detector, verbs=classes.verbs, objects=classes.objects)
        return replace(truth, interactions=table), replace(words, verb=classes.verb[p], object=classes.object[p])

    found = []
    for what, part in (("images", images), ("predictions per image", predictions), ("classes", occurring)):
        for protocol in ("hico-det", "shoe"):
            seconds = []
            for size in GROWTH:
                made, made_predictions = part(size)
                work = lambda: score(made_predictions, made, protocols=[protocol])  # noqa: B023, E731
                seconds.append(min(timed(work, clock=process_time)))
                found.append(Row(f"score, {protocol}, {size:.0%} of the {what}", seconds[-1], "s"))
            exponent = np.polyfit(np.log(GROWTH), np.log(seconds), 1)[0]
            found.append(Row(f"  exponent of the growth with {what}", float(exponent), ""))
    return found


def comparison(folder: str) -> list[Row]:
    """Compare two models by 1,000 resamples, beside scoring one.

    They differ a hundredfold in length, so that wall-clock time would compare what else the machine does.
    """
    truth, *models = tables(folder)
    runs = [Run.from_report(score(table, truth), name) for table, name in zip(models, ("detector", "vlm"), strict=True)]
    seconds = in_turns(
        {"score": lambda: [score(table, truth) for table in models], "compare": lambda: statistics(runs, RESAMPLES, 0)},
        COMPARISONS,
        process_time,
    )
    one = [value / len(models) for value in seconds["score"]]
    return [
        seconds_row("compare two models, 1,000 resamples", seconds["compare"]),
        ratio("  / scoring one", seconds["compare"], one, 40),
    ]


def bongard(folder: str) -> list[Row]:
    """Make Bongard problems of the truth, and answer them from the detector, beside its scoring."""
    truth, detector, _ = tables(folder)
    similarity = load_similarity("hico-det")
    problems = build_problems(truth, similarity).problems
    works: dict[str, Callable[[], object]] = {
        "score": lambda: score(detector, truth),
        "build": lambda: build_problems(truth, similarity),
        "answer": lambda: score_problems(detector, problems, truth.classes, similarity),
    }
    seconds = in_turns(works, COMPARISONS, process_time)
    return [
        seconds_row(f"make {len(problems):,} Bongard problems", seconds["build"]),
        ratio("  / scoring one model", seconds["build"], seconds["score"], 3),
        seconds_row("answer them by both oracles", seconds["answer"]),
        ratio("  / scoring one model", seconds["answer"], seconds["score"], 1),
    ]


def splits(folder: str) -> list[Row]:
    """Split the truth by combinations, and score the detector on what test has."""
    truth, detector, _ = tables(folder)
    rules = SplitRules(verify="released", mixed="cut", empty="drop")
    test = split_systematically(truth.interactions, rules).test
    part = replace(truth, interactions=test)
    predictions = detector.select_images(np.isin(np.array(detector.images), np.array(test.images)))
    works: dict[str, Callable[[], object]] = {
        "all": lambda: score(detector, truth),
        "split": lambda: split_systematically(truth.interactions, rules),
        "test": lambda: score(predictions, part),
    }
    seconds = in_turns(works, COMPARISONS, process_time)
    of_test = [value / len(predictions) for value in seconds["test"]]
    of_all = [value / len(detector) for value in seconds["all"]]
    return [
        seconds_row("split by combinations", seconds["split"]),
        ratio("  / scoring one model", seconds["split"], seconds["all"], 1),
        rate("score its test images, triplets a second", len(predictions), seconds["test"]),
        ratio("  a triplet / one of all images", of_test, of_all, 2),
    ]


def persons(_: str) -> list[Row]:
    """Score persons of V-COCO's size by all three protocols of its script."""
    truth, predictions = synthetic_persons.persons(np.random.default_rng(0))
    assert predictions.roles is not None
    ranked = sum(result.ranked for result in score(predictions, truth, protocols=list(BY_PERSON)).role_results)
    seconds = timed(lambda: score(predictions, truth, protocols=list(BY_PERSON)), 3)
    return [
        seconds_row(f"score {len(predictions.roles):,} persons by V-COCO's script, 3 protocols", seconds),
        rate("  ranked predictions a second", ranked, seconds),
    ]


def commands(_: str) -> list[Row]:
    """Run whole commands beside a bare import of NumPy."""
    processes = {
        "python -c 'import numpy'": [sys.executable, "-c", "import numpy"],
        "shoe demo": [*SHOE, "demo"],
        "shoe score, the demo's detector": [*SHOE, "score", str(PREDICTIONS["detector"]), "--ground-truth", str(TRUTH)],
        "python -c 'import shoe'": [sys.executable, "-c", "import shoe"],
    }

    def run(command: list[str]) -> object:
        return subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    seconds = in_turns({name: lambda c=c: run(c) for name, c in processes.items()}, PROCESS_REPEATS)  # type: ignore[misc]
    (_, base), *others = seconds.items()
    found = [seconds_row("process: python -c 'import numpy'", base)]
    for (name, values), most in zip(others, (4, 4, 2), strict=True):
        found += [seconds_row(f"process: {name}", values), ratio("  / import numpy", values, base, most)]
    return found


def profile(folder: str) -> list[Row]:
    """Print where strict and semantic scoring spend their time: own time, highest first."""
    truth, detector, vlm = tables(folder)
    score(detector, truth)
    for predictions, protocol in ((detector, "hico-det"), (detector, "shoe"), (vlm, "shoe")):
        profiler = cProfile.Profile()
        profiler.runcall(score, predictions, truth, protocols=[protocol])
        print(f"\n{protocol}{', free text' if predictions is vlm else ''}")
        pstats.Stats(profiler).strip_dirs().sort_stats("tottime").print_stats(PROFILE_LINES)
    return []


def similarities(task: Task) -> tuple[Callable[[int, str], float], Callable[[int, str], float]]:
    """Return the shipped map's values of a task's words, in the form that the oracle takes."""
    found = HoiSimilarity.from_task(task, load_similarity("hico-det"), SEMANTIC["shoe"])
    verbs = {word: i for i, word in enumerate(task.predictions.verbs)}
    nouns = {word: i for i, word in enumerate(task.predictions.objects)}
    verb_values, noun_values = found.verbs.values.tolist(), found.objects.values.tolist()
    verb_row, noun_row = found.verb_row.tolist(), found.object_row.tolist()
    return (
        lambda hoi, word: float(verb_values[verb_row[hoi]][verbs[word]]),
        lambda hoi, word: float(noun_values[noun_row[hoi]][nouns[word]]),
    )


def some_images(truth: GroundTruth, predictions: Interactions) -> tuple[GroundTruth, Interactions]:
    """Return every tenth image of the truth, and the predictions on those images."""
    kept = truth.interactions.select_images(np.arange(0, len(truth.interactions.images), EVERY_NTH_IMAGE))
    shown = np.isin(np.array(predictions.images), np.array(kept.images))
    return GroundTruth(kept, truth.classes, truth.split), predictions.select_images(shown)


def sizes_of(truth: GroundTruth) -> dict[str, tuple[int, int]]:
    """Return width and height of each image."""
    table = truth.interactions
    return {name: (width, height) for name, (width, height) in zip(table.images, table.sizes.tolist(), strict=True)}


def tables(folder: str) -> tuple[GroundTruth, Interactions, Interactions]:
    """Return the truth, the detector's and the free-text predictions."""
    path = Path(folder)
    return (
        read_truth_file(path / "truth.json"),
        read_native(path / "detector.npz"),
        read_predictions(path / "vlm.jsonl"),
    )
