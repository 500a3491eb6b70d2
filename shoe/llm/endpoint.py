"""URL and key of an endpoint, and the removal of secrets from messages, ledgers and maps."""

import os
import re
from base64 import b64encode
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

from shoe.core.errors import OptionError, printable, quote

_SHORTEST = 8  # characters of a secret; shorter text ("none", "x") is no key, and is a part of many words
_IN_ADDRESS = re.compile(r"(?<=://)[^/\s\"'<>]*@")
_SHOWN = "[key]"
_BETWEEN = r"(?:\\+[nrt]|[\s\\\"'+,.…-]){0,16}"  # characters at which a text may split a secret


class Secrets:
    """Removes secrets from texts, even if a text contains them split, reversed, escaped, in hexadecimal or base64."""

    def __init__(self, *keys: str) -> None:
        """Collect keys, and credentials of proxies in environment variables, if they have at least 8 characters."""
        words = [word for word in (*keys, *_proxy_credentials()) if len(word) >= _SHORTEST]
        words += [word[::-1] for word in words]
        forms = dict.fromkeys(form for word in sorted(words, key=len, reverse=True) for form in _forms(word))
        self._pattern = re.compile("|".join(forms), re.IGNORECASE) if forms else None

    def hidden(self, text: str) -> str:
        """Return the text with all secrets replaced by "[key]"."""
        return self._pattern.sub(_SHOWN, text) if self._pattern else text

    def shown(self, text: str) -> str:
        """Return the text with all secrets, and all credentials in URLs, replaced by "[key]"."""
        return _IN_ADDRESS.sub(f"{_SHOWN}@", self.hidden(text))

    def cleaned(self, value: Any) -> Any:
        """Return parsed JSON with all secrets in its strings and in names of fields replaced by "[key]"."""
        match value:
            case str():
                return self.hidden(value)
            case list():
                return [self.cleaned(item) for item in value]
            case dict():
                return {self.hidden(name): self.cleaned(item) for name, item in value.items()}
        return value


def _proxy_credentials() -> Iterator[str]:
    for address in set(getproxies().values()):
        before, at, _ = address.partition("://")[2].rpartition("@") if "://" in address else address.rpartition("@")
        if at:
            user, _, password = before.partition(":")
            yield from (before, unquote(before), password, unquote(password))
            if not password:
                yield user


def _forms(word: str) -> Iterator[str]:
    """Yield a regular expression per form of a secret; base64 has three forms, depending on the secret's position."""
    yield _BETWEEN.join(char if char.isascii() and char.isalnum() else _escaped(char) for char in word)
    data = word.encode()
    yield data.hex()
    for before in range(3):
        encoded = b64encode(bytes(before) + data).decode()[(8 * before + 5) // 6 : 8 * (before + len(data)) // 6]
        yield encoded.translate({ord("+"): "[-+]", ord("/"): "[/_]"})


def _escaped(char: str) -> str:
    """Return a regular expression of a character: plain, after backslashes, percent-encoded, or HTML or JSON escape."""
    in_address = "".join(f"%(?:25){{0,4}}{byte:02x}" for byte in char.encode())
    return (
        rf"(?:\\{{0,8}}{re.escape(char)}|{in_address}|&#0{{0,4}}{ord(char)};|(?:&#x|\\{{1,8}}u)0{{0,4}}{ord(char):x};?)"
    )


OFFICIAL = "https://api.openai.com/v1"
OFFICIAL_KEY = "OPENAI_API_KEY"
_LONGEST_MESSAGE = 300
OWN_HEADERS = tuple(b"accept connection content- host idempotency- transfer- user-agent x-goog-up x-stainless-".split())
"""Beginnings of the names, in lower case, of headers that shoe sets itself."""
_HEADER = re.compile(r"[A-Za-z0-9_-]{1,100}")
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_KEY_IN_QUERY = re.compile(r"(?:^|&)[^=&]*(?:key|token|secret|sig|code|password)[^=&]*=", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint."""

    who: str  # prefix of error messages: what the endpoint is used for ("rater 'qwen'")
    base_url: str  # URL of the endpoint, without a slash at the end; its query is part of every request
    # key_variable, header_variables: environment variables with the API key ("" for no key) and with further
    # headers, by header name; :meth:`open` reads their values into ``key`` and ``headers``.
    key_variable: str
    key: str = field(default="", repr=False)
    header_variables: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    # Removes the key, the values of ``headers`` and passwords of proxies from messages and ledgers.
    secrets: Secrets = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "secrets", Secrets(self.key, *self.headers.values()))

    @property
    def variables(self) -> list[str]:
        """Names of the environment variables with the key and with the values of headers."""
        return [name for name in (self.key_variable, *self.header_variables.values()) if name]

    @property
    def may_charge(self) -> bool:
        """Whether requests may cost money: they need a key or secret header, and the endpoint is on another machine."""
        return bool(self.variables) and urlsplit(self.base_url).hostname not in ("localhost", "127.0.0.1", "::1")

    @property
    def google_files(self) -> str:
        """URL of Google's server if the endpoint is Google's, which has no OpenAI-compatible files; "" otherwise."""
        url = self.base_url.partition("?")[0]
        return url.removesuffix("/v1beta/openai") if url.endswith("/v1beta/openai") else ""

    def open(self) -> Self:
        """Return a copy with key and headers from the environment; raise OptionError for a missing or invalid value."""
        values = {variable: os.environ.get(variable, "").strip() for variable in self.variables}
        for variable, value in values.items():
            if not (value and value.isascii() and value.isprintable()):
                found = "unprintable or non-ASCII characters" if value else "nothing"
                expected = "an API key" if variable == self.key_variable else "the value of a header"
                raise OptionError(f"{self.who}: {named(variable)}: found {found}, expected {expected}")
        headers = {name: values[variable] for name, variable in self.header_variables.items()}
        return replace(self, key=values.get(self.key_variable, ""), headers=headers)

    def shown(self, text: str) -> str:
        """Return a text from the endpoint as part of a message: one line of at most 300 characters, without secrets."""
        return printable(self.secrets.shown(text), longest=_LONGEST_MESSAGE)

    def __str__(self) -> str:
        return f"{self.who}: {self.base_url.partition('?')[0]}"


def address(context: str, base_url: str, api_key_env: str, headers: Mapping[str, str]) -> Endpoint:
    """Return the endpoint at a URL, without reading secrets; raise OptionError if the URL or a header is invalid.

    ``context`` is a prefix of messages. ``api_key_env`` is the environment variable with the API key; "" for no key
    (OPENAI_API_KEY for OpenAI). ``headers`` are {name of a further HTTP header: environment variable with its value}.
    """
    url = base_url.rstrip("/")
    if problem := _problem(url):
        raise OptionError(f"{context}: base_url: found {problem}, expected a URL such as {OFFICIAL}")
    key_variable = api_key_env or (OFFICIAL_KEY if url == OFFICIAL else "")
    for name, variable in headers.items():
        own = name.lower().encode().startswith(OWN_HEADERS) or (key_variable and name.lower() == "authorization")
        if own or not _HEADER.fullmatch(name) or not VARIABLE.fullmatch(variable):  # not shown: it may be a key
            rule = "headers that shoe does not set itself, each with an environment variable in capitals"
            raise OptionError(f"{context}: headers: {quote(name)}: expected {rule}")
    return Endpoint(context, url, key_variable, header_variables=headers)


def named(variable: str) -> str:
    """Return "environment variable NAME"; other words for a name in small letters, which may be the API key itself."""
    return f"environment variable {variable}" if variable.isupper() else "the environment variable in api_key_env"


def _problem(url: str) -> str | None:
    if "@" in unquote(url):
        return "a user name or password in it"
    if any(character.isspace() for character in unquote(url)):
        return "a space in it"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return quote(url)
    if parts.fragment:
        return "a '#' in it"
    if _KEY_IN_QUERY.search(parts.query):
        return "what looks like a key after the '?' (use headers)"
    return None if parts.scheme in ("http", "https") and parts.hostname and port != 0 else quote(url)
