"""Entries of public names for the reference page: signature and docstring as Markdown.

Signatures are printed from the source, so that they are the same under each version of Python.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Iterator
from importlib import import_module
from typing import Any

_WIDTH = 100
_SECTION = re.compile(r"^(Args|Attributes|Returns|Yields|Raises|Example|Examples):$", re.MULTILINE)
_TITLES = {"Args": "Arguments", "Examples": "Example"}
_ITEM = re.compile(r"^(\*{0,2}[\w.]+(?:, \*{0,2}[\w.]+)*): ", re.MULTILINE)
_ROLE = re.compile(r":\w+:`~?([^`]+)`")
_EXAMPLE = re.compile(r"^>>> .*\n?(?:.*\S.*\n?)*", re.MULTILINE)


def entry(path: str) -> str:
    """Markdown of a public name such as "shoe.Report.to_dict"; a class is followed by its public members."""
    owner, _, name = path.rpartition(".")
    return "\n".join(_entry(path.removeprefix("shoe."), getattr(_found(owner), name), "###"))


def _found(path: str) -> Any:
    try:
        return import_module(path)
    except ModuleNotFoundError:
        owner, _, name = path.rpartition(".")
        return getattr(_found(owner), name)


def _entry(title: str, thing: Any, level: str) -> Iterator[str]:
    yield f"{level} {title}\n"
    is_property = isinstance(thing, property) or type(thing).__name__ == "cached_property"
    function = getattr(thing, "fget", None) or getattr(thing, "func", None) or getattr(thing, "__func__", thing)
    if isinstance(function, type):
        made = vars(function).get("__init__")
        if inspect.isfunction(made) and not made.__code__.co_filename.startswith("<"):  # written, not generated
            yield _fence(function.__name__, made)
    elif not is_property:
        yield _fence(function.__name__, function)
    if text := inspect.getdoc(thing):
        yield markdown(text)
    if isinstance(thing, type):
        for name, member in _members(thing).items():
            yield from _entry(f"{thing.__name__}.{name}", member, level + "#")


def _members(kind: type) -> dict[str, Any]:
    """Public methods and properties with a docstring, those of shoe's base classes first."""
    classes = [each for each in reversed(kind.__mro__) if each.__module__.split(".")[0] == "shoe"]
    found = {name: member for each in classes for name, member in vars(each).items() if not name.startswith("_")}
    kinds = (property, classmethod, staticmethod)
    return {
        name: member
        for name, member in found.items()
        if (inspect.isfunction(member) or isinstance(member, kinds) or type(member).__name__ == "cached_property")
        and inspect.getdoc(member)
    }


def _fence(name: str, function: Any) -> str:
    node = ast.parse(textwrap.dedent(inspect.getsource(function))).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    if node.args.args and node.args.args[0].arg in ("self", "cls"):
        del node.args.args[0]
    returned = f" -> {ast.unparse(node.returns)}" if node.returns and node.name != "__init__" else ""
    line = f"{name}({ast.unparse(node.args)}){returned}"
    if len(line) > _WIDTH:
        line = f"{name}(\n{textwrap.indent(_one_per_line(node.args), '    ')}\n){returned}"
    return f"```python\n{'async ' if isinstance(node, ast.AsyncFunctionDef) else ''}{line}\n```\n"


def _one_per_line(arguments: ast.arguments) -> str:
    """The arguments, each on its own line; commas in brackets separate none."""
    depth, lines = 0, [""]
    for character in ast.unparse(arguments):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            lines[-1] += ","
            lines.append("")
        else:
            lines[-1] += character
    return "\n".join(map(str.strip, lines)) + ","


def markdown(docstring: str) -> str:
    """A docstring in Google's style as Markdown."""
    before, *parts = _SECTION.split(docstring)
    blocks = [_text(before)]
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        content, after = _dedented(body)
        listed = name in ("Args", "Attributes", "Raises")
        blocks += [f"**{_TITLES.get(name, name)}**", _list(content) if listed else _text(content), _text(after)]
    return "\n\n".join(block for block in blocks if block) + "\n"


def _dedented(body: str) -> tuple[str, str]:
    """The indented lines of a section without their indent, and the text after them."""
    lines = body.strip("\n").splitlines()
    end = next((place for place, line in enumerate(lines) if line and not line.startswith(" ")), len(lines))
    return textwrap.dedent("\n".join(lines[:end])), "\n".join(lines[end:])


def _list(text: str) -> str:
    items = [" ".join(item.split()) for item in re.split(r"\n(?=\S)", text.strip("\n"))]
    return "\n".join(_inline(_ITEM.sub(r"- `\1`: ", item)) for item in items)


def _text(text: str) -> str:
    fenced = _EXAMPLE.sub(lambda found: f"```pycon\n{found[0].rstrip()}\n```\n", text)
    parts = re.split(r"(```pycon\n.*?```)", fenced, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else _inline(part) for part in parts).strip("\n")


def _inline(text: str) -> str:
    return _ROLE.sub(r"`\1`", text.replace("``", "`"))
