"""What no message, ledger or map may hold: keys, and the credentials in addresses of proxies."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, quote_plus, unquote
from urllib.request import getproxies

_SHORTEST = 8
"""Characters; what is shorter ("none", "x") stands for no key, and is part of many words."""
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s\"'<>]*@")
_SHOWN = "[key]"


class Secrets:
    """Takes secrets out of texts, in the forms in which they travel: as they are, escaped for an address, in base64."""

    def __init__(self, *keys: str) -> None:
        """Take keys; what variables say of proxies is added."""
        words = [word for word in (*keys, *_of_proxies()) if len(word) >= _SHORTEST]
        forms = {form for word in words for form in _forms(word)}
        longest_first = sorted(forms, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)), re.IGNORECASE) if forms else None

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
    yield word
    yield quote(word, safe="")
    yield quote_plus(word)
    yield b64encode(word.encode()).decode().rstrip("=")
