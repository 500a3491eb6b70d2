"""Schema of ``shoe calibration``."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from shoe.report.schemas.kinds import Closed, Count, Fraction, MaybeCount, MaybeFraction


class ScoreBin(Closed):
    """Predictions whose scores lie between two bounds."""

    low: Fraction
    high: Fraction
    predictions: Count
    score: MaybeFraction = UNSET
    right: MaybeFraction = UNSET


class ProtocolCalibration(Closed):
    """How scores and credits go together under one protocol."""

    protocol: str
    signature: str
    map: MaybeFraction = UNSET
    ranked_predictions: MaybeCount = UNSET
    expected_calibration_error: MaybeFraction = UNSET
    tied_share: MaybeFraction = UNSET
    bins: list[ScoreBin] | UnsetType = UNSET


class ModelCalibration(Closed):
    """One file of predictions."""

    predictions: str
    protocols: list[ProtocolCalibration]


class CalibrationReport(Closed):
    """All files, in the order given."""

    models: list[ModelCalibration]
