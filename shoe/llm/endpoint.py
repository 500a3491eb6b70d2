"""Where requests go and with which key; the key is read when it is needed and shown to nobody."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from urllib.parse import unquote, urlsplit

from shoe.core.errors import OptionError, printable, quote
from shoe.llm.secrets import Secrets

OFFICIAL = "https://api.openai.com/v1"
OFFICIAL_KEY = "OPENAI_API_KEY"
_LONGEST_MESSAGE = 300


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An OpenAI-compatible endpoint.

    Attributes:
        who: uses it, for messages ("rater 'qwen'").
        base_url: its address, without a slash at the end.
        key_variable: the environment variable that holds its key; empty if it needs none.
        key: the key itself, once it is read; no part of ``repr``.
        secrets: the key and what else no message or ledger may hold.
    """

    who: str
    base_url: str
    key_variable: str
    key: str = field(default="", repr=False)
    secrets: Secrets = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Know what is not to be shown."""
        object.__setattr__(self, "secrets", Secrets(self.key))

    def open(self) -> Endpoint:
        """Read the key.

        Raises:
            OptionError: if it is missing or cannot be one.
        """
        key = os.environ.get(self.key_variable, "").strip() if self.key_variable else ""
        if self.key_variable and not (key and key.isascii() and key.isprintable()):
            found = "odd characters" if key else "nothing"
            raise OptionError(f"{self.who}: {named(self.key_variable)}: found {found}, expected a key")
        return replace(self, key=key)

    def shown(self, text: str) -> str:
        """Make an endpoint's words fit for a line of a message, without secrets should they repeat one."""
        return printable(self.secrets.shown(text), longest=_LONGEST_MESSAGE)

    def __str__(self) -> str:
        return f"{self.who}: {self.base_url}"


def address(who: str, base_url: str, api_key_env: str) -> Endpoint:
    """Check where an endpoint is, without looking for the key.

    A key is sent only where one was named: ``api_key_env``, or OPENAI_API_KEY for the official endpoint alone.

    Raises:
        OptionError: if the address is none.
    """
    url = base_url.rstrip("/")
    if problem := _problem(url):
        raise OptionError(f"{who}: base_url: found {problem}, expected one like {OFFICIAL}")
    return Endpoint(who, url, api_key_env or (OFFICIAL_KEY if url == OFFICIAL else ""))


def named(variable: str) -> str:
    """Name an environment variable in a message; what is not in capitals may be a key put in its name's place."""
    return f"environment variable {variable}" if variable.isupper() else "the environment variable in api_key_env"


def _problem(url: str) -> str | None:
    """What is wrong with an address, in words that do not repeat a password."""
    if "@" in unquote(url):
        return "a user name or password in it"
    if any(character.isspace() for character in unquote(url)):
        return "a blank in it"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return quote(url)
    if parts.query or parts.fragment:
        return "a '?' or '#' in it"
    return None if parts.scheme in ("http", "https") and parts.hostname and port != 0 else quote(url)
