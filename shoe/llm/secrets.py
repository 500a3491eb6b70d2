"""Removal of secrets from messages, ledgers and maps: keys, and credentials in addresses of proxies."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote
from urllib.request import getproxies

_SHORTEST = 8
"""Characters of the shortest secret; shorter text ("none", "x") is no key, and part of many words."""
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s\"'<>]*@")
_SHOWN = "[key]"


class Secrets:
    """Removes secrets from text in all their forms: plain, escaped, in hexadecimal and in base64."""

    def __init__(self, *keys: str) -> None:
        """Take keys; credentials of proxies in environment variables are added."""
        words = [word for word in (*keys, *_of_proxies()) if len(word) >= _SHORTEST]
        forms = dict.fromkeys(form for word in sorted(words, key=len, reverse=True) for form in _forms(word))
        self._pattern = re.compile("|".join(forms), re.IGNORECASE) if forms else None

    def hidden(self, text: str) -> str:
        """Return text without secrets."""
        return self._pattern.sub(_SHOWN, text) if self._pattern else text

    def shown(self, text: str) -> str:
        """Return text without secrets and without credentials in addresses."""
        return _IN_ADDRESS.sub(f"{_SHOWN}@", self.hidden(text))

    def cleaned(self, value: Any) -> Any:
        """Return JSON without secrets in any of its strings."""
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
    """Yield patterns of the forms of a secret; in base64 it may begin at any byte of the encoded text."""
    yield "".join(char if char.isascii() and char.isalnum() else _escaped(char) for char in word)
    data = word.encode()
    yield data.hex()
    for before in range(3):
        whole = b64encode(bytes(before) + data).decode()[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        yield whole.translate({ord("+"): "[-+]", ord("/"): "[/_]"})


def _escaped(char: str) -> str:
    """Return a pattern of a character: plain, after backslashes, percent-encoded, or as an HTML or JSON escape."""
    in_address = "".join(f"%(?:25){{0,4}}{byte:02x}" for byte in char.encode())
    return (
        rf"(?:\\{{0,8}}{re.escape(char)}|{in_address}|&#0{{0,4}}{ord(char)};|(?:&#x|\\{{1,8}}u)0{{0,4}}{ord(char):x};?)"
    )
