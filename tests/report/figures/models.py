"""Models to draw: diagnoses of the packaged sample, and as many others like them as a test wants."""

from copy import copy
from functools import cache
from typing import Any, TypeVar

import numpy as np

from shoe.benchmarks.truth import read_truth_file
from shoe.demo import PREDICTIONS, TRUTH
from shoe.diagnosis.diagnose import Diagnosis, diagnose
from shoe.predictions import read_predictions
from shoe.scoring.entries import Means

NAMES = (
    "cdn_r50",
    "gen-vlkt_resnet101_hico_trained_predictions_epoch_90",
    "upt",
    "RLIPv2-ParSeDA Swin-L",
    r"$\frac{a}{b}$ ^ _{x} %&#",
    "猫が好き\n\x1b[31mred\u202etfel",
    "W" * 300,
    "",
)
"""The worst that models may be called: formulas, marks that turn text round, wide letters, no letters at all."""

Part = TypeVar("Part")


@cache
def diagnosed(name: str) -> Diagnosis:
    return diagnose(read_predictions(PREDICTIONS[name]), read_truth_file(TRUTH), similarity="hico-det")


def altered(found: Part, **parts: Any) -> Part:
    """A diagnosis that says something else in some of its parts."""
    made = copy(found)
    made.__dict__.update(parts)
    return made


def some(number: int, worst: float = 1.0) -> dict[str, Diagnosis]:
    """Different models with names of any kind; ``worst`` stretches what errors cost, and may turn it round."""
    rng = np.random.default_rng(number)
    models = {}
    for k in range(number):
        model = diagnosed(list(PREDICTIONS)[k % len(PREDICTIONS)])
        model.sweeps  # noqa: B018 - measured once, for all that are like it
        deltas = {
            error: Means(*(None if value is None else worst * value * rng.uniform(0.3, 1.7) for value in delta))
            for error, delta in model.deltas.items()
        }
        models[NAMES[k]] = altered(model, deltas=deltas)
    return models
