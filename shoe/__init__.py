"""shoe: one evaluator for human-object interaction detection, strict, semantic, and signed.

The public names are loaded when they are first used: ``import shoe`` costs next to nothing, and a command that needs
one part does not pay for the others.
"""

from importlib import import_module

from shoe.version import __version__

TYPE_CHECKING = False  # as typing has it, which takes a while to import
if TYPE_CHECKING:
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.base import Benchmark
    from shoe.benchmarks.protocols import Signature
    from shoe.benchmarks.truth import GroundTruth
    from shoe.core.boxes import Coordinates
    from shoe.core.errors import InputError, MissingExtraError, OptionError, ServiceError, ShoeError
    from shoe.core.interactions import Interactions, concatenate
    from shoe.diagnosis.diagnose import Diagnosis, diagnose
    from shoe.lexicon.phrases.parse import parse_phrase
    from shoe.predictions import read_predictions, write_predictions
    from shoe.predictions.truth import read_ground_truth
    from shoe.scoring.metric import Metric
    from shoe.scoring.score import Report, score
    from shoe.service.client.client import AsyncClient, Client
    from shoe.similarity import load_similarity

_HOMES = {
    "AsyncClient": "shoe.service.client.client",
    "Client": "shoe.service.client.client",
    "Diagnosis": "shoe.diagnosis.diagnose",
    "Coordinates": "shoe.core.boxes",
    "Benchmark": "shoe.benchmarks.base",
    "GroundTruth": "shoe.benchmarks.truth",
    "InputError": "shoe.core.errors",
    "Interactions": "shoe.core.interactions",
    "Metric": "shoe.scoring.metric",
    "MissingExtraError": "shoe.core.errors",
    "OptionError": "shoe.core.errors",
    "Report": "shoe.scoring.score",
    "ServiceError": "shoe.core.errors",
    "ShoeError": "shoe.core.errors",
    "Signature": "shoe.benchmarks.protocols",
    "benchmark": "shoe.benchmarks",
    "concatenate": "shoe.core.interactions",
    "diagnose": "shoe.diagnosis.diagnose",
    "load_similarity": "shoe.similarity",
    "parse_phrase": "shoe.lexicon.phrases.parse",
    "read_ground_truth": "shoe.predictions.truth",
    "read_predictions": "shoe.predictions",
    "score": "shoe.scoring.score",
    "write_predictions": "shoe.predictions",
}

__all__ = [
    "AsyncClient",
    "Benchmark",
    "Client",
    "Coordinates",
    "Diagnosis",
    "GroundTruth",
    "InputError",
    "Interactions",
    "Metric",
    "MissingExtraError",
    "OptionError",
    "Report",
    "ServiceError",
    "ShoeError",
    "Signature",
    "__version__",
    "benchmark",
    "concatenate",
    "diagnose",
    "load_similarity",
    "parse_phrase",
    "read_ground_truth",
    "read_predictions",
    "score",
    "write_predictions",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'shoe' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    if not isinstance(value, type):
        from shoe.core.public import checked

        value = checked(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
