"""shoe: one evaluator for human-object interaction detection, strict, semantic, and signed.

The public names are loaded when they are first used: ``import shoe`` costs next to nothing, and a command that needs
one part does not pay for the others.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from shoe.version import __version__

if TYPE_CHECKING:
    from shoe.datasets.hico_det import read_ground_truth
    from shoe.datasets.truth import GroundTruth
    from shoe.diagnosis.diagnose import diagnose
    from shoe.diagnosis.diagnosis import Diagnosis
    from shoe.errors import InputError, MissingExtraError, OptionError, ShoeError
    from shoe.frames import Frame
    from shoe.interactions import Interactions, concatenate
    from shoe.metric import Metric
    from shoe.predictions import read_predictions, write_predictions
    from shoe.scoring.score import Report, score
    from shoe.scoring.signature import Signature
    from shoe.similarity import load_similarity

_HOMES = {
    "Diagnosis": "shoe.diagnosis.diagnosis",
    "Frame": "shoe.frames",
    "GroundTruth": "shoe.datasets.truth",
    "InputError": "shoe.errors",
    "Interactions": "shoe.interactions",
    "Metric": "shoe.metric",
    "MissingExtraError": "shoe.errors",
    "OptionError": "shoe.errors",
    "Report": "shoe.scoring.score",
    "ShoeError": "shoe.errors",
    "Signature": "shoe.scoring.signature",
    "concatenate": "shoe.interactions",
    "diagnose": "shoe.diagnosis.diagnose",
    "load_similarity": "shoe.similarity",
    "read_ground_truth": "shoe.datasets.hico_det",
    "read_predictions": "shoe.predictions",
    "score": "shoe.scoring.score",
    "write_predictions": "shoe.predictions",
}

__all__ = [
    "Diagnosis",
    "Frame",
    "GroundTruth",
    "InputError",
    "Interactions",
    "Metric",
    "MissingExtraError",
    "OptionError",
    "Report",
    "ShoeError",
    "Signature",
    "__version__",
    "concatenate",
    "diagnose",
    "load_similarity",
    "read_ground_truth",
    "read_predictions",
    "score",
    "write_predictions",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'shoe' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
