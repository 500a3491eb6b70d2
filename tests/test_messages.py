"""The texts of all error messages stand in one file, so that a rewording is one diff; other tests check fields.

``python -m tests.test_messages`` writes the file anew.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.test_layers import PACKAGE, parsed

_GOLDEN = Path(__file__).parent / "data" / "messages.txt"
_PARTS = ("found", "expected", "hint")


def _text(node: ast.expr) -> str:
    """Return a string expression as its reader sees it, with {expressions} where values are put in."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(_text(part) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return f"{{{ast.unparse(node.value)}}}"
    return f"{{{ast.unparse(node)}}}"


def _messages() -> Iterator[str]:
    """Yield a line for each place that makes an error: module, class of the error, and its texts."""
    for path, tree in parsed().items():
        module = path.relative_to(PACKAGE.parent).with_suffix("").as_posix().replace("/", ".")
        for node in ast.walk(tree):
            if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.endswith("Error")):
                continue
            texts = [_text(argument) for argument in node.args]
            texts += [f"{word.arg}: {_text(word.value)}" for word in node.keywords if word.arg in _PARTS]
            if any(text.strip("{}") for text in texts):
                yield f"{module} {node.func.id} | " + " | ".join(texts).replace("\n", " ")


def test_every_message_is_in_the_file_of_messages() -> None:
    """A changed message changes the file, so that its wording is looked at: ``python -m tests.test_messages``."""
    assert _GOLDEN.read_text("utf-8").splitlines() == sorted(_messages())


if __name__ == "__main__":
    _GOLDEN.write_text("".join(f"{line}\n" for line in sorted(_messages())), "utf-8")
