"""The one line that says how a figure came about: two equal signatures mean comparable figures.

A signature is made from the options and from content hashes, never written by hand, so no option can be forgotten.
``Signature.parse(str(s)) == s`` holds for all values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote as escape
from urllib.parse import unquote

from shoe.benchmarks.protocol_options import STRICT_PREFIX, SemanticOptions, StrictOptions, settings
from shoe.benchmarks.protocols import ROLE_PREFIX, SEMANTIC, RoleOptions
from shoe.core.errors import OptionError, quote
from shoe.version import __version__

_SAFE = " ,;.+<>=()[]/_-"


@dataclass(frozen=True, slots=True)
class Signature:
    """Ordered pairs of a name and a value, printed as ``shoe:0.1.0|data:hico-det|...``.

    Attributes:
        items: the pairs.
        protocols: the benchmark's exact-label protocols and those by person, by name, for :meth:`short`; no part of
            what is signed.
    """

    items: tuple[tuple[str, str], ...]
    protocols: Mapping[str, StrictOptions | RoleOptions] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return "|".join(f"{escape(name, _SAFE)}:{escape(value, _SAFE)}" for name, value in self.items)

    @classmethod
    def parse(cls, text: str, protocols: Mapping[str, Any] | None = None) -> Signature:
        """Read a signature back; ``protocols`` as in the class.

        >>> str(Signature.parse("shoe:1.0|data:hico-det"))
        'shoe:1.0|data:hico-det'

        Raises:
            OptionError: if a field has no colon.
        """
        items = []
        for part in text.split("|"):
            name, colon, value = part.partition(":")
            if not colon:
                raise OptionError(f"signature: found {quote(part)}, expected name:value")
            items.append((unquote(name), unquote(value)))
        return cls(tuple(items), protocols or {})

    def short(self) -> str:
        """Shorten for captions: version, data, protocol, what differs from it, and a hash of the whole."""
        values = dict(self.items)
        named: dict[str, SemanticOptions | StrictOptions | RoleOptions] = {**self.protocols, **SEMANTIC}
        kept: list[tuple[str, str]] = [(n, values[n]) for n in ("shoe", "data", "split", "class-split") if n in values]
        for prefix in (STRICT_PREFIX, ROLE_PREFIX, ""):
            protocol = values.get(f"{prefix}protocol")
            if protocol in named:
                usual = settings(named[protocol])
                kept.append((f"{prefix}protocol", protocol))
                kept += [(name, value) for name, value in self.items if usual.get(name, value) != value]
        if "map" in values:
            kept.append(("map", values["map"]))
        digest = hashlib.sha256(str(self).encode()).hexdigest()[:8]
        return str(Signature((*kept, ("sha", digest))))


def sign(
    facts: Mapping[str, str],
    strict: StrictOptions | RoleOptions | None = None,
    semantic: SemanticOptions | None = None,
    protocols: Mapping[str, Any] | None = None,
) -> Signature:
    """Sign an evaluation.

    Args:
        facts: what moves figures beside the options: the ground truth's (``GroundTruth.facts()``), the map and its
            hash, how predictions were read.
        strict: the exact-label protocol, or that by person, which was applied, if one was.
        semantic: the semantic protocol that was applied, if one was.
        protocols: the benchmark's exact-label protocols, and those by person, by name, for the short form.
    """
    items = {"shoe": __version__, **facts}
    for options in (strict, semantic):
        items |= settings(options) if options else {}
    return Signature(tuple(items.items()), protocols or {})
