"""Data flows one way: a module imports from its own stage and earlier ones, deferred imports included."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "shoe"
STAGES = (
    "version",
    "core",
    "io",
    "lexicon",  # words are words in every file: benchmarks and predictions may look them up
    "protocols",
    "benchmarks",
    "predictions",
    "similarity",
    "matching",
    "scoring",
    "evidence",
    "diagnosis",
    "llm",
    "rating",  # the offline job: it writes maps, and scoring reads them
    "maps",
    "report",
    "plots",  # figures of what reports say
    "demo",
    "cli",
    "__init__",  # shoe itself re-exports all; nothing imports from it
)
STAGE = {name: number for number, names in enumerate(STAGES) for name in names.split()}
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Dotted name of a module inside the package: "datasets.hico_det.ppdm", "errors", "__init__"."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def imports_of(tree: ast.AST) -> Iterator[str]:
    """Every module of the package that some code imports, at any depth; not what only the type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for other in node.orelse:
                yield from imports_of(ast.Module([other], []))
        elif isinstance(node, ast.Import):
            yield from (_inside(alias.name) for alias in node.names if alias.name.split(".")[0] == "shoe")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"line {node.lineno}: a relative import, expected an absolute one"
            if node.module == "shoe":
                yield from (alias.name if alias.name in STAGE else "__init__" for alias in node.names)
            elif str(node.module).startswith("shoe."):
                yield _inside(str(node.module))
        else:
            yield from imports_of(node)


def _inside(module: str) -> str:
    return module.removeprefix("shoe").removeprefix(".") or "__init__"


def test_every_module_has_a_stage_and_every_stage_its_modules() -> None:
    assert {name_of(path).split(".")[0] for path in MODULES} == set(STAGE)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_imports_from_a_later_stage(path: Path) -> None:
    own = STAGE[name_of(path).split(".")[0]]
    imported = set(imports_of(ast.parse(path.read_text("utf-8"))))
    assert sorted(name for name in imported if STAGE[name.split(".")[0]] > own) == []


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("def f():\n    from shoe.scoring.score import score", {"scoring.score"}),
        ("import shoe.cli.app as a, numpy", {"cli.app"}),
        ("from shoe import core, score", {"core", "__init__"}),
        ("import shoe", {"__init__"}),
        (
            "try:\n    import shoe.scoring.metric\nexcept ImportError:\n    from shoe import report",
            {"metric", "report"},
        ),
        ("if TYPE_CHECKING:\n    import shoe.cli\nelse:\n    import shoe.io.files", {"files"}),
        ("from shoemaker import last", set()),
    ],
)
def test_the_walk_sees_every_kind_of_import(code: str, found: set[str]) -> None:
    assert set(imports_of(ast.parse(code))) == found
