"""What commands of a service share: its folder, and what may be missing."""

from __future__ import annotations

import gc
import logging
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from shoe.service.folder import Folder

FolderPath = Annotated[Path, typer.Argument(help="The service's folder.")]


@contextmanager
def serving() -> Iterator[None]:
    """Within it, the service's own libraries may be missing; what goes wrong in the background is one line each."""
    from shoe.core.errors import MissingExtraError

    gc.enable()  # other commands end before it pays
    logging.basicConfig(format="shoe: %(message)s", level=logging.WARNING)
    try:
        yield
    except ModuleNotFoundError as error:
        if str(error.name).split(".")[0] in ("fastapi", "uvicorn", "jinja2", "zstandard", "starlette", "h11"):
            raise MissingExtraError("shoe serve", "serve") from None
        raise


@contextmanager
def opened(
    folder: Path, action: str | None = None, object: str | None = None, create: bool = False
) -> Iterator[Folder]:
    """The folder of a service, which no mistyped name makes; what is done to it goes into its audit log."""
    with serving():
        from shoe.service import audit
        from shoe.service.folder import Folder

        made = Folder.open(folder, create)
        try:
            yield made
            if action is not None:
                audit.record(made, audit.COMMAND_LINE, action, object)
        finally:
            made.close()
