"""Styles, scripts and pictures of the pages, which lie in the package."""

from __future__ import annotations

from pathlib import Path

import shoe.page

_OF_REPORTS = Path(shoe.page.__file__).parent / "static" / "page.css"
STATIC = {_OF_REPORTS.name: _OF_REPORTS} | {
    path.name: path for path in (Path(__file__).parent / "static").iterdir() if path.is_file()
}
"""Where each lies, by its name; reports and pages share a style sheet."""
