"""Build hook: put the top-level data folders into the wheel, not into an editable install (it reads them in place)."""

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = ("similarity_maps", "prompts")


class PackageData(BuildHookInterface[Any]):
    """Adds ``force_include`` entries to standard builds; the counterpart of ``shoe.core.io.files``."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called by hatchling before each build of the wheel target."""
        if version == "standard":
            build_data["force_include"].update({folder: f"shoe/_shipped/{folder}" for folder in FOLDERS})
