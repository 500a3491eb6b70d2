"""Maps written: a new one whole or not at all, a growing one file by file."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoe.core.errors import InputError, quote
from shoe.io.files import replacing
from shoe.io.json import encode
from shoe.lexicon.expressions import Part
from shoe.similarity.ensemble import HIGHEST, check_ensemble
from shoe.similarity.maps import ABOUT, FILES, VERSION, Rater
from shoe.similarity.pairs import RatedPairs, format_table


def write_map(
    folder: Path,
    *,
    dataset: str,
    raters: Sequence[Rater],
    pairs: Mapping[Part, RatedPairs],
    ensemble: str = "mean",
    prose: Mapping[str, Any] | None = None,
    name: str | None = None,
) -> None:
    """Write a map: beside its place and then moved there, so that nobody ever finds half of it.

    A map that is there already gets its three files replaced, map.json last: should the job die between files, its
    hashes no longer fit, and loading says so. See :func:`check_is_new`.

    Args:
        folder: where to; made if absent, with the folders above it.
        dataset: whose classes were rated.
        raters: R raters, in the order of the ratings.
        pairs: per part of speech, rated pairs in any order.
        ensemble: how :meth:`SimilarityMap.load` combines raters unless told otherwise.
        prose: what else map.json should say: provenance, sources, licence.
        name: the map's name; the folder's if absent.

    Raises:
        InputError: if the folder cannot be written.
        OptionError: for an ensemble that does not exist.
    """
    columns = [rater.name for rater in raters]
    about: dict[str, Any] = {
        "format": "shoe similarity map",
        "version": VERSION,
        "name": name or folder.resolve().name,
        "dataset": dataset,
        "scale": [0, HIGHEST],
        "ensemble": check_ensemble(ensemble),
        "raters": [{"name": r.name, "model": r.model, "note": r.note, **r.details} for r in raters],
    }
    files: dict[str, bytes] = {}
    for part, file in FILES.items():
        files[file] = format_table(pairs[part].by_name(), columns)
        about[f"{part}s"] = {
            "class_synsets": len(np.unique(pairs[part].class_sense)),
            "pairs": len(pairs[part]),
            "non_zero": int((pairs[part].ratings > 0).any(axis=1).sum()),
            "sha256": hashlib.sha256(files[file]).hexdigest(),
        }
    files[ABOUT] = encode(about | dict(prose or {}), readable=True)
    try:
        if folder.is_dir() and any(folder.iterdir()):
            _write_files(folder, files)
            return
        folder.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name[:32]}.", suffix=".tmp"))
        try:
            made = beside / "map"  # inside, as temporary folders are private and maps are not
            made.mkdir()
            _write_files(made, files)
            os.rename(made, folder)
        finally:
            shutil.rmtree(beside)
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(folder, found=found, expected="a folder that can be written to") from None


def check_is_new(folder: Path) -> None:
    """See that there is nothing yet where a map is to be written: six days of rating may be in the way.

    Raises:
        InputError: if something is there, or the name, which becomes the map's, is none.
    """
    if not folder.resolve().name.isprintable():
        raise InputError(quote(str(folder)), found="characters that cannot be printed", expected="a map's name")
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(folder, found="something that is there already", expected="the name of a new folder")


def _write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, content in files.items():
        with replacing(folder / name) as stream:
            stream.write(content)
