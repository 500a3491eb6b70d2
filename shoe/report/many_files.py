"""Scoring of many prediction files with one ground truth.

Names of result files contain a digest of everything that the results depend on: equal names mean equal content.
"""

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from shoe.benchmarks import benchmark
from shoe.benchmarks.truth import GroundTruth
from shoe.core.errors import LONGEST_MESSAGE, InputError, ShoeError, printable
from shoe.core.io.files import atomic_write, is_stream, make_folder, read_bytes
from shoe.core.io.json import read_typed
from shoe.engines.base import Engine, Shard, content_digest
from shoe.lexicon.store import lexicon
from shoe.report.score import Score, as_json, comparison_table
from shoe.report.text import model_names
from shoe.scoring.evidence.collect import Evidence
from shoe.scoring.file_options import ScoringOptions
from shoe.similarity import Similarity, similarity_for
from shoe.version import __version__


class Outcome(NamedTuple):
    """Result of :func:`score_many`.

    Attributes:
        results: result file by prediction file, for all results that exist.
        scored: number of new results.
        failed: reason why a file could not be scored, by its path, in the order of the files.
        others: number of files that belong to other shards and have no results yet.
    """

    results: Mapping[Path, Path]
    scored: int
    failed: Mapping[Path, str]
    others: int


class _Common(NamedTuple):
    options: ScoringOptions
    truth: GroundTruth
    similarity: Similarity
    bounds: bool


def score_many(
    files: Sequence[Path],
    options: ScoringOptions,
    folder: Path,
    engine: Engine,
    *,
    shard: Shard | None = None,
    bounds: bool = False,
    progress: Callable[[str], None] = lambda _: None,
) -> Outcome:
    """Score the files that have no results yet, and write for each the output of ``shoe score FILE --json``.

    Args:
        folder: folder for results, created if needed. Other processes may write to it at the same time.
        shard: part of the files to score, chosen by a hash of their content; None for all.
        bounds: whether to compute bounds due to unrated pairs and the order of lines.

    Raises:
        ShoeError: if the ground truth or the map cannot be read, results cannot be written, or ``folder`` contains one
            of the files. Errors of single prediction files are not raised; see ``failed`` of the outcome.
    """
    inside = next((path for path in files if os.path.realpath(path.parent) == os.path.realpath(folder)), None)
    if inside is not None:  # the next run would take the results for predictions
        found = f"the folder of {inside}"
        raise InputError(folder, found=found, expected="a folder without prediction files", hint="change --results")
    similarity = similarity_for(benchmark(options.dataset), options.similarity, "mean")
    settings = _settings(options, similarity, bounds=bounds)
    make_folder(folder, "a folder for results that exists or can be created")
    digests, failed = {}, {}
    for path in files:
        try:
            if is_stream(path):
                raise InputError(path, found="a stream", expected="a regular file, because --results reads it twice")
            digests[path] = content_digest(read_bytes(path))
        except InputError as error:
            failed[path] = str(error)
    places = {}
    for path, digest in digests.items():
        stem = os.fsencode(path.stem)[:80].decode("utf-8", "ignore")  # names of files may have 255 bytes
        places[path] = folder / f"{stem}-{hashlib.blake2b(settings + digest).hexdigest()[:16]}.json"
    wanted = {path: place for path, place in places.items() if not place.exists()}
    mine = {os.path.abspath(path): path for path in wanted if shard is None or shard.holds_one(digests[path])}
    scored = 0
    if mine:
        progress(f"reading {options.ground_truth}")
        common = _Common(options, options.truth(), similarity, bounds)
        keys = [(name, digests[path]) for name, path in mine.items()]
        for number, ((name, _), result) in enumerate(engine.map(_scored, keys, common), 1):
            progress(f"{number:,} of {len(mine):,} files scored")
            path = mine[name]
            if isinstance(result, str):
                by_workers, by_user = (printable(each, longest=LONGEST_MESSAGE) for each in (name, str(path)))
                failed[path] = result.replace(by_workers, by_user)
                continue
            with atomic_write(places[path]) as stream:
                stream.write(result)
            scored += 1
    results = {path: place for path, place in places.items() if place.exists()}
    return Outcome(results, scored, {p: failed[p] for p in files if p in failed}, len(wanted) - len(mine))


def print_many(results: Mapping[Path, Path], to: Console) -> None:
    """Read result files, given by prediction file, and print a table of metrics with a row per prediction file."""
    reports = [read_typed(path, read_bytes(path), Score, lambda *_: "the report") for path in results.values()]
    to.print(comparison_table(dict(zip(model_names(list(results)), reports, strict=True))))


def _scored(common: _Common, key: tuple[str, bytes]) -> bytes | str:
    """Return the results of a file as JSON, or an error message; ``key`` is its path and the digest of its content."""
    options, path = common.options, Path(key[0])
    try:
        table, notes = options.read(path, common.truth)
        if content_digest(read_bytes(path)) != key[1]:
            raise InputError(
                path, found="content that changed during the run", expected="equal content for all workers"
            )
        report = options.score(table, options.part(common.truth, [table]), notes, common.similarity)
        return as_json(report, Evidence.from_report(report, bounds=common.bounds))
    except ShoeError as error:
        return str(error)


def _settings(options: ScoringOptions, similarity: Similarity, *, bounds: bool) -> bytes:
    """Return a digest of all that results depend on, except predictions: options, contents of files, and version."""
    facts: dict[str, Any] = {**asdict(options), "bounds": bounds, "version": __version__}
    for name in ("ground_truth", "classes", "image_labels", "split"):
        if (value := getattr(options, name)) and (name != "split" or Path(value).is_file()):
            facts[name] = content_digest(read_bytes(value)).hex()
    facts |= {"lexicon": lexicon().digest, "similarity": similarity.digest}
    return hashlib.blake2b(repr(sorted(facts.items())).encode(), digest_size=16).digest()
