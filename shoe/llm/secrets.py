"""What no message, ledger or map may hold: keys, and the credentials in addresses of proxies."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote
from urllib.request import getproxies

_SHORTEST = 8
"""Characters; what is shorter ("none", "x") stands for no key, and is part of many words."""
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s\"'<>]*@")
_SHOWN = "[key]"


class Secrets:
    """Takes secrets out of texts, in the forms in which they travel: as they are, escaped, in hex and in base64."""

    def __init__(self, *keys: str) -> None:
        """Take keys; what variables say of proxies is added."""
        words = [word for word in (*keys, *_of_proxies()) if len(word) >= _SHORTEST]
        forms = dict.fromkeys(form for word in sorted(words, key=len, reverse=True) for form in _forms(word))
        self._pattern = re.compile("|".join(forms), re.IGNORECASE) if forms else None

    def hidden(self, text: str) -> str:
        """Take secrets out of a text."""
        return self._pattern.sub(_SHOWN, text) if self._pattern else text

    def shown(self, text: str) -> str:
        """Take out secrets, and whatever credentials stand in an address."""
        return _IN_ADDRESS.sub(f"{_SHOWN}@", self.hidden(text))

    def cleaned(self, value: Any) -> Any:
        """Take secrets out of all texts in JSON."""
        match value:
            case str():
                return self.hidden(value)
            case list():
                return [self.cleaned(one) for one in value]
            case dict():
                return {self.hidden(name): self.cleaned(one) for name, one in value.items()}
        return value


def _of_proxies() -> Iterator[str]:
    for address in set(getproxies().values()):
        before, at, _ = address.partition("://")[2].rpartition("@") if "://" in address else address.rpartition("@")
        if at:
            user, _, password = before.partition(":")
            yield from (before, unquote(before), password, unquote(password))
            if not password:
                yield user


def _forms(word: str) -> Iterator[str]:
    """Patterns of the ways in which texts repeat a word; in base64 it may stand anywhere in what was encoded."""
    yield "".join(char if char.isascii() and char.isalnum() else _escaped(char) for char in word)
    data = word.encode()
    yield data.hex()
    for before in range(3):
        whole = b64encode(bytes(before) + data).decode()[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        yield whole.translate({ord("+"): "[-+]", ord("/"): "[/_]"})


def _escaped(char: str) -> str:
    """Pattern of a character as it is, behind backslashes, or by its number: for an address, for HTML, in JSON."""
    in_address = "".join(f"%(?:25){{0,4}}{byte:02x}" for byte in char.encode())
    return (
        rf"(?:\\{{0,8}}{re.escape(char)}|{in_address}|&#0{{0,4}}{ord(char)};|(?:&#x|\\{{1,8}}u)0{{0,4}}{ord(char):x};?)"
    )
