"""XML that declares no entities: nothing in a file can make it larger than it is, or have something fetched."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn
from xml.parsers import expat

from shoe.core.errors import InputError, quote

Attributes = dict[str, str]


def parse_xml(
    path: str,
    data: bytes,
    start: Callable[[str, Attributes, int], None] | None = None,
    end: Callable[[str, str], None] | None = None,
) -> None:
    """Read XML, calling back for every element.

    Args:
        path: of the file, for messages.
        data: its content.
        start: called with name, attributes and line of an element that begins; if absent, reading ends at the first.
        end: called with name and text, without that of elements inside, of one that ends.

    Raises:
        InputError: naming the line of what is broken, or of an entity that is declared.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    texts: list[list[str]] = [[]]

    def declared(name: str, *_: object) -> NoReturn:
        found, expected = f"the entity {quote(name)} declared", "XML without entities of its own"
        raise InputError(path, record=f"line {parser.CurrentLineNumber}", found=found, expected=expected)

    def began(name: str, attributes: Attributes) -> None:
        if start is None:
            raise _Begun
        texts.append([])
        start(name, attributes, parser.CurrentLineNumber)

    def ended(name: str) -> None:
        text = "".join(texts.pop())
        if end is not None:
            end(name, text)

    parser.EntityDeclHandler = declared
    parser.StartElementHandler, parser.EndElementHandler = began, ended
    parser.CharacterDataHandler = lambda text: texts[-1].append(text)
    try:
        parser.Parse(data, True)
    except _Begun:
        return
    except expat.ExpatError as error:
        record = f"line {error.lineno}"
        raise InputError(path, record=record, found=expat.errors.messages[error.code], expected="XML") from None
    except (ValueError, LookupError) as error:
        raise InputError(path, found=str(error), expected="XML") from None


class _Begun(Exception):  # noqa: N818 - it ends reading, and is no error
    pass
