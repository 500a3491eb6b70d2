"""Runs of random scenes, under any options."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from shoe.benchmarks.classes import ClassSplit
from shoe.benchmarks.hico_det import PROTOCOLS
from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.scoring_options import changed
from shoe.comparison.run import Run
from shoe.scoring.matching.task import Task
from shoe.scoring.score import Report
from shoe.scoring.semantic import semantic_score
from shoe.scoring.strict import strict_score
from tests.oracles.model import ImageScene
from tests.oracles.scenes import random_scenes, small_classes, toy_similarity
from tests.scoring.compare import task_of, toy_similarities

CLASSES = small_classes()
VERB, NOUN = toy_similarity(CLASSES)
OPTIONS = (
    (),
    ("ties=input", "classes=all", "recall=truth"),
    ("min-sigma=delta", "f1-classes=counted", "prediction-misses=charged"),
    ("fp-scope=image", "no-interaction=exclude", "strict.no-interaction=exclude", "tau-by=score", "map-tau=0.5"),
    ("ap=11-point", "strict.zero-tp=skip", "strict.unpredicted=full-only", "repeats=matched", "tau-by=image"),
)


def scenes_of(seed: int, images: int = 5) -> list[ImageScene]:
    return random_scenes(np.random.default_rng(seed), images, n_predictions=9, decimals=1, open_words=True)


def report_of(
    scenes: Sequence[ImageScene], options: Sequence[str] = (), class_split: ClassSplit | None = None
) -> Report:
    """A report by a toy similarity."""
    task, semantic = task_of(scenes, CLASSES), changed(SEMANTIC["shoe"], options)
    task = Task(task.predictions, replace(task.truth, class_split=class_split))
    similarities = toy_similarities(task, VERB, NOUN, semantic.combine, semantic.weight)
    return Report(
        task=task,
        facts={"coordinates": "mixed", "map": "toy"},
        strict_results=(strict_score(task, changed(PROTOCOLS["qpic"], options)),),
        semantic=semantic_score(task, similarities, semantic),
        similarities=similarities,
        absent={},
    )


def run_of(scenes: Sequence[ImageScene], options: Sequence[str] = (), name: str = "model") -> Run:
    return Run.from_report(report_of(scenes, options), name)
