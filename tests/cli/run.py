"""The command line, called in this process: output, exit code and files as a user sees them, without a new interpreter.

A real process (``COMMAND``, ``process``) is for what only one has: signals, pipes, terminals, kills, start-up imports.
"""

import gc
import io
import os
import signal
import subprocess
import sys
import traceback
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from unittest import mock

import msgspec
import orjson

from shoe.cli import main
from shoe.report.schemas import SCHEMAS, json_schema

COMMAND = [sys.executable, "-c", "from shoe.cli import main; main()"]


def run(
    *arguments: object, folder: Path | None = None, environment: Mapping[str, str] | None = None
) -> CompletedProcess[str]:
    """Call ``shoe ARGUMENT...`` in this process, in a folder, with variables added to the environment.

    What a command changes (folder, environment, garbage collection, signals, hooks) is as before afterwards; an
    exception that would end the process with a traceback becomes that traceback and exit code 1.
    """
    command = ["shoe", *map(str, arguments)]
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    variables = {"COLUMNS": "80", **(environment or {})}
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    with (
        chdir(folder or Path.cwd()),
        mock.patch.dict(os.environ, variables),
        mock.patch.object(sys, "argv", command),
        mock.patch.object(sys, "unraisablehook", sys.unraisablehook),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            main()
            code = 0
        except SystemExit as end:
            code = _code(end.code, err)
        except Exception:
            traceback.print_exc(file=err)
            code = 1
        finally:
            gc.enable()
            for number, handler in handlers.items():
                signal.signal(number, handler)
    done = CompletedProcess(command, code, _text(out), _text(err))
    if code == 0 and "--json" in arguments:
        _see_that_json_is_as_published(done, str(arguments[arguments.index("--json") + 1]), folder or Path())
    return done


def _see_that_json_is_as_published(done: CompletedProcess[str], target: str, folder: Path) -> None:
    """No key is missing, new or null, and no value is of another kind than one of the command's documents says."""
    found = orjson.loads(done.stdout if target == "-" else (folder / target).read_bytes())
    command = " ".join(done.args[1:3]) if done.args[1] in ("dataset", "bongard", "map", "study") else done.args[1]
    problems = []
    for kind in SCHEMAS[command]:
        try:
            read = msgspec.convert(found, kind)
        except msgspec.ValidationError as error:
            problems.append(str(error))
        else:
            # What is null, or as its default, would not be written again.
            assert orjson.loads(msgspec.json.encode(read)) == found
    assert len(problems) < len(SCHEMAS[command]), problems


def declared_keys(command: str) -> set[str]:
    """All keys that a command's schema has, as paths: "semantic.map", "differences.bootstrap.p"."""
    schema = json_schema(command)
    return set().union(*(_paths(kind, schema["$defs"], "") for kind in schema.get("oneOf", [schema])))


def _paths(kind: dict[str, Any], definitions: dict[str, Any], prefix: str) -> Iterator[str]:
    kind = definitions[kind["$ref"].split("/")[-1]] if "$ref" in kind else kind
    for key, below in kind.get("properties", {}).items():
        yield prefix + key
        yield from _paths(below, definitions, f"{prefix}{key}.")
    for below in ("items", "additionalProperties"):
        if isinstance(kind.get(below), dict):
            yield from _paths(kind[below], definitions, prefix)


def keys_of(value: Any, declared: set[str], prefix: str = "") -> Iterator[str]:
    """All keys of a document as such paths; keys that are names of protocols, models or words are left out."""
    if isinstance(value, list):
        for each in value:
            yield from keys_of(each, declared, prefix)
    elif isinstance(value, dict):
        for key, below in value.items():
            path = prefix + key
            yield from [path] if path in declared else []
            yield from keys_of(below, declared, f"{path}." if path in declared else prefix)


def _code(code: Any, err: io.TextIOWrapper) -> int:
    if code is None or isinstance(code, int):
        return code or 0
    print(code, file=err)
    return 1


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode()


def process(*arguments: str | Path, **settings: Any) -> CompletedProcess[str]:
    """Run ``shoe ARGUMENT...`` as a process of its own: about 0.3 s of CPU time before it does anything."""
    return subprocess.run([*COMMAND, *map(str, arguments)], capture_output=True, text=True, **settings)


def output(*arguments: object, **settings: Any) -> str:
    """What a command prints, which must succeed and say nothing else."""
    done = run(*arguments, **settings)
    assert (done.returncode, done.stderr) == (0, ""), done
    return done.stdout


def as_json(*arguments: object, **settings: Any) -> dict[str, Any]:
    """What a command writes with ``--json -``."""
    found: dict[str, Any] = orjson.loads(output(*arguments, "--json", "-", **settings))
    return found


def refused(done: CompletedProcess[str], *says: str) -> None:
    """Assert that a command was refused: one line on stderr, exit code 2, and nothing else."""
    assert (done.returncode, done.stdout, done.stderr.count("\n"), done.stderr[-1:]) == (2, "", 1, "\n"), done
    assert done.stderr.startswith("shoe: ")
    assert [part for part in says if part not in done.stderr] == [], done.stderr
