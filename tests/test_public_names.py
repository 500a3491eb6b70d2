"""What ``import shoe`` offers."""

import ast
import inspect

import pytest

import shoe


def test_every_public_name_loads_and_is_listed() -> None:
    assert set(shoe.__all__) == {*shoe._HOMES, "__version__"}
    assert dir(shoe) == sorted(shoe.__all__)
    for name in shoe.__all__:
        assert getattr(shoe, name) is not None


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse(inspect.getsource(shoe))
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    imported = {
        alias.name: node.module for node in branch.body if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    assert imported == shoe._HOMES


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match="module 'shoe' has no attribute 'scroe'"):
        shoe.scroe  # noqa: B018
