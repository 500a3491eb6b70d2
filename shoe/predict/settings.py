"""Choices of a run by name: ``GROUP.NAME=VALUE``, each a field of the settings that the group's step has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args, get_type_hints

import msgspec

from shoe.core.errors import OptionError, quote, unknown_name
from shoe.io.json import parse_json

Settings = TypeVar("Settings", bound=msgspec.Struct)
_PLACE = re.compile(r"(?: - at `\$(?:\.(\w+))?.*`)?$")
_DATA = ("{", "[")


def grouped(assignments: Iterable[str], groups: Iterable[str]) -> dict[str, dict[str, str]]:
    """Sort assignments by group; each group has an entry.

    >>> grouped(["pairs.min_score=0.3"], ["detector", "pairs"])
    {'detector': {}, 'pairs': {'min_score': '0.3'}}

    Raises:
        OptionError: for what is no assignment, or has no such group.
    """
    found: dict[str, dict[str, str]] = {group: {} for group in groups}
    for assignment in assignments:
        name, equals, value = assignment.partition("=")
        group, dot, field = name.strip().partition(".")
        if not equals or not dot:
            raise OptionError(f"--set {quote(assignment)}: expected GROUP.NAME=VALUE, as pairs.min_score=0.3")
        if group not in found:
            raise unknown_name("group of settings", group, found)
        found[group][field] = value.strip()
    return found


def configured(kind: type[Settings], group: str, usual: Mapping[str, Any], given: Mapping[str, str]) -> Settings:
    """Make settings of a step.

    Args:
        kind: their type.
        group: what users call the step.
        usual: values that are not the type's defaults.
        given: values as text; lists and objects as JSON.

    Raises:
        OptionError: naming the setting that does not exist, or has a value that it cannot have.
    """
    for name in given:
        if name not in kind.__struct_fields__:
            raise unknown_name(f"setting of {group}", name, kind.__struct_fields__)
    values = {name: _value(group, name, text) for name, text in given.items()}
    try:
        return msgspec.convert({**usual, **values}, kind, strict=False)
    except msgspec.ValidationError as error:
        message = str(error)
        place = _PLACE.search(message)
        name = (place[1] if place else None) or ""
        said = message[: place.start() if place else None].partition(", got")[0].replace("`", "")
        wrong = f"expected {said.removeprefix('Expected ')}" if said.startswith("Expected ") else said
        names = get_args(get_type_hints(kind)[name]) if said.startswith("Invalid enum") else ()
        wrong = f"expected {' or '.join(map(str, names))}" if names else f"{wrong[:1].lower()}{wrong[1:]}"
        raise OptionError(f"--set {group}.{name}: found {quote(given.get(name, usual.get(name)))}, {wrong}") from None


def _value(group: str, name: str, text: str) -> Any:
    return parse_json(f"--set {group}.{name}", text.encode()) if text.startswith(_DATA) else text
