"""Imports run downwards: from a room to itself and to earlier ones, in no circle, deferred imports included."""

import ast
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "shoe"
ROOMS = (
    "version",
    "core",
    "io",
    "lexicon",  # words are words in every file: benchmarks and predictions may look them up
    "engines",  # who does many pieces of work, by which words, and how they are divided
    "protocols",
    "benchmarks",
    "predictions",
    "similarity",
    "matching",
    "scoring",
    "bongard",  # problems of a few pictures, and what detections answer
    "evidence",
    "diagnosis",
    "runs",  # what one scoring measured, kept
    "comparison",  # many of them
    "attribution",  # why protocols disagree
    "llm",
    "rating",  # the offline job: it writes maps, and scoring reads them
    "maps",
    "study",  # what people rated, held against each other and against maps
    "predict",  # predictions made here: boxes, pairs, answers of a model
    "report",
    "plots",  # figures of what reports say
    "demo",  # the packaged sample
    "page",  # the report of a comparison as one HTML file
    "client",  # of a metric service, from afar
    "service",  # others' predictions, scored for them
    "torchmetrics",  # the metric of a training loop, as torchmetrics has them
    "cli",
    "__main__",
    "",  # shoe itself re-exports all; nothing imports from it
)


def test_every_module_has_a_room_and_every_room_its_modules() -> None:
    assert {room_of(module) for module in graph()} == set(ROOMS)


def test_nothing_imports_from_a_later_room() -> None:
    found = {(module, other) for module, imported in graph().items() for other in imported}
    level = {room: number for number, room in enumerate(ROOMS)}
    assert sorted(edge for edge in found if level[room_of(edge[1])] > level[room_of(edge[0])]) == []


OF_TYPES = {
    ("shoe.predict.backends.vision", "shoe.predict.backends.transformers"),
    ("shoe.benchmarks", "shoe.benchmarks.truth"),
    ("shoe.rating.planning", "shoe.rating.questions"),
    ("shoe.rating.questions", "shoe.rating.prompts"),
}
"""Imports of types alone that lead back to their module."""


def test_no_import_leads_back_to_its_module() -> None:
    try:
        found = {module: {b for b in imported if (module, b) not in OF_TYPES} for module, imported in graph().items()}
        TopologicalSorter(found).prepare()
    except CycleError as circle:
        pytest.fail(" imported by ".join(circle.args[1]))


def room_of(module: str) -> str:
    """The room of a module: "scoring" of "shoe.scoring.score"; the package's own has no name."""
    return [*module.split("."), ""][1]


@cache
def graph() -> dict[str, set[str]]:
    """What every module imports of the package, at any depth."""
    names = {name_of(path): path for path in PACKAGE.rglob("*.py")}
    return {name: set(imports_of(ast.parse(path.read_text("utf-8")), names)) for name, path in names.items()}


def name_of(path: Path) -> str:
    """Dotted name of a module: "shoe.scoring.score", "shoe.scoring" of its ``__init__``."""
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports_of(tree: ast.AST, modules: Collection[str]) -> Iterator[str]:
    """Every module of the package that some code imports, also where only the type checker sees it."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "shoe")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import, expected an absolute one"
            source = str(node.module)
            if source.split(".")[0] == "shoe":
                # A name may be a module of a package: that is imported, not the package.
                both = ((f"{source}.{alias.name}", source) for alias in node.names)
                yield from (below if below in modules else source for below, source in both)
        else:
            yield from imports_of(node, modules)


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f():\n    from shoe.scoring.score import score", {"shoe.scoring.score"}),
        ("import shoe.cli.app as a, numpy", {"shoe.cli.app"}),
        ("from shoe import core, score", {"shoe.core", "shoe"}),
        ("import shoe", {"shoe"}),
        (
            "try:\n    import shoe.scoring.metric\nexcept ImportError:\n    from shoe import report",
            {"shoe.scoring.metric", "shoe.report"},
        ),
        ("if TYPE_CHECKING:\n    import shoe.cli\nelse:\n    import shoe.io.files", {"shoe.cli", "shoe.io.files"}),
        ("from shoemaker import last", set()),
    ],
)
def test_every_kind_of_import_is_seen(code: str, found: set[str]) -> None:
    assert set(imports_of(ast.parse(code), {"shoe.core", "shoe.report"})) == found
