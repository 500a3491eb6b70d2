"""Docstrings and names are plain English."""

import ast
import doctest
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from tests.test_layers import PACKAGE, parsed

WITH_EXAMPLES = [path for path in sorted(PACKAGE.rglob("*.py")) if ">>> " in path.read_text("utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_examples(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    module = import_module(".".join(part for part in parts if part != "__init__"))
    assert doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).failed == 0


_NAMES = re.compile(r"_?(told|asked|said|meant|heard|spared|their|those|who|whom|tell|hear)")
_OPENINGS = re.compile(r"(Say|Tell|Take|Hear|Go|What|Who|Where|Those|It|They|The same|One that|As) ")
_PHRASES = re.compile(r"\b(what is so|held to|but for|as far as|is under way|sceptics|coins|voices|the model said)\b")
_ALLOWED = {
    "shoe/service/pages/routes.py: said",  # a parameter of the page's address
    "shoe/lexicon/phrases/interactions.py: meant",
}
"""Findings that may stay, as the test prints them."""


def _findings(path: Path, tree: ast.Module) -> Iterator[str]:
    where = path.relative_to(PACKAGE.parent).as_posix()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names = [node.name]
            if not isinstance(node, ast.ClassDef):
                names += [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
            yield from (f"{where}: {name}" for name in names if _NAMES.fullmatch(name))
            text = ast.get_docstring(node) or ""
            yield from (f"{where}: {node.name}: {found[0]}..." for found in [_OPENINGS.match(text)] if found)
            yield from (f"{where}: {node.name}: {found[0]}" for found in _PHRASES.finditer(text))


def test_names_and_docstrings_use_plain_words() -> None:
    found = [line for path, tree in parsed().items() for line in _findings(path, tree)]
    assert [line for line in found if line not in _ALLOWED] == []
