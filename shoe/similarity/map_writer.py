"""Maps written: whole or not at all, beside their place and then moved there.

Beside a map ``NAME`` there is ``.NAME.<random>.tmp/`` while it is written: in it ``new`` grows, and is ``map`` once it
is whole; what was there before is ``old`` until nothing of it is needed. Whoever writes holds a lock in that folder, so
that what a killed process left is told from what another one is at.
"""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from shoe.core.errors import InputError, quote
from shoe.core.io.files import replacing
from shoe.core.io.json import encode
from shoe.lexicon.expressions import Part
from shoe.similarity.ensemble import HIGHEST, check_ensemble
from shoe.similarity.learned import FILE as LEARNED
from shoe.similarity.maps import ABOUT, FILES, VERSION, Rater, SimilarityMap, lexicon_entry
from shoe.similarity.pairs import RatedPairs, format_table
from shoe.similarity.whole_interactions import FILE as WHOLE
from shoe.similarity.whole_interactions import WholeRatings, format_whole


def write_map(
    folder: Path,
    *,
    dataset: str,
    raters: Sequence[Rater],
    pairs: Mapping[Part, RatedPairs],
    ensemble: str = "mean",
    prose: Mapping[str, Any] | None = None,
    name: str | None = None,
    learned: tuple[bytes, Mapping[str, Any]] | None = None,
    whole: WholeRatings | None = None,
    extends: SimilarityMap | None = None,
) -> None:
    """Write a map: beside its place and then moved there, so that nobody ever finds half of it.

    What else stands in the folder of an earlier map stays there.

    Args:
        folder: where to; made if absent, with the folders above it.
        dataset: whose classes were rated.
        raters: R raters, in the order of the ratings.
        pairs: per part of speech, rated pairs in any order.
        ensemble: how :meth:`SimilarityMap.load` combines raters unless told otherwise.
        prose: what else map.json should say: provenance, sources, licence.
        name: the map's name; the folder's if absent.
        learned: predictions for unrated pairs (:func:`shoe.similarity.learned.learned_bytes`), and what map.json is to
            say of them.
        whole: rated whole interactions.
        extends: a shipped map whose raters and ratings the new one is to have, too; they are not written again.

    Raises:
        InputError: if the folder cannot be written.
        OptionError: for an ensemble that does not exist.
    """
    columns = [rater.name for rater in raters]
    about: dict[str, Any] = {
        "format": "shoe similarity map",
        "version": VERSION,
        "name": name or Path(os.path.realpath(folder)).name,
        "dataset": dataset,
        "scale": [0, HIGHEST],
        "ensemble": check_ensemble(ensemble),
        "raters": [rater.entry() for rater in raters],
    }
    if extends is not None:
        about["extends"] = {"name": extends.name, "digest": extends.digest}
    about |= lexicon_entry()
    files: dict[str, bytes] = {}
    for part, file in FILES.items():
        files[file] = format_table(pairs[part].by_name(), columns)
        about[f"{part}s"] = {
            "class_synsets": len(np.unique(pairs[part].class_sense)),
            "pairs": len(pairs[part]),
            "non_zero": int((pairs[part].ratings > 0).any(axis=1).sum()),
            "sha256": hashlib.sha256(files[file]).hexdigest(),
        }
    if learned:
        files[LEARNED] = learned[0]
        about["learned"] = {**learned[1], "sha256": hashlib.sha256(learned[0]).hexdigest()}
    if whole:
        files[WHOLE] = format_whole(whole, columns)
        about["interactions"] = {"pairs": len(whole.rows), "sha256": hashlib.sha256(files[WHOLE]).hexdigest()}
    files[ABOUT] = encode(about | dict(prose or {}), readable=True)
    folder = Path(os.path.realpath(folder))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _beside(folder) as beside:
            made = beside / "new"  # inside, as temporary folders are private and maps are not
            made.mkdir()
            for file, content in files.items():
                with replacing(made / file) as stream:
                    stream.write(content)
            made.rename(beside / "map")
            if folder.is_dir():
                folder.rename(beside / "old")
            _put_in_place(beside, folder)
    except OSError as error:
        raise _unwritable(folder, error) from None


def clear_leftovers(folder: Path) -> None:
    """Put in its place, or remove, what killed processes left beside a map, and see that a map can be written.

    Raises:
        InputError: if none can.
    """
    folder = Path(os.path.realpath(folder))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for beside in folder.parent.glob(f"{glob.escape(_prefix(folder))}*.tmp"):
            with suppress(BlockingIOError, FileNotFoundError):  # another process is at it
                handle = _lock(beside)
                _put_in_place(beside, folder)
                shutil.rmtree(beside)
                os.close(handle)
        with _beside(folder):
            pass
        if folder.is_dir() and os.path.ismount(folder):
            raise OSError(errno.EBUSY, "a mounted folder, which cannot be moved")
    except OSError as error:
        raise _unwritable(folder, error) from None


@contextmanager
def _beside(folder: Path) -> Iterator[Path]:
    """A locked folder of one's own beside a map, removed afterwards."""
    while True:
        beside = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder), suffix=".tmp"))
        with suppress(BlockingIOError, FileNotFoundError):  # another process took it for what was left
            handle = _lock(beside)
            break
    try:
        yield beside
    finally:
        shutil.rmtree(beside)
        os.close(handle)


def _lock(beside: Path) -> int:
    """Lock a folder for as long as this process lives, or the returned handle is open.

    Raises:
        BlockingIOError: if another process holds it.
    """
    from filelock import lock_descriptor  # here: scoring imports this module and locks nothing

    handle = os.open(beside / "lock", os.O_RDWR | os.O_CREAT)
    try:
        if not lock_descriptor(handle, blocking=False):
            raise BlockingIOError
    except OSError:
        os.close(handle)
        raise
    return handle


def _put_in_place(beside: Path, folder: Path) -> None:
    """Move a whole map to where nothing is any more, and what else stood in the old one's folder back to it."""
    if (beside / "map").is_dir() and not folder.exists():
        (beside / "map").rename(folder)
    if (beside / "old").is_dir() and folder.is_dir():
        for path in (beside / "old").iterdir():
            if path.name not in (ABOUT, LEARNED, WHOLE, *FILES.values()) and not (folder / path.name).exists():
                path.rename(folder / path.name)


def _prefix(folder: Path) -> str:
    return f".{folder.name[:32]}.{hashlib.sha256(os.fsencode(folder.name)).hexdigest()[:8]}."


def _unwritable(folder: Path, error: OSError) -> InputError:
    found = error.strerror or str(error)
    return InputError(folder, found=found, expected="a folder that can be written to, and its parent")


def check_is_new(folder: Path) -> None:
    """See that there is nothing yet where a map is to be written: six days of rating may be in the way.

    Raises:
        InputError: if something is there, or the name, which becomes the map's, is none.
    """
    if not Path(os.path.realpath(folder)).name.isprintable():
        raise InputError(quote(str(folder)), found="characters that cannot be printed", expected="a map's name")
    clear_leftovers(folder)
    if os.path.lexists(folder) and not (folder.is_dir() and not any(folder.iterdir())):
        raise InputError(folder, found="something that is there already", expected="the name of a new folder")
