"""shoe: one evaluator for human-object interaction detection, strict, semantic, and signed."""

__version__ = "0.1.0"
