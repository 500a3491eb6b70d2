"""Models to draw: findings of the packaged sample, and as many others like them as a test wants."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np

from shoe.benchmarks import read_ground_truth
from shoe.demo import PREDICTIONS, TRUTH
from shoe.diagnosis.deltas import Means
from shoe.diagnosis.diagnose import diagnose
from shoe.diagnosis.diagnosis import Diagnosis
from shoe.predictions import read_predictions
from shoe.report.findings import Errors, Findings, findings

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


@cache
def diagnosed(name: str) -> Diagnosis:
    return diagnose(read_predictions(PREDICTIONS[name]), read_ground_truth(TRUTH))


@cache
def found(name: str) -> Findings:
    return findings(name, diagnosed(name), sweep=True)


def some(number: int, worst: float = 1.0) -> list[Findings]:
    """Different models with names of any kind; ``worst`` stretches what errors cost, and may turn it round."""
    rng = np.random.default_rng(number)
    models = []
    for k in range(number):
        model = found(list(PREDICTIONS)[k % len(PREDICTIONS)])
        assert model.errors is not None
        deltas = {
            error: Means(*(None if value is None else worst * value * rng.uniform(0.3, 1.7) for value in delta))
            for error, delta in model.errors.deltas.items()
        }
        models.append(replace(model, name=NAMES[k], errors=replace(model.errors, deltas=deltas)))
    return models


def errors_of(models: list[Findings]) -> list[tuple[str, Errors]]:
    return [(model.name, model.errors) for model in models if model.errors]
