"""Similarity maps: what raters said about pairs of synsets, and where it came from.

A map is a folder: ``map.json`` (name, raters, provenance, content hashes), ``verbs.tsv`` and ``objects.tsv``. It keeps
every rater's raw ratings; ensembles are computed when it is used, so that a new rater is one new column.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from shoe.core.errors import InputError, quote, unknown_name
from shoe.core.shipped import shipped
from shoe.io.files import replacing
from shoe.lexicon.expressions import Part
from shoe.lexicon.store import lexicon
from shoe.similarity.ensemble import HIGHEST, check_ensemble, ensemble_values
from shoe.similarity.ratings import PairColumns, Pairs, RatingTable, format_table, read_table

VERSION = 1
FILES: dict[Part, str] = {"verb": "verbs.tsv", "object": "objects.tsv"}
ABOUT = "map.json"


@dataclass(frozen=True, slots=True)
class Rater:
    """Who rated: the column's name, the model (or person, or tool) behind it, and what a reader should know.

    ``details`` is what else map.json says of it, as JSON has it: how it was asked, and how often it refused.
    """

    name: str
    model: str
    note: str = ""
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, eq=False)
class SimilarityMap:
    """Ratings of one dataset's class synsets against other synsets; a :class:`~shoe.similarity.base.Similarity`.

    Attributes:
        name: the map's name.
        dataset: whose classes were rated.
        raters: in the order of the columns.
        tables: ratings per part of speech.
        ensemble: how raters are combined: "mean", "median", "majority" or "majority-mean".
        about: all of map.json, with provenance and licence.
    """

    name: str
    dataset: str
    raters: tuple[Rater, ...]
    tables: dict[Part, RatingTable]
    ensemble: str
    about: dict[str, Any] = field(repr=False)

    @classmethod
    def load(cls, name_or_folder: str | Path, ensemble: str | None = None) -> SimilarityMap:
        """Load a shipped map by name, or any map by its folder.

        Args:
            name_or_folder: "hico-det", or a folder that holds map.json. A shipped name comes first: a folder of the
                same name in the working directory is "./hico-det".
            ensemble: how to combine raters; what map.json says if absent.

        Raises:
            OptionError: for a name that is neither, or an unknown ensemble.
            InputError: naming file, line and field of a map that is broken.
        """
        if not is_map(name_or_folder):
            raise unknown_name("similarity map", str(name_or_folder), shipped_maps())
        is_shipped = name_or_folder in shipped_maps()
        folder = shipped("similarity_maps") / name_or_folder if is_shipped else Path(name_or_folder)
        about = _read_about(folder / ABOUT)
        raters = tuple(Rater(r["name"], r["model"], r.get("note", "")) for r in about["raters"])
        columns = [rater.name for rater in raters]
        return cls(
            name=about["name"],
            dataset=about["dataset"],
            raters=raters,
            tables={
                part: read_table(folder / file, columns, about[f"{part}s"].get("sha256"))
                for part, file in FILES.items()
            },
            ensemble=check_ensemble(ensemble or about["ensemble"]),
            about=about,
        )

    @property
    def digest(self) -> str:
        """8 hex digits of the ratings and the raters' names; prose does not change it, nor does the ensemble."""
        parts = "".join(self.tables[part].digest for part in FILES)
        return hashlib.sha256(parts.encode()).hexdigest()[:8]

    def values(self, part: Part, class_synsets: Sequence[str], synsets: NDArray[np.int32]) -> NDArray[np.float64]:
        """Look up C class senses against S senses; see :class:`~shoe.similarity.base.Similarity`."""
        table, words = self.tables[part], lexicon()
        once = np.array(sorted(set(synsets.tolist())), np.int32)
        if len(once) < len(synsets):
            return self.values(part, class_synsets, once)[:, np.searchsorted(once, synsets)]
        found = np.full((len(class_synsets), len(synsets)), np.nan)
        blocks = [(c, table.classes[name]) for c, name in enumerate(class_synsets) if name in table.classes]
        if blocks and len(synsets):
            rows = np.concatenate([np.arange(block.start, block.stop) for _, block in blocks])
            classes = np.repeat([c for c, _ in blocks], [block.stop - block.start for _, block in blocks])
            wanted = words.keys[synsets]
            order = np.argsort(wanted)
            keys = table.keys[rows]
            place = order[np.minimum(np.searchsorted(wanted, keys, sorter=order), len(wanted) - 1)]
            hits = wanted[place] == keys
            found[classes[hits], place[hits]] = ensemble_values(table.ratings[rows[hits]], self.ensemble)
        own = words.ids_of(class_synsets)
        found[own[:, None] == synsets] = 1
        return found

    def ratings(self, part: Part, class_synset: str, synset: str) -> dict[str, int | None] | None:
        """Say what each rater gave one pair, None where it gave nothing; None for a pair that is not in the map."""
        table = self.tables[part]
        row = table.row(class_synset, synset)
        if row < 0:
            return None
        given = (None if rating < 0 else rating for rating in table.ratings[row].tolist())
        return dict(zip((rater.name for rater in self.raters), given, strict=True))


def write_map(
    folder: Path,
    *,
    name: str,
    dataset: str,
    raters: Sequence[Rater],
    pairs: Mapping[Part, Pairs | PairColumns],
    ensemble: str = "mean",
    **prose: Any,
) -> None:
    """Write a map; a folder that is there already gets its three files replaced.

    map.json comes last: should the job die between files, its hashes no longer fit and loading says so.

    Args:
        folder: where to; made if absent.
        name: the map's name.
        dataset: whose classes were rated.
        raters: R raters, in the order of the ratings.
        pairs: per part of speech, {(class synset, synset): R ratings 0..4 or None}, or the same as columns.
        ensemble: what :meth:`SimilarityMap.load` uses unless told otherwise.
        prose: what else map.json should say: provenance, sources, licence.
    """
    folder.mkdir(parents=True, exist_ok=True)
    columns = [rater.name for rater in raters]
    about: dict[str, Any] = {
        "format": "shoe similarity map",
        "version": VERSION,
        "name": name,
        "dataset": dataset,
        "scale": [0, HIGHEST],
        "ensemble": check_ensemble(ensemble),
        "raters": [{"name": r.name, "model": r.model, "note": r.note, **r.details} for r in raters],
    }
    for part, file in FILES.items():
        text = format_table(pairs[part], columns)
        with replacing(folder / file) as stream:
            stream.write(text)
        about[f"{part}s"] = {**_counts(pairs[part]), "sha256": hashlib.sha256(text).hexdigest()}
    with replacing(folder / ABOUT) as stream:
        stream.write(orjson.dumps(about | prose, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


def _counts(pairs: Pairs | PairColumns) -> dict[str, int]:
    if isinstance(pairs, PairColumns):
        classes, non_zero = len(np.unique(pairs.class_synset)), int((pairs.ratings > 0).any(axis=1).sum())
    else:
        classes, non_zero = len({names[0] for names in pairs}), sum(any(ratings) for ratings in pairs.values())
    return {"class_synsets": classes, "pairs": len(pairs), "non_zero": non_zero}


@cache
def shipped_maps() -> tuple[str, ...]:
    """Return the names of the maps that come with shoe."""
    return tuple(sorted(path.parent.name for path in shipped("similarity_maps").glob(f"*/{ABOUT}")))


def is_map(name_or_folder: str | Path) -> bool:
    """Whether a name or folder is that of a map."""
    return name_or_folder in shipped_maps() or os.path.isfile(Path(name_or_folder) / ABOUT)


def _read_about(path: Path) -> dict[str, Any]:
    try:
        about = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise InputError(path, found=type(error).__name__, expected="a JSON object") from None
    checks: dict[str, tuple[Callable[[Any], bool], str]] = {
        "version": (lambda value: value == VERSION, f"{VERSION}, the version that this shoe reads"),
        "name": (_is_name, "a name"),
        "dataset": (_is_name, "a dataset's name"),
        "scale": (lambda value: value == [0, HIGHEST], f"[0, {HIGHEST}]"),
        "ensemble": (_is_name, "an ensemble's name"),
        "raters": (_are_raters, "one or more raters, each with a name of its own and a model"),
        "verbs": (lambda value: isinstance(value, dict), "an object that describes verbs.tsv"),
        "objects": (lambda value: isinstance(value, dict), "an object that describes objects.tsv"),
    }
    if not isinstance(about, dict):
        raise InputError(path, found=quote(about), expected="a JSON object")
    for name, (holds, expected) in checks.items():
        if not holds(about.get(name)):
            raise InputError(path, field=name, found=quote(about.get(name, "nothing")), expected=expected)
    return about


def _is_name(value: object) -> bool:
    return isinstance(value, str) and value != "" and value.isprintable()


def _are_raters(value: object) -> bool:
    if not isinstance(value, list) or not value:
        return False
    if not all(isinstance(r, dict) and _is_name(r.get("name")) and _is_name(r.get("model")) for r in value):
        return False
    return len({r["name"] for r in value}) == len(value)
