"""Version of the package; every signature contains it."""

__version__ = "0.2.0"
