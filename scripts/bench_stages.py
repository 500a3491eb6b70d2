"""What `scripts/bench` measures. Each stage runs in a process of its own and prints one JSON object.

Usage: bench_stages.py STAGE FOLDER, where FOLDER holds truth.json, detector.json, detector.npz, vlm.jsonl,
replies.jsonl and replies_in_class_words.jsonl. The checkout must be on PYTHONPATH, for the oracles of the tests.
"""

from __future__ import annotations

import cProfile
import io
import json
import pstats
import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import orjson
import synthetic_persons

from shoe.benchmarks import read_ground_truth
from shoe.benchmarks.hico_det.protocols import PROTOCOLS as STRICT
from shoe.benchmarks.systematic import Rules, split_systematically
from shoe.benchmarks.truth import GroundTruth
from shoe.benchmarks.v_coco.protocols import ROLE_PROTOCOLS as BY_PERSON
from shoe.bongard.build import build_problems
from shoe.bongard.score import score_problems
from shoe.comparison.significance import statistics
from shoe.core.interactions import Interactions
from shoe.io.native import read_native
from shoe.matching.task import Task
from shoe.predictions import read_predictions
from shoe.predictions.source import collection_paused
from shoe.protocols.named import SEMANTIC
from shoe.runs.run import Run
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.score import score
from shoe.similarity import load_similarity

REPEATS = 5
COMPARISONS, RESAMPLES = 2, 1000
PROFILE_LINES = 14
EVERY_NTH_IMAGE = 10
"""The slow oracle is timed on every tenth image."""

Outcome = dict[str, Any]


def timed(work: Callable[[], object], repeats: int = REPEATS) -> list[float]:
    """Seconds of each of some runs; what a run returns is dropped before the next."""
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        work()
        seconds.append(perf_counter() - start)
    return seconds


def read(folder: Path) -> Outcome:
    """Read the QPIC JSON bare, then into a table, then the native file: in turns, so that noise meets all three."""

    def bare() -> object:
        with collection_paused():  # as the reader does; the yardstick is not to suffer from what it is spared
            return orjson.loads((folder / "detector.json").read_bytes())

    works: dict[str, Callable[[], object]] = {
        "orjson.loads": bare,
        "parse": lambda: read_predictions(folder / "detector.json"),
        "native": lambda: read_native(folder / "detector.npz"),
    }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(REPEATS):
        for name, work in works.items():
            seconds[name] += timed(work, 1)
    return {"seconds": seconds}


def read_replies(folder: Path) -> Outcome:
    """Read raw replies, and parse the JSON in them bare: in turns, the first time with every phrase still unknown."""
    return {
        "replies": (folder / "replies.jsonl").read_bytes().count(b"\n"),
        "seconds": _replies(folder, "replies"),
        "in class words": _replies(folder, "replies_in_class_words"),
    }


def _replies(folder: Path, name: str) -> dict[str, list[float]]:
    path = folder / f"{name}.jsonl"
    sizes = _sizes(read_ground_truth(folder / "truth.json"))

    def bare() -> None:
        with collection_paused():
            for line in path.read_bytes().decode().splitlines():
                text = orjson.loads(line)["response"]
                start, end = text.find("```json"), text.rfind("```")
                data = text[start + 7 : end] if start >= 0 else text
                if data.lstrip()[:1] in ("[", "{"):
                    orjson.loads(data)

    def whole() -> object:
        return read_predictions(path, sizes=sizes, boxes="thousand")

    seconds: dict[str, list[float]] = {"first": timed(whole, 1), "orjson.loads": [], "read": []}
    for _ in range(REPEATS):
        seconds["orjson.loads"] += timed(bare, 1)
        seconds["read"] += timed(whole, 1)
    return seconds


def parse_once(folder: Path) -> Outcome:
    """Read the QPIC JSON once: what it costs in memory."""
    return {"triplets": len(read_predictions(folder / "detector.json"))}


def whole_run(folder: Path) -> Outcome:
    """Score the native file as `shoe score` does by default: what all of it costs, reading included."""
    start = perf_counter()
    score(read_native(folder / "detector.npz"), read_ground_truth(folder / "truth.json"))
    return {"seconds": [perf_counter() - start]}


def resolve(folder: Path) -> Outcome:
    """Look up the free text's words, in a process that has not loaded the lexicon and the map before."""
    task = Task(read_predictions(folder / "vlm.jsonl"), read_ground_truth(folder / "truth.json"))
    start = perf_counter()
    source = load_similarity("hico-det")
    loaded = perf_counter()
    HoiSimilarity.of(task, source, SEMANTIC["shoe"])
    words = len(task.predictions.verbs) + len(task.predictions.objects)
    return {"words": words, "seconds": {"map": [loaded - start], "resolve": [perf_counter() - loaded]}}


def score_all(folder: Path) -> Outcome:
    """Score what is in memory: each protocol, the free text, and what NumPy alone needs to sort and integrate."""
    truth, detector, vlm = _tables(folder)
    first = timed(lambda: score(detector, truth, protocols=["shoe"]), 1)
    seconds = {"shoe, first in its process": first}
    for name in (*STRICT, "shoe", "shoe-literal"):
        seconds[name] = timed(lambda name=name: score(detector, truth, protocols=[name]))  # type: ignore[misc]
    seconds["vlm"] = timed(lambda: score(vlm, truth, protocols=["shoe"]))
    classes = Task(detector, truth).hoi

    def yardstick() -> None:
        order = np.lexsort((-detector.score, classes))
        for part in np.split(detector.score[order], np.flatnonzero(np.diff(classes[order])) + 1):
            np.cumsum(part)

    seconds["numpy"] = timed(yardstick)
    report = score(detector, truth)
    free = score(vlm, truth)
    figures = {
        "strict": report.strict and report.strict.map,
        "shoe": report.semantic and report.semantic.map,
        "vlm strict": free.strict and free.strict.map,
        "vlm shoe": free.semantic and free.semantic.map,
    }
    return {
        "triplets": len(detector),
        "vlm_triplets": len(vlm),
        "images": len(truth.interactions.images),
        "seconds": seconds,
        "figures": figures,
    }


def comparison(folder: Path) -> Outcome:
    """CPU seconds of intervals and paired tests of two models by 1,000 resamples, and of scoring one, in turns.

    They differ a hundredfold in length, so that wall-clock time would compare what else the machine does.
    """
    truth, *tables = _tables(folder)
    runs = [Run.of(score(table, truth), name) for table, name in zip(tables, ("detector", "vlm"), strict=True)]
    scored, compared = [], []
    for _ in range(COMPARISONS):
        start = process_time()
        for table in tables:
            score(table, truth)
        scored.append((process_time() - start) / len(tables))
        start = process_time()
        statistics(runs, RESAMPLES, 0)
        compared.append(process_time() - start)
    return {"seconds": {"score": scored, "compare": compared}}


def bongard(folder: Path) -> Outcome:
    """CPU seconds of making Bongard problems of the truth, and of answering them from the detector, beside its scoring.

    All three in turns.
    """
    truth, detector, _ = _tables(folder)
    similarity = load_similarity("hico-det")
    problems = build_problems(truth, similarity).problems
    works: dict[str, Callable[[], object]] = {
        "score": lambda: score(detector, truth),
        "build": lambda: build_problems(truth, similarity),
        "answer": lambda: score_problems(detector, problems, truth.classes, similarity),
    }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(COMPARISONS):
        for name, work in works.items():
            start = process_time()
            work()
            seconds[name].append(process_time() - start)
    return {"problems": len(problems), "seconds": seconds}


def splits(folder: Path) -> Outcome:
    """CPU seconds of splitting the truth by combinations, and of scoring the detector on what test has; in turns."""
    truth, detector, _ = _tables(folder)
    rules = Rules(verify="released", mixed="cut", empty="drop")
    test = split_systematically(truth.interactions, rules).test
    part = replace(truth, interactions=test)
    predictions = detector.select_images(np.isin(np.array(detector.images), np.array(test.images)))
    works: dict[str, Callable[[], object]] = {
        "score": lambda: score(detector, truth),
        "split": lambda: split_systematically(truth.interactions, rules),
        "score_test": lambda: score(predictions, part),
    }
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(COMPARISONS):
        for name, work in works.items():
            start = process_time()
            work()
            seconds[name].append(process_time() - start)
    return {"triplets": len(predictions), "all": len(detector), "seconds": seconds}


def persons(_folder: Path) -> Outcome:
    """Score persons of V-COCO's size by all three protocols of its script."""
    truth, said = synthetic_persons.persons(np.random.default_rng(0))
    assert said.roles is not None
    ranked = sum(result.ranked for result in score(said, truth, protocols=list(BY_PERSON)).role_results)
    seconds = timed(lambda: score(said, truth, protocols=list(BY_PERSON)), 3)
    return {"persons": len(said.roles), "ranked": ranked, "seconds": seconds}


def oracle(folder: Path) -> Outcome:
    """Time the slow oracle of the tests from the tables that the fast side starts from, and from its own scenes.

    Ties are in input order, which spares it the enumeration.
    """
    from tests.oracles.model import from_tables
    from tests.oracles.semantic import semantic
    from tests.oracles.strict import strict

    truth, detector, _ = _tables(folder)
    truth, detector = some_images(truth, detector, EVERY_NTH_IMAGE)
    scenes, classes = from_tables(truth, detector), truth.classes
    verb, noun = similarities(Task(detector, truth))
    return {
        "images": len(truth.interactions.images),
        "triplets": len(detector),
        "seconds": {
            "strict": timed(lambda: strict(from_tables(truth, detector), classes, "hico-det"), 3),
            "semantic": timed(
                lambda: semantic(from_tables(truth, detector), classes, verb, noun, {"ties": "input"}), 3
            ),
            "strict, scenes ready": timed(lambda: strict(scenes, classes, "hico-det"), 3),
            "semantic, scenes ready": timed(lambda: semantic(scenes, classes, verb, noun, {"ties": "input"}), 3),
        },
    }


def profile(folder: Path) -> Outcome:
    """Say where strict and semantic scoring spend their time: own time, highest first."""
    truth, detector, vlm = _tables(folder)
    score(detector, truth)
    runs = {"hico-det": (detector, "hico-det"), "shoe": (detector, "shoe"), "shoe, free text": (vlm, "shoe")}
    shown = {}
    for name, (predictions, protocol) in runs.items():
        profiler = cProfile.Profile()
        profiler.runcall(score, predictions, truth, protocols=[protocol])
        text = io.StringIO()
        pstats.Stats(profiler, stream=text).strip_dirs().sort_stats("tottime").print_stats(PROFILE_LINES)
        shown[name] = text.getvalue().strip()
    return {"profile": shown}


def similarities(task: Task) -> tuple[Callable[[int, str], float], Callable[[int, str], float]]:
    """The shipped map's values of a task's words, in the form that the oracle takes."""
    found = HoiSimilarity.of(task, load_similarity("hico-det"), SEMANTIC["shoe"])
    verbs = {word: i for i, word in enumerate(task.predictions.verbs)}
    nouns = {word: i for i, word in enumerate(task.predictions.objects)}
    verb_values, noun_values = found.verbs.values.tolist(), found.objects.values.tolist()
    verb_row, noun_row = found.verb_row.tolist(), found.object_row.tolist()
    return (
        lambda hoi, word: float(verb_values[verb_row[hoi]][verbs[word]]),
        lambda hoi, word: float(noun_values[noun_row[hoi]][nouns[word]]),
    )


def some_images(truth: GroundTruth, predictions: Interactions, step: int) -> tuple[GroundTruth, Interactions]:
    """Every ``step``-th image of the truth, and the predictions on those images."""
    kept = truth.interactions.select_images(np.arange(0, len(truth.interactions.images), step))
    names = set(kept.images)
    shown = np.array([name in names for name in predictions.images], bool)
    return GroundTruth(kept, truth.classes, truth.split), predictions.select_images(shown)


def _sizes(truth: GroundTruth) -> dict[str, tuple[int, int]]:
    table = truth.interactions
    return {name: (width, height) for name, (width, height) in zip(table.images, table.sizes.tolist(), strict=True)}


def _tables(folder: Path) -> tuple[GroundTruth, Interactions, Interactions]:
    truth = read_ground_truth(folder / "truth.json")
    return truth, read_native(folder / "detector.npz"), read_predictions(folder / "vlm.jsonl")


STAGES = {
    stage.__name__: stage
    for stage in (
        read,
        read_replies,
        parse_once,
        whole_run,
        resolve,
        score_all,
        comparison,
        bongard,
        splits,
        persons,
        oracle,
        profile,
    )
}


def main() -> None:
    """Run one stage."""
    outcome = STAGES[sys.argv[1]](Path(sys.argv[2]))
    outcome["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    json.dump(outcome, sys.stdout)


if __name__ == "__main__":
    main()
