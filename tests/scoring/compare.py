"""Run the fast side on an oracle's scenes."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from shoe.benchmarks.classes import HoiClasses
from shoe.benchmarks.hico_det import PROTOCOLS as STRICT
from shoe.benchmarks.protocols import SEMANTIC
from shoe.benchmarks.scoring_options import changed
from shoe.lexicon.senses import Part
from shoe.scoring.hoi_similarity import HoiSimilarity
from shoe.scoring.matching.task import Task
from shoe.scoring.semantic import SemanticResult, semantic_score
from shoe.scoring.strict import StrictResult, strict_score
from shoe.similarity.table import Basis, SimilarityTable
from tests.oracles.meaning import SENSELESS, Similarity
from tests.oracles.model import ImageScene, to_tables
from tests.oracles.scenes import CLASSES, similarity_values


def task_of(scenes: Sequence[ImageScene], classes: HoiClasses = CLASSES) -> Task:
    """A task whose words are labels only where they are equal as strings, which is all that the oracles know."""
    truth, predictions = to_tables(list(scenes), classes)
    task = Task(predictions, truth)
    for name, words, labels in (
        ("verb_label", predictions.verbs, classes.verbs),
        ("object_label", predictions.objects, classes.objects),
    ):
        exact = [labels.index(word) if word in labels else -1 for word in words]
        task.__dict__[name] = np.array(exact, np.int32)  # where cached_property keeps its value
    return task


def fast_strict(task: Task, protocol: str, options: Sequence[str] = ()) -> StrictResult:
    chosen = STRICT[protocol]
    if protocol == "hico-det-known-object" and task.truth.image_labels is None:
        options = [*options, "strict.known-object=boxes"]
    return strict_score(task, changed(chosen, options))


def toy_similarities(
    task: Task, verb: Similarity, noun: Similarity, how: str = "arithmetic", weight: float = 0.5
) -> HoiSimilarity:
    """The fast side's tables, filled from an oracle's similarity functions: one row a class."""
    classes = task.truth.classes
    every = np.arange(len(classes))

    def table(part: Part, similarity: Similarity, words: tuple[str, ...]) -> SimilarityTable:
        values = similarity_values(similarity, classes, words)
        return SimilarityTable(
            values=values,
            basis=np.full(values.shape, Basis.RATED, np.uint8),
            sense=np.full(values.shape, -1, np.int32),
            unresolved=tuple(word for word in words if word in SENSELESS),
        )

    return HoiSimilarity(
        verbs=table("verb", verb, task.predictions.verbs),
        objects=table("object", noun, task.predictions.objects),
        verb_row=every,
        object_row=every,
        rated_verbs=np.ones(len(task.predictions.verbs), bool),
        rated_objects=np.ones(len(task.predictions.objects), bool),
        how=how,
        weight=weight,
    )


def fast_semantic(
    task: Task, verb: Similarity, noun: Similarity, options: dict[str, str], protocol: str = "shoe"
) -> SemanticResult:
    chosen = changed(SEMANTIC[protocol], [f"{name}={value}" for name, value in options.items()])
    return semantic_score(task, toy_similarities(task, verb, noun, chosen.combine, chosen.weight), chosen)


def same(fast: NDArray[np.float64], slow: Sequence[float | None]) -> None:
    """Assert that two lists per class agree to 1e-9, absent values included."""
    expected = np.array([np.nan if value is None else value for value in slow])
    np.testing.assert_array_equal(np.isnan(fast), np.isnan(expected))
    np.testing.assert_allclose(fast, expected, rtol=0, atol=1e-9)


def close(fast: float | None, slow: float | None) -> bool:
    return fast is slow is None or (fast is not None and slow is not None and abs(fast - slow) <= 1e-9)


STRICT_FIGURES = ("ap", "map", "map_rare", "map_non_rare", "max_recall")
RATES = ("gt_miss_rate", "prediction_miss_rate", "no_overlap_rate")
SEMANTIC_FIGURES = ("ap", "f1", "map", "mf1", "mf1_best_tau", *RATES)


def same_figures(fast: object, slow: Mapping[str, Any], names: Sequence[str]) -> None:
    """Assert that a result has these figures of an oracle, each to 1e-9; those of classes are lists."""
    for name in names:
        expected = slow[name]
        if isinstance(expected, list):
            same(getattr(fast, name), expected)
        else:
            assert close(getattr(fast, name), expected), name
