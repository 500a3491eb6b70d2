"""``shoe map cache``: show, export or empty the user's cache of paid answers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Option

from shoe.cli import options
from shoe.cli.output import say
from shoe.core.errors import OptionError, pluralize


def cache(
    folder: options.Cache = None,
    export: Annotated[
        Path | None, Option(metavar="DIR", help="Write all answers into this folder, as one ledger per model.")
    ] = None,
    clear: Annotated[
        bool, Option("--clear", help="Delete all answers from the cache; ledgers are not changed.")
    ] = False,
) -> None:
    """Show the size of your cache of models' answers, and the number of answers of each model.

    Example: shoe map cache --export for-a-colleague

    map build, map complete and predict take answers from the cache before they send requests, and add the answers that
    they paid for. The cache is in the folder shoe-answers of --cache, which only you can read.
    """
    from shoe.llm.cache import AnswerStore, cache_folder, clear as clear_cache

    if export and clear:
        raise OptionError("--export and --clear are mutually exclusive: export first, then clear")
    place = cache_folder(folder)
    if place is None or not place.is_dir():
        print("the cache is off" if place is None else f"{place}: no answers")
        return
    if clear:
        clear_cache(place)
        print(f"{place}: empty")
        return
    store = AnswerStore(place, say)
    for path, count in store.export(export) if export else ():
        print(f"{path}: {pluralize(count, 'answer')}")
    if export is None:
        print(f"{place}: {sum(path.stat().st_size for path in place.glob('cache.db*')) / 1e6:,.1f} MB")
        for identity, count in store.summary().values():
            revision = f" ({identity['revision']})" if identity.get("revision") else ""
            print(f"{identity['model']}{revision}: {pluralize(count, 'answer')}")
