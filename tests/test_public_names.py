"""What ``import shoe`` offers."""

import ast
import inspect
from importlib import import_module

import pytest

import shoe


def imported_for_type_checkers() -> dict[str, str]:
    """Name and module of every import that only a type checker sees."""
    branch = next(node for node in ast.parse(inspect.getsource(shoe)).body if isinstance(node, ast.If))
    imports = [node for node in branch.body if isinstance(node, ast.ImportFrom)]
    return {alias.name: str(node.module) for node in imports for alias in node.names}


def test_every_public_name_is_listed_and_loads_what_type_checkers_see() -> None:
    homes = imported_for_type_checkers()
    assert dir(shoe) == sorted(shoe.__all__) == sorted({*homes, "__version__"})
    for name, module in homes.items():
        assert inspect.unwrap(getattr(shoe, name)) is inspect.unwrap(getattr(import_module(module), name))


def test_other_names_do_not_exist() -> None:
    with pytest.raises(AttributeError, match=r"'shoe' .* 'scroe'"):
        shoe.scroe  # noqa: B018
