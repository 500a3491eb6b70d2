"""What the README and the docs site show of the code: outputs of commands, and tables of what exists.

A part of a page ends at ``<!-- end -->``. It starts with ``<!-- run: COMMAND -->`` (output of a command, in a fence),
``<!-- table: NAME -->``, or ``<!-- api: NAME -->`` (signature and docstring of a public name).
``scripts/update-readme`` writes the parts; ``scripts/check`` fails if a part is stale.
"""

import contextlib
import gc
import inspect
import io
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import msgspec
from api_entries import entry

import shoe.cli
from shoe.benchmarks import DEFAULT, benchmark
from shoe.benchmarks.protocols import ABOUT
from shoe.benchmarks.scoring_options import describe
from shoe.maps.config import own_settings
from shoe.maps.raters.kinds import KINDS, kind_of
from shoe.predict.backends import BACKENDS, BackendConfig, backend_of
from shoe.predict.detector import DetectorConfig
from shoe.predict.pairs import ABOUT as PAIR_RULES, PairRule
from shoe.predict.settings import AskSettings
from shoe.predict.visual import MARKS, Visual
from shoe.predictions.boxes.conventions import LAYOUTS, ORDERS, PICTURES, SCALES
from shoe.predictions.formats.registry import FORMATS
from shoe.report.schemas import SCHEMAS, documents_of

ROOT = Path(__file__).resolve().parent.parent
PART = re.compile(r"(<!-- (run|table|api): (.+?) -->\n).*?(<!-- end -->)", re.DOTALL)
_ATTRIBUTE = re.compile(r"^ {4}(\w+(?:, \w+)*): (.*(?:\n {8}.*)*)", re.MULTILINE)
Row = tuple[str, ...]


def filled(text: str) -> str:
    """A page with its generated parts made anew."""
    return PART.sub(_part, text)


def output(command: str) -> str:
    """What a ``shoe`` command prints on a terminal of 120 columns without colours, run in this process at the root."""
    program, *arguments = shlex.split(command)
    if program != "shoe":
        raise ValueError(f"{command}: only shoe is run")
    stream = io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True)
    with (
        contextlib.chdir(ROOT),
        mock.patch.object(sys, "argv", [program, *arguments]),
        mock.patch.dict(os.environ, {"COLUMNS": "120", "NO_COLOR": "1"}),
        contextlib.redirect_stdout(stream),
        contextlib.redirect_stderr(stream),
        contextlib.suppress(SystemExit),
    ):
        shoe.cli.main()
    gc.enable()  # main does without it
    lines = stream.buffer.getvalue().decode().strip("\n").splitlines()
    return "\n".join(line.rstrip() for line in lines)


def rows(header: Row, body: list[Row]) -> str:
    """A Markdown table."""
    lines = [header, tuple("---" for _ in header), *body]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def settings_of_raters() -> list[Row]:
    """The settings of kinds of raters; one that several kinds share stands once."""
    users: dict[Row, list[str]] = {}
    for kind in KINDS:
        fields = {field.name: field for field in msgspec.structs.fields(kind_of(kind))}
        for name, told in own_settings(kind_of(kind)).items():
            value = fields[name].default
            value = list(value) if isinstance(value, tuple) else value
            default = "needed" if value is msgspec.NODEFAULT else str(value) and f"`{value}`"
            meaning = str((told.extra_json_schema or {}).get("description", ""))
            users.setdefault((f"`{name}`", default, meaning), []).append(kind)
    return [(name, ", ".join(kinds), default, meaning) for (name, default, meaning), kinds in users.items()]


def settings_of_predictions() -> list[Row]:
    """The settings of each step of a prediction, as its type's docstring explains them."""
    steps: dict[str, type[msgspec.Struct]] = {
        "detector": DetectorConfig,
        "pairs": PairRule,
        "visual": Visual,
        "ask": AskSettings,
        "vlm": BackendConfig,
    }
    found: list[Row] = []
    for step, kind in (steps | {f"vlm ({name})": backend_of(name) for name in BACKENDS}).items():
        defaults = {field.name: field.default for field in msgspec.structs.fields(kind)}
        for names, meaning in _ATTRIBUTE.findall((inspect.getdoc(kind) or "").partition("Attributes:\n")[2]):
            for name in names.split(", "):
                if name in defaults and name not in ("model", "marks"):  # those have options of their own
                    value = "" if defaults[name] is msgspec.NODEFAULT else msgspec.json.encode(defaults[name]).decode()
                    said = " ".join(meaning.split()).replace("``", "`").rstrip(".")
                    found.append((step, f"`{name}`", value and f"`{value}`", said))
    return found


def options(strict: bool) -> str:
    """The options of strict or semantic protocols."""
    return rows(
        ("option", "values", "default", "what it decides"),
        [
            (f"`{name}`", values, f"`{default}`", what)
            for name, values, default, what in describe()
            if name.startswith("strict.") == strict
        ],
    )


def commands() -> str:
    """The help of every command."""
    import typer

    def walk(command: Any, words: Row) -> Iterator[Row]:
        yield words
        for name, inner in getattr(command, "commands", {}).items():
            yield from walk(inner, (*words, name))

    from shoe.cli.app import app

    found = [" ".join(words) for words in walk(typer.main.get_command(app()), ("shoe",))]
    return "\n".join(f"## {name}\n\n```text\n{output(f'{name} --help')}\n```\n" for name in found)


def json_keys() -> str:
    """The keys that each command writes with ``--json``, from the types of its documents."""
    return "\n".join(f"## shoe {command}\n\n{_keys_of(command)}" for command in SCHEMAS)


def _keys_of(command: str) -> str:
    found = []
    for kind in documents_of(command):
        meanings: dict[str, str] = {}
        for each in reversed(kind.__mro__):
            text = inspect.cleandoc(each.__doc__ or "").partition("Attributes:\n")[2]
            for names, meaning in _ATTRIBUTE.findall(text):
                said = " ".join(meaning.split()).replace("``", "`").rstrip(".")
                meanings |= dict.fromkeys(names.split(", "), said)
        body: list[tuple[str, ...]] = [
            (f"`{each.encode_name}`", meanings.get(each.name, "")) for each in msgspec.structs.fields(kind)
        ]
        about = inspect.cleandoc(kind.__doc__ or "").split("\n\n")[0].replace("``", "`")
        found.append(f"{kind.__name__}: {about}\n\n{rows(('key', ''), body)}")
    return "\n".join(found)


TABLES: dict[str, Callable[[], str]] = {
    "protocols": lambda: rows(
        ("protocol", "what it is"),
        [(f"`{name}`", about) for name, about in {**benchmark(DEFAULT).about, **ABOUT}.items()],
    ),
    "semantic-options": lambda: options(strict=False),
    "strict-options": lambda: options(strict=True),
    "kinds": lambda: rows(
        ("kind", "who rates"), [(f"`{name}`", str(kind_of(name).__doc__).split(".")[0]) for name in KINDS]
    ),
    "settings": lambda: rows(("setting", "kinds", "default", "what it says"), settings_of_raters()),
    "formats": lambda: rows(("format", "what it is"), [(f"`{f.name}`", f.description) for f in FORMATS.values()]),
    "pair-rules": lambda: rows(("rule", "pairs"), [(f"`{name}`", what) for name, what in PAIR_RULES.items()]),
    "marks": lambda: rows(("visual prompt", "what is done"), [(f"`{name}`", what) for name, what in MARKS.items()]),
    "prediction-settings": lambda: rows(("group", "setting", "default", "what it says"), settings_of_predictions()),
    "layouts": lambda: rows(("layout", "four numbers are"), [(f"`{name}`", what) for name, what in LAYOUTS.items()]),
    "scales": lambda: rows(("scale", "they are"), [(f"`{name}`", what) for name, what in SCALES.items()]),
    "pictures": lambda: rows(("word", "what it says"), [(f"`{n}`", what) for n, what in (PICTURES | ORDERS).items()]),
    "commands": commands,
    "json-keys": json_keys,
}


def _part(match: re.Match[str]) -> str:
    start, kind, what, end = match.groups()
    if kind == "run":
        text = f"```console\n$ {what}\n{output(what)}\n```\n"
    else:
        text = TABLES[what]() if kind == "table" else entry(what)
    return f"{start}\n{text}\n{end}"
