"""shoe: one evaluator for human-object interaction detection, strict, semantic, and signed."""

from shoe.version import __version__

__all__ = ["__version__"]
