"""Many prediction files scored by one ground truth: results of each in a file, whose name has a key of all behind them.

Who scores which file, when, and how often makes no difference: equal keys are equal bytes.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.text import Text

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import LONGEST_MESSAGE, InputError, ShoeError, printable
from shoe.core.io.files import is_stream, read_bytes, replacing
from shoe.core.io.json import read_typed
from shoe.engines.base import Engine, Shard, content_digest
from shoe.lexicon.store import lexicon
from shoe.report.score_files import Score, as_json
from shoe.report.text import model_names, percent, table
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.file_options import ScoringOptions
from shoe.similarity import Similarity, similarity_for
from shoe.version import __version__

_LONGEST_NAME = 80
"""Bytes of a prediction file's name in that of its results."""
_KEY = 16
"""Hex digits of a key in a file's name."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of some files.

    Attributes:
        results: by prediction file, where its results are; of those that are there.
        scored: how many of them are new.
        failed: why a file could not be scored, by its path, in their order.
        others: how many files are other parts' and not there yet.
    """

    results: Mapping[Path, Path]
    scored: int
    failed: Mapping[Path, str]
    others: int


@dataclass(frozen=True, slots=True)
class _Common:
    """What scoring each of the files takes; nothing else is read for it, wherever it is done."""

    asked: ScoringOptions
    truth: GroundTruth
    similarity: Similarity
    bounds: bool


def score_many(
    files: Sequence[Path],
    asked: ScoringOptions,
    folder: Path,
    engine: Engine,
    *,
    shard: Shard | None = None,
    bounds: bool = False,
    tell: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Score files that have no results yet, and keep for each what ``shoe score FILE --json`` writes.

    Args:
        files: of predictions, each where workers can read it, too.
        asked: how to score.
        folder: of results; made where there is none. Other processes may write to it at the same time.
        engine: who scores.
        shard: the part of the files that is scored here, by a hash of their content; None for all.
        bounds: whether to say what the map leaves open.
        tell: hears how far it is.

    Raises:
        ShoeError: if the ground truth or the map cannot be read, or results cannot be written.
    """
    _check_apart(folder, files)
    similarity = similarity_for(benchmark(asked.dataset), asked.similarity, "mean")
    settings = _settings(asked, similarity, bounds=bounds)
    _make(folder)
    digests, failed = _digests(files)
    places = {path: folder / _name(path, settings, digest) for path, digest in digests.items()}
    wanted = {path: place for path, place in places.items() if not place.exists()}
    mine = {os.path.abspath(path): path for path in wanted if shard is None or shard.holds_one(digests[path])}
    scored = 0
    if mine:
        tell(f"reading {asked.ground_truth}")
        common = _Common(asked, asked.truth(), similarity, bounds)
        keys = [(name, digests[path]) for name, path in mine.items()]
        for number, ((name, _), result) in enumerate(engine.map(_scored, keys, common), 1):
            tell(f"{number:,} of {len(mine):,} files scored")
            path = mine[name]
            if isinstance(result, str):
                by_workers, by_user = (printable(each, longest=LONGEST_MESSAGE) for each in (name, str(path)))
                failed[path] = result.replace(by_workers, by_user)
                continue
            with replacing(places[path]) as stream:
                stream.write(result)
            scored += 1
    there = {path: place for path, place in places.items() if place.exists()}
    why = {path: failed[path] for path in files if path in failed}
    return Outcome(there, scored, why, len(wanted) - len(mine))


def print_many(results: Mapping[Path, Path], to: Console) -> None:
    """Print a row of figures for each file."""
    made = table("predictions", "mAP", "rare", "non-rare", "SHOE-mAP", "SHOE-mF1", "GT missed", "unmatched")
    for name, place in zip(model_names(list(results)), results.values(), strict=True):
        report = read_typed(place, read_bytes(place), Score, lambda *_: "the report")
        figures = [getattr(report.strict, name, None) for name in ("map", "map_rare", "map_non_rare")]
        of_meaning = ("map", "mf1", "gt_miss_rate", "prediction_miss_rate")
        figures += [getattr(report.semantic, name, None) for name in of_meaning]
        made.add_row(Text(printable(name)), *map(percent, figures))
    to.print(made)


def _scored(common: _Common, key: tuple[str, bytes]) -> bytes | str:
    """The results of the file of a name, whose content has a digest, or why there are none."""
    asked, path = common.asked, Path(key[0])
    try:
        table, notes = asked.read(path, common.truth)
        if content_digest(read_bytes(path)) != key[1]:
            raise InputError(path, found="other content than the command did", expected="the same, wherever it is read")
        report = asked.score(table, asked.part(common.truth, [table]), notes, common.similarity)
        return as_json(report, Evidence.of(report, bounds=common.bounds))
    except ShoeError as error:
        return str(error)


def _settings(asked: ScoringOptions, similarity: Similarity, *, bounds: bool) -> bytes:
    """A digest of all that results follow from but for the predictions: contents, not names, of files."""
    said: dict[str, Any] = {**asdict(asked), "bounds": bounds, "version": __version__}
    split = Path(asked.split) if asked.split else None
    files = {"ground_truth": asked.ground_truth, "classes": asked.classes, "image_labels": asked.image_labels}
    for name, path in {**files, "split": split}.items():
        if path is not None and (name != "split" or path.is_file()):
            said[name] = content_digest(read_bytes(path)).hex()
    said |= {"lexicon": lexicon().digest, "similarity": similarity.digest}
    return hashlib.blake2b(repr(sorted(said.items())).encode(), digest_size=16).digest()


def _digests(files: Sequence[Path]) -> tuple[dict[Path, bytes], dict[Path, str]]:
    """A digest of each file's content, and why others cannot be read."""
    digests, failed = {}, {}
    for path in files:
        try:
            if is_stream(path):
                raise InputError(path, found="what can be read only once", expected="a file, as --results reads twice")
            digests[path] = content_digest(read_bytes(path))
        except InputError as error:
            failed[path] = str(error)
    return digests, failed


def _name(path: Path, settings: bytes, digest: bytes) -> str:
    key = hashlib.blake2b(settings + digest).hexdigest()[:_KEY]
    stem = os.fsencode(path.stem)[:_LONGEST_NAME].decode("utf-8", "ignore")
    return f"{stem}-{key}.json"


def _check_apart(folder: Path, files: Sequence[Path]) -> None:
    """See that what lies in the folder afterwards is not taken for predictions the next time."""
    inside = next((path for path in files if os.path.realpath(path.parent) == os.path.realpath(folder)), None)
    if inside is not None:
        found = f"the folder of {inside}"
        raise InputError(folder, found=found, expected="a folder for results alone", hint="--results takes one")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError(folder, found=found, expected="a folder for results, or a place for one") from None
