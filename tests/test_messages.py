"""The texts of all error messages stand in one file, so that a rewording is one diff; other tests check fields.

``python -m tests.test_messages`` writes the file anew.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.test_layers import PACKAGE, parsed

_GOLDEN = Path(__file__).parent / "data" / "messages.txt"
_PARTS = ("found", "expected", "hint")


def _text(node: ast.expr, local: Mapping[str, Sequence[str]]) -> str:
    """Return a string expression as its reader sees it, with {expressions} where values are put in.

    A variable that is only given strings in its function (``local``) stands for these strings.
    """
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part, local) for part in node.values)
    inner = node.value if isinstance(node, ast.FormattedValue) else node
    if isinstance(inner, ast.Name) and inner.id in local:
        return " / ".join(local[inner.id])
    return f"{{{ast.unparse(inner)}}}"


def _local_texts(function: ast.AST) -> dict[str, list[str]]:
    """Return the constants that a function gives to variables, as texts; without variables of other values."""
    texts: dict[str, list[str]] = {}
    others = set()
    for node in (node for node in ast.walk(function) if isinstance(node, ast.Assign)):
        pairs = [(target, node.value) for target in node.targets]
        if isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple):
            pairs = list(zip(node.targets[0].elts, node.value.elts, strict=False))
        for name, value in pairs:
            if isinstance(value, ast.JoinedStr | ast.Constant):
                texts.setdefault(ast.unparse(name), []).append(_text(value, {}))
            else:
                others.add(ast.unparse(name))
    return {name: found for name, found in texts.items() if name not in others}


def _messages() -> Iterator[str]:
    """Yield a line for each place that makes an error: module, class of the error, and its texts."""
    for path, tree in parsed().items():
        module = path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".")
        local: dict[int, dict[str, list[str]]] = {}
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                local |= dict.fromkeys(map(id, ast.walk(function)), _local_texts(function))
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error")):
                continue
            known = local.get(id(node), {})
            texts = [_text(argument, known) for argument in node.args]
            texts += [f"{word.arg}: {_text(word.value, known)}" for word in node.keywords if word.arg in _PARTS]
            if any(text.strip("{}") for text in texts):
                yield f"{module} {node.func.id} | " + " | ".join(texts).replace("\n", " ")


def test_every_message_is_in_the_file_of_messages() -> None:
    """A changed message changes the file, so that its wording is looked at: ``python -m tests.test_messages``."""
    assert _GOLDEN.read_text("utf-8").splitlines() == sorted(_messages())


if __name__ == "__main__":
    _GOLDEN.write_text("".join(f"{line}\n" for line in sorted(_messages())), "utf-8")
