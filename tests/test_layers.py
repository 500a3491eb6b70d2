"""Imports run downwards, in no circle; imports in functions and imports of types alone count, too."""

import ast
from collections.abc import Collection, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "shoe"
PACKAGES = (
    "version",
    "core",
    "lexicon",  # words are words in every file: benchmarks and predictions may look them up
    "engines",
    "benchmarks",
    "predictions",
    "similarity",
    "scoring",
    "diagnosis",
    "comparison",
    "llm",
    "maps",  # similarity maps are written here; scoring reads them
    "study",
    "predict",
    "report",
    "frameworks",
    "inspect_task",
    "demo",
    "service",
    "torchmetrics",
    "cli",
    "__main__",
    "",  # shoe itself re-exports public names; nothing imports from it
)


def test_every_module_has_a_package_and_every_package_its_modules() -> None:
    assert {package_of(module) for module in graph()} == set(PACKAGES)


def test_nothing_imports_from_a_later_package() -> None:
    found = {(module, other) for module, imported in graph().items() for other in imported}
    level = {package: number for number, package in enumerate(PACKAGES)}
    assert sorted(edge for edge in found if level[package_of(edge[1])] > level[package_of(edge[0])]) == []


def test_no_import_leads_back_to_its_module() -> None:
    try:
        TopologicalSorter(graph()).prepare()
    except CycleError as circle:
        pytest.fail(" imported by ".join(circle.args[1]))


def package_of(module: str) -> str:
    """The package of a module: "scoring" of "shoe.scoring.score"; the package's own has no name."""
    return [*module.split("."), ""][1]


@cache
def parsed() -> dict[Path, ast.Module]:
    """All modules of the package, parsed once for all tests."""
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


@cache
def graph() -> dict[str, set[str]]:
    """What every module imports of the package, at any depth."""
    trees = {name_of(path): tree for path, tree in parsed().items()}
    return {name: set(imports_of(tree, trees)) for name, tree in trees.items()}


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
        ("try:\n    import shoe.cli\nexcept ImportError:\n    from shoe import report", {"shoe.cli", "shoe.report"}),
        ("if TYPE_CHECKING:\n    import shoe.cli\nelse:\n    import shoe.core.a", {"shoe.cli", "shoe.core.a"}),
        ("from shoemaker import last", set()),
    ],
)
def test_every_kind_of_import_is_seen(code: str, found: set[str]) -> None:
    assert set(imports_of(ast.parse(code), {"shoe.core", "shoe.report"})) == found
