"""Engines are told apart by nothing but their speed: the same results, errors and resilience from each."""

import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from shutil import copyfile, copytree
from typing import Any

import numpy as np
import pytest

import shoe
from shoe.comparison.compare import compare
from shoe.comparison.ranked import BATCH
from shoe.comparison.run import Run
from shoe.comparison.sweeps import sweep
from shoe.core.errors import InputError, OptionError, ShoeError
from shoe.core.io.files import data_folder
from shoe.core.io.json import encode
from shoe.demo import PREDICTIONS, TRUTH
from shoe.engines import engine_of
from shoe.engines.base import SERIAL, Engine, Shard
from shoe.engines.processes import Processes
from shoe.lexicon.store import use_lexicon, wordnet
from shoe.report.comparison import Compare, Sweep, as_latex, comparison_csv
from shoe.report.many_files import score_many
from tests.cli import run as cli
from tests.engines import work
from tests.engines.heads import NO_RAY
from tests.engines.work import ASKED
from tests.lexicon.test_other_languages import words

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def remote(test: Any) -> Any:
    return pytest.mark.slow(pytest.mark.ray(test))


@pytest.fixture(scope="module", params=["processes:2", "ray"])
def engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """Engines of other processes; Ray is started once for all tests, as that takes ten seconds."""
    if request.param != "ray":
        yield engine_of(request.param)
        return
    if find_spec("ray") is None:
        pytest.skip(NO_RAY)
    from shoe.engines.ray_cluster import connect

    with connect():
        yield engine_of("ray")


def test_every_piece_is_of_one_part() -> None:
    hashes = np.random.default_rng(1).integers(0, 2**64, 1000, np.uint64)
    for count in (1, 2, 7, 16):
        held = np.stack([Shard(number, count).holds(hashes) for number in range(1, count + 1)])
        assert (held.sum(axis=0) == 1).all()
        assert held.sum(axis=1).min() > 1000 / count / 2
        last = Shard.parse(f"{count}/{count}")
        assert [last.holds_one(int(one).to_bytes(8, "big")) for one in hashes] == held[-1].tolist()


@pytest.mark.parametrize("text", ["", "serial:2", "processes:", "processes:0", "processes:x", "ray:", "dask", "Serial"])
def test_what_is_no_engine_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=f"--engine: found '{text}', expected serial, processes"):
        engine_of(text)


@remote
def test_all_engines_give_what_this_process_gives(engine: Engine) -> None:
    shared, keys = np.arange(3000.0).reshape(30, 100), list(range(100))
    wanted = {key: value for key, (_, value) in SERIAL.map(work.rows, keys, shared)}
    found = list(engine.map(work.rows, keys, shared))
    assert {key: value for key, (_, value) in found} == wanted
    assert len(found) == len(keys)
    assert os.getpid() not in {process for _, (process, _) in found}
    assert list(engine.map(work.rows, [], shared)) == []
    # Nobody may write to what is shared: that scoring, resampling and sweeps work there shows that they do not.
    with pytest.raises(ValueError, match="read-only"):
        dict(engine.map(work.write, [1], shared))


@remote
def test_what_the_work_raises_ends_it_here(engine: Engine) -> None:
    with pytest.raises(InputError, match="found three,") as caught:
        dict(engine.map(work.refuse, range(9), "there"))
    assert (caught.value.source, caught.value.record) == ("there", 3)


@remote
def test_workers_that_are_killed_cost_no_result(engine: Engine, tmp_path: Path) -> None:
    keys = [5, 10, 15, 20, *range(1, 5)]  # four of them kill, and come first
    assert dict(engine.map(work.die_once, keys, str(tmp_path))) == {key: -key for key in keys}
    with pytest.raises(ShoeError, match="3 workers died"):
        dict(engine.map(work.die, [1], None))


@pytest.mark.slow
def test_processes_make_room_for_others() -> None:
    found = list(Processes(1).map(work.rows, range(100), np.ones((2, 2))))
    assert len({process for _, (process, _) in found}) == 2


def parts(folder: Path, text: str, count: int) -> list[Path]:
    lines, files = text.splitlines(keepends=True), [folder / f"{number}.jsonl" for number in range(count)]
    for number, path in enumerate(files):
        path.write_text("".join(lines[number::count]))
    return files


@remote
def test_scores_of_many_files_are_those_of_one_command_for_each(engine: Engine, tmp_path: Path) -> None:
    files = parts(tmp_path, PREDICTIONS["free text"].read_text(), 5)
    made = {}
    for name in ("serial", "ray" if engine.name == "ray" else "processes:2"):
        done = cli.run("score", *files, "-g", TRUTH, "--results", tmp_path / name, "--engine", name)
        assert (done.returncode, done.stderr) == (0, "")
        made[name] = {path.name: path.read_bytes() for path in (tmp_path / name).iterdir()}
    one, other = made.values()
    assert one == other
    alone = cli.run("score", files[2], "-g", TRUTH, "--json", "-").stdout
    assert alone.encode() in one.values()


@remote
def test_comparisons_are_those_of_this_process(engine: Engine) -> None:
    truth = shoe.read_ground_truth(TRUTH)
    reports = [shoe.score(shoe.read_predictions(PREDICTIONS[name]), truth) for name in ("free text", "detector")]
    runs = [Run.from_report(report, name) for report, name in zip(reports, ("a", "b"), strict=True)]

    def told(by: Engine) -> tuple[bytes, bytes, str, Sweep]:
        found = compare(runs, resamples=2 * BATCH + 1, engine=by)
        swept = Sweep.from_points(["a", "b"], sweep(reports, by), [])
        return encode(Compare.from_comparison(found)), comparison_csv(found), as_latex(found), swept

    assert told(engine) == told(SERIAL)


@remote
def test_workers_look_words_up_where_this_process_does(engine: Engine, tmp_path: Path) -> None:
    """In a lexicon that is in no file and no environment variable of theirs."""
    files = parts(tmp_path, PREDICTIONS["free text"].read_text().replace("rid", "mont"), 2)
    made = {}
    for name, used in (("english", wordnet()), ("french", words(tmp_path))):
        for by in (SERIAL, engine):
            with use_lexicon(used):
                found = score_many(files, ASKED, tmp_path / f"{name} {by.name}", by)
                assert dict(engine.map(work.lexicon_in_use, [0], None)) == {0: used.digest}
            assert (found.scored, found.failed) == (2, {})
            made[name, by.name] = {place.name: place.read_bytes() for place in found.results.values()}
    for name in ("english", "french"):
        assert made[name, "serial"] == made[name, engine.name]
    english, french = made["english", engine.name], made["french", engine.name]
    assert not english.keys() & french.keys()  # as their keys are others: one folder holds both
    assert not {*english.values()} & {*french.values()}


@remote
def test_files_and_maps_are_found_from_the_folder_that_they_are_named_in(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    copyfile(PREDICTIONS["detector"], tmp_path / "in" / "a.json")
    (tmp_path / "in" / "b.json").write_text("[{")
    copytree(data_folder("similarity_maps") / "hico-det", tmp_path / "map")
    made = []
    for name in ("serial", engine.name):
        options = ("--similarity", "map", "--results", name, "--engine", name)
        done = cli.run("score", "in/a.json", "in/b.json", "in/c.json", "-g", TRUTH, *options, folder=tmp_path)
        assert done.returncode == 2
        broken, missing = sorted(done.stderr.splitlines())
        assert broken.startswith("shoe: in/b.json: line 1, column 3: ")
        assert missing.startswith("shoe: in/c.json: found no")
        (place,) = (tmp_path / name).iterdir()
        made.append((place.name, place.read_bytes()))
    assert made[0] == made[1]
