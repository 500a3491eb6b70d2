"""shoe: evaluation of human-object interaction detection by exact labels and by semantic similarity.

Public names are imported on first use, so that ``import shoe`` is fast.
"""

from importlib import import_module

from shoe.version import __version__

TYPE_CHECKING = False  # type checkers take it for typing's, whose import would take time
if TYPE_CHECKING:
    from shoe.benchmarks import benchmark
    from shoe.benchmarks.base import Benchmark
    from shoe.benchmarks.signature import Signature
    from shoe.benchmarks.truth import GroundTruth
    from shoe.core.boxes import Coordinates
    from shoe.core.errors import InputError, MissingExtraError, OptionError, ServiceError, ShoeError
    from shoe.core.interactions import Interactions, concatenate
    from shoe.diagnosis.diagnose import Diagnosis, diagnose
    from shoe.lexicon.phrases.parse import parse_phrase
    from shoe.predictions import read_predictions, write_predictions
    from shoe.predictions.truth import read_ground_truth
    from shoe.scoring.score import Report, score
    from shoe.scoring.streaming import Metric
    from shoe.service.client import AsyncClient, Client
    from shoe.similarity import load_similarity

_NAMES_OF_MODULES = {
    "shoe.benchmarks": ["benchmark"],
    "shoe.benchmarks.base": ["Benchmark"],
    "shoe.benchmarks.signature": ["Signature"],
    "shoe.benchmarks.truth": ["GroundTruth"],
    "shoe.core.boxes": ["Coordinates"],
    "shoe.core.errors": ["InputError", "MissingExtraError", "OptionError", "ServiceError", "ShoeError"],
    "shoe.core.interactions": ["Interactions", "concatenate"],
    "shoe.diagnosis.diagnose": ["Diagnosis", "diagnose"],
    "shoe.lexicon.phrases.parse": ["parse_phrase"],
    "shoe.predictions": ["read_predictions", "write_predictions"],
    "shoe.predictions.truth": ["read_ground_truth"],
    "shoe.scoring.streaming": ["Metric"],
    "shoe.scoring.score": ["Report", "score"],
    "shoe.service.client": ["AsyncClient", "Client"],
    "shoe.similarity": ["load_similarity"],
}
_MODULE_OF = {name: module for module, names in _NAMES_OF_MODULES.items() for name in names}

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
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'shoe' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    if not isinstance(value, type):
        from shoe.core.public import public_function

        value = public_function(value)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
