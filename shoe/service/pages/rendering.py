"""Pages of the service, from templates."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoe.page.rendering import environment
from shoe.service.pages.places import Places
from shoe.version import __version__


def render(template: str, places: Places, values: Mapping[str, Any]) -> str:
    """Render a page.

    Args:
        template: file name below ``templates``.
        places: how it leads to other pages.
        values: values of the template.
    """
    found = environment(Path(__file__).parent / "templates").get_template(template)
    return found.render(values, link=places.link, live=places.live, version=__version__)
