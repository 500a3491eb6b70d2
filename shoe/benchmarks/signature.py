"""Signatures, which state how a score was computed: version, all options and hashes of the data."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote as escape, unquote

from shoe.benchmarks.protocols import ROLE_PREFIX, SEMANTIC, RoleOptions
from shoe.benchmarks.scoring_options import STRICT_PREFIX, SemanticOptions, StrictOptions, settings
from shoe.core.errors import OptionError, quote
from shoe.version import __version__

_SAFE = " ,;.+<>=()[]/_-"
OF_PREDICTIONS = ("boxes", "scores", "coordinates", "class-ids", "bad-boxes")
"""Signature entries on how predictions were read, which may differ between models."""


@dataclass(frozen=True, slots=True)
class Signature:
    """How a score was computed: version, all options and hashes of the data, as ``shoe:0.1.0|data:hico-det|...``.

    Scores with equal signatures are comparable. ``Signature.parse(str(s)) == s`` for every signature s.

    Attributes:
        items: pairs of a name and a value.
        protocols: strict and role protocols of the benchmark, by name; not part of the signature, but :meth:`short`
            needs their defaults.
    """

    items: tuple[tuple[str, str], ...]
    protocols: Mapping[str, StrictOptions | RoleOptions] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return "|".join(f"{escape(name, _SAFE)}:{escape(value, _SAFE)}" for name, value in self.items)

    @classmethod
    def parse(cls, text: str, protocols: Mapping[str, Any] | None = None) -> Signature:
        """Parse the text of a signature; ``protocols`` is only needed for :meth:`short` (see the attribute).

        >>> str(Signature.parse("shoe:1.0|data:hico-det"))
        'shoe:1.0|data:hico-det'

        Raises OptionError if a part between bars has no colon.
        """
        parts = text.split("|")
        if wrong := [part for part in parts if ":" not in part]:
            raise OptionError(f"signature: found {quote(wrong[0])}, expected name:value")
        pairs = (map(unquote, part.split(":", 1)) for part in parts)
        return cls(tuple((name, value) for name, value in pairs), protocols or {})

    def short(self) -> str:
        """Return a short form for captions: version, data, protocol, changed options, and a hash of the signature."""
        values = dict(self.items)
        known: dict[str, SemanticOptions | StrictOptions | RoleOptions] = {**self.protocols, **SEMANTIC}
        items: list[tuple[str, str]] = [(n, values[n]) for n in ("shoe", "data", "split", "class-split") if n in values]
        for prefix in (STRICT_PREFIX, ROLE_PREFIX, ""):
            protocol = values.get(f"{prefix}protocol")
            if protocol in known:
                usual = settings(known[protocol])
                items.append((f"{prefix}protocol", protocol))
                items += [(name, value) for name, value in self.items if usual.get(name, value) != value]
        if "map" in values:
            items.append(("map", values["map"]))
        items.append(("sha", hashlib.sha256(str(self).encode()).hexdigest()[:8]))
        return str(Signature(tuple(items)))


def sign(
    facts: Mapping[str, str],
    strict: StrictOptions | RoleOptions | None = None,
    semantic: SemanticOptions | None = None,
    protocols: Mapping[str, Any] | None = None,
) -> Signature:
    """Return the signature of an evaluation; ``protocols`` are those of the benchmark, for :meth:`Signature.short`.

    ``facts`` are entries for everything else that affects scores: ``GroundTruth.signature_fields()``, the name and hash
    of the similarity map, and how predictions were read.
    """
    items = {"shoe": __version__, **facts}
    for options in (strict, semantic):
        items |= settings(options) if options else {}
    return Signature(tuple(items.items()), protocols or {})
