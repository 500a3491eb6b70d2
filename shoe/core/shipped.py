"""Where the files shipped beside the code are: similarity maps and prompts."""

from pathlib import Path

_PACKAGE = Path(__file__).parent.parent


def shipped(kind: str) -> Path:
    """Return the folder ``similarity_maps`` or ``prompts``: packaged in a wheel, at top level in a checkout."""
    packaged = _PACKAGE / "_shipped" / kind
    return packaged if packaged.is_dir() else _PACKAGE.parent / kind
