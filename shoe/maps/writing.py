"""A new map, whole or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, quote
from shoe.lexicon.expressions import Part
from shoe.similarity import Rater, write_map
from shoe.similarity.ratings import Pairs


def check_is_new(folder: Path) -> None:
    """See that there is nothing yet where a map is to be written: six days of rating may be in the way.

    Raises:
        InputError: if something is there, or the name, which becomes the map's, is none.
    """
    if not folder.resolve().name.isprintable():
        raise InputError(quote(str(folder)), found="characters that cannot be printed", expected="a map's name")
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(folder, found="something that is there already", expected="the name of a new folder")


def write_new_map(
    folder: Path,
    *,
    dataset: str,
    raters: Sequence[Rater],
    pairs: Mapping[Part, Pairs],
    ensemble: str = "mean",
    prose: Mapping[str, Any],
) -> None:
    """Write a map beside its place and move it there: nobody ever finds half of it.

    Args:
        folder: where to; made, with the folders above it. Its name becomes the map's.
        dataset: whose classes were rated.
        raters: R raters, in the order of the ratings.
        pairs: per part of speech, {(class synset, synset): R ratings 0..4 or None}.
        ensemble: how the map says that raters are combined.
        prose: what else map.json should say.

    Raises:
        InputError: if something is there already, or the folder cannot be written.
    """
    check_is_new(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:32]}.", suffix=".tmp"))
        try:
            made = beside / "map"  # inside, as temporary folders are private and maps are not
            name = folder.resolve().name
            write_map(made, name=name, dataset=dataset, raters=raters, pairs=pairs, ensemble=ensemble, **prose)
            os.rename(made, folder)
        finally:
            shutil.rmtree(beside)
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(folder, found=found, expected="a folder that can be written") from None
