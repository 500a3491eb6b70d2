"""Ways to score predictions: a protocol each, perhaps with some of its choices changed, or another map."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from shoe.benchmarks.truth import GroundTruth
from shoe.comparison.ranked import Counts
from shoe.comparison.resampling import Resampler
from shoe.core.arrays import Floats
from shoe.core.errors import OptionError, quote
from shoe.matching.task import Task
from shoe.predictions.notes import ReadNotes
from shoe.protocols.named import SEMANTIC, Options, choose
from shoe.protocols.options import STRICT_PREFIX
from shoe.runs.run import Run
from shoe.scoring.score import score_by
from shoe.scoring.strict import strict_credits

_FIGURES = {"full": "mAP", "map": "SHOE-mAP", "mf1": "SHOE-mF1"}
"""Figures of a model, by the end of their keys."""
_APART = ("similarity=", "protocol=")
"""Settings that are no options of a protocol."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A way to score.

    Attributes:
        name: what it is called.
        options: of one protocol.
        similarity: the map.
    """

    name: str
    options: Options
    similarity: str


@dataclass(frozen=True, slots=True, eq=False)
class ModelScores:
    """What a measure says of one model's predictions; n predictions.

    Attributes:
        signature: how its figures came about.
        credit: (n,) what each earns, 0..1: strictly 1 for a true positive; in SHOE the similarity of its match.
        figures: of the model, by their headings; None where there is nothing to measure.
        resampled: (B,) these under drawn images.
    """

    signature: str
    credit: Floats
    figures: dict[str, float | None]
    resampled: dict[str, Floats]


def measures_of(truth: GroundTruth, protocols: Sequence[str], similarity: str, varied: Sequence[str]) -> list[Measure]:
    """The measures that a command line asks for.

    Args:
        truth: what is scored against.
        protocols: names; the benchmark's usual ones that score triplets if none.
        similarity: the map, for protocols by meaning.
        varied: ``NAME=VALUE`` settings, several with spaces or commas between them, that change the first protocol that
            has such a choice, or the one of ``protocol=NAME``; ``similarity=NAME`` takes another map.

    Raises:
        OptionError: for an unknown name or value, or a protocol by person, which has no triplets.
    """
    of, labels = truth.benchmark, truth.image_labels is not None
    every, usual = [*of.protocols, "shoe"], [name for name in of.usual_protocols if name not in of.role_protocols]
    if not of.protocols.keys() & set(usual):  # V-COCO's own protocols score persons
        usual = [*list(of.protocols)[:1], *usual]
    asked = [one for name in protocols or usual for one in (every if name == "all" else [name])]
    made: dict[str, Measure] = {}

    def add(protocol: str, settings: Sequence[str], source: str, told: Sequence[str]) -> None:
        options = choose([protocol], settings, of.protocols, of.role_protocols, image_labels=labels)
        if options.roles:
            raise OptionError(f"protocol: found {protocol}, which scores persons, expected one that scores triplets")
        name = " ".join([protocol, *told])
        made[name] = Measure(name, options, source)

    for protocol in asked:
        add(protocol, (), similarity, ())
    for text in varied:
        words = text.replace(",", " ").split()
        apart = dict(word.split("=", 1) for word in words if word.startswith(_APART))
        settings = [word for word in words if not word.startswith(_APART)]
        strict = bool(settings) and all(word.startswith(STRICT_PREFIX) for word in settings)
        family: Collection[str] = of.protocols if strict else SEMANTIC
        changed = apart.get("protocol") or next((name for name in asked if name in family), None)
        if not words or changed is None:
            kind = "strict" if strict else "semantic"
            expected = f"a {kind} --protocol that it could change" if words else "NAME=VALUE"
            raise OptionError(f"--vary: found {quote(text)}, expected {expected}")
        told = [word for word in words if not word.startswith("protocol=")]
        add(changed, settings, apart.get("similarity", similarity), told)
    return list(made.values())


def measured(measure: Measure, task: Task, notes: ReadNotes | None, weights: Counts) -> ModelScores:
    """Score a model.

    Args:
        measure: by what.
        task: its predictions, and the ground truth.
        notes: how the predictions were read.
        weights: (m, B) how often each image of the ground truth is drawn.

    Raises:
        OptionError: where the protocol cannot score them.
    """
    report = score_by(measure.options, task, measure.similarity, notes)
    if report.absent:
        raise OptionError("; ".join(f"{measure.name}: {why}" for why in report.absent.values()))
    run = Run.of(report, measure.name)
    drawn, found = Resampler(run).resampled(weights), run.figures()
    credit = np.zeros(len(report.predictions))
    if report.semantic is not None:
        matches = report.semantic.matches
        matched = matches.prediction >= 0
        credit[matches.prediction[matched]] = matches.sigma[matched]
    else:
        for each in report.strict_results:
            np.maximum.at(credit, *strict_credits(report.task, each.options))
    keys = {name: key for key in found if (name := _FIGURES.get(key.split(":")[-1])) is not None}
    return ModelScores(
        signature=str(report.signature),
        credit=credit,
        figures={name: found[key] for name, key in keys.items()},
        resampled={name: drawn[key] for name, key in keys.items()},
    )
