"""A diagnosis as JSON (docs/diagnosis.md): fractions 0..1, absent parts absent, never null."""

from __future__ import annotations

from collections.abc import Mapping

from msgspec.structs import asdict

from shoe.benchmarks.truth import GroundTruth
from shoe.core.documents import Document
from shoe.diagnosis.diagnose import Diagnosis
from shoe.diagnosis.pairs import PairDiagnosis
from shoe.diagnosis.record import ModelFigures

Models = Mapping[str, Diagnosis | PairDiagnosis]
"""Diagnoses by what the models are called."""


class Model(ModelFigures, frozen=True):
    """The diagnosis of one of several models; its name is that of its file, without the ending."""

    name: str


class OneModel(ModelFigures, frozen=True):
    """The diagnosis of one model, and what it was diagnosed on."""

    dataset: str
    split: str
    name: str


class SeveralModels(Document, frozen=True):
    """The diagnoses of several models, and what they were diagnosed on."""

    dataset: str
    split: str
    models: list[Model]


def document(models: Models, truth: GroundTruth, *, sweeps: bool = False) -> OneModel | SeveralModels:
    """Collect the figures of one model, or of several.

    Args:
        models: one or several.
        truth: the ground truth of all.
        sweeps: whether to thin out pairs at several thresholds too.
    """
    where = truth.classes.name, truth.split
    figures = {name: asdict(found.figures(sweeps=sweeps)) for name, found in models.items()}
    if len(figures) > 1:
        return SeveralModels(*where, [Model(name, **of) for name, of in figures.items()])
    ((name, of),) = figures.items()
    return OneModel(*where, name, **of)
