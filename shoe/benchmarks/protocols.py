"""Protocols by name, options of evaluation by person (docs/protocols.md 4), and the signature of a score."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal
from urllib.parse import quote as escape
from urllib.parse import unquote

from shoe.benchmarks.protocol_options import (
    STRICT_PREFIX,
    At,
    Interpolation,
    Overlapping,
    SemanticOptions,
    StrictOptions,
    Ties,
    changed,
    changes,
    option,
    settings,
)
from shoe.core.boxes import CommonCoordinates, Overlap
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.version import __version__

ROLE_PREFIX = "roles."


@dataclass(frozen=True, slots=True)
class RoleOptions(Overlapping):
    """Options of agent AP and role AP; the defaults are V-COCO's official script in scenario 1."""

    prefix: ClassVar[str] = ROLE_PREFIX
    protocol: str = "v-coco-s1"
    scenario: Literal["agent", "1", "2"] = option(
        "1",
        "agent: the person's box alone; else the role's too, and where nobody drew one: 1, empty boxes are right; 2, "
        "all are",
    )
    overlap: Overlap = option(Overlap.PIXELS, "how areas are counted")
    threshold: float = option(0.5, "IoU that each box has to reach", range=(0, 1))
    threshold_at: At = option(">=", "comparison with it")
    ap: Interpolation = option(Interpolation.ALL_POINTS, "interpolation")
    ties: Ties = option(
        Ties.REVERSED, "order of equal scores: as argsort()[::-1] has them where sorting is stable", Ties.REVERSED
    )


SEMANTIC = {
    options.protocol: options
    for options in (
        SemanticOptions(protocol="shoe"),
        SemanticOptions(
            protocol="shoe-literal",
            assign="greedy-gt",
            fp_scope="image",
            ap=Interpolation.TRAPEZOID,
            ties=Ties.INPUT,
            sense="max",
            object_words="pooled",
            partial="full",
            unrated="zero",
            repeats="matched",
        ),
        SemanticOptions(
            protocol="shoe-robust",
            combine="geometric",
            min_sigma="delta",
            sense="one",
            tau_by="best",
        ),
    )
}
"""Semantic protocols by name: the defaults (docs/protocols.md 10.5), and variants of them."""

DIAG = StrictOptions(
    protocol="diag",
    coordinates=CommonCoordinates.RAW,
    overlap=Overlap.PIXELS_CROSSING,
    ap=Interpolation.ELEVEN_ARANGE,
    empty_images="ignore",
    no_interaction="exclude",
    zero_tp="skip",
    unpredicted="full-only",
)
"""Protocol of Diag-HOI's toolbox, by which a diagnosis scores on any benchmark (docs/protocols.md 8.5)."""

ABOUT = {
    "shoe": "SHOE with the decided defaults (10.5)",
    "shoe-literal": "SHOE's pseudo-code to the letter (10.2, 10.3)",
    "shoe-robust": "SHOE with choices that close most attacks of shoe audit (10)",
}
"""Description in one line of each semantic protocol, with its section in docs/protocols.md."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one evaluation.

    Attributes:
        strict: exact-label protocols, in the requested order.
        semantic: semantic protocol; None if not requested.
        roles: protocols by person, in the requested order.
    """

    strict: tuple[StrictOptions, ...]
    semantic: SemanticOptions | None
    roles: tuple[RoleOptions, ...] = ()

    @property
    def families(self) -> tuple[StrictOptions | SemanticOptions | RoleOptions, ...]:
        """All protocols."""
        return (*self.strict, *([self.semantic] if self.semantic else []), *self.roles)


def choose(
    names: Sequence[str],
    assignments: Sequence[str],
    strict: Mapping[str, StrictOptions],
    roles: Mapping[str, RoleOptions] | None = None,
    *,
    image_labels: bool = False,
) -> Options:
    """Return the options for names of protocols and ``NAME=VALUE`` settings.

    Args:
        names: protocols, at most one of them semantic; ``all`` stands for ``shoe`` and all others of the benchmark.
        assignments: ``NAME=VALUE`` settings that change options of the protocols.
        strict: exact-label protocols of the benchmark by name.
        roles: protocols of the benchmark by person, by name.
        image_labels: whether the ground truth has image-level labels; if not, protocols that need the objects of an
            image use the boxes.

    Raises:
        OptionError: for an unknown name or value, two semantic protocols, or a setting that no requested protocol uses.
    """
    for argument, values, example in (("protocols", names, '["qpic"]'), ("options", assignments, '["tau=0.3"]')):
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise OptionError(f"{argument}: found {quote(values)}, expected a list of names, as {example}")
    roles = roles or {}
    names = [n for name in names for n in ([*strict, *roles, "shoe"] if name == "all" else [name])]
    for name in names:
        if name not in strict and name not in SEMANTIC and name not in roles:
            raise unknown_name("protocol", name, [*strict, *roles, *SEMANTIC, "all"])
    semantic_names = [name for name in dict.fromkeys(names) if name in SEMANTIC]
    if len(semantic_names) > 1:
        raise OptionError(f"protocols: found {' and '.join(semantic_names)}, expected one semantic protocol a run")
    chosen = [changed(strict[name], assignments) for name in dict.fromkeys(names) if name in strict]
    semantic = changed(SEMANTIC[semantic_names[0] if semantic_names else "shoe"], assignments)
    for part, requested in (("semantic", semantic_names), ("strict", chosen)):
        unused = [a for a in assignments if a.startswith(STRICT_PREFIX) == (part == "strict")]
        if unused and not requested:
            raise OptionError(f"option {unused[0]}: found no {part} protocol that it could change; name one")
    if not image_labels:
        if any(a.startswith(f"{STRICT_PREFIX}known-object=labels") for a in assignments):
            raise OptionError("option strict.known-object=labels: found no image-level labels, expected --image-labels")
        chosen = [replace(o, known_object="boxes") if o.known_object == "labels" else o for o in chosen]
    by_person = tuple(roles[name] for name in dict.fromkeys(names) if name in roles)
    return Options(tuple(chosen), semantic if semantic_names else None, by_person)


def shortest(
    names: Sequence[str],
    assignments: Sequence[str],
    strict: Mapping[str, StrictOptions],
    roles: Mapping[str, RoleOptions] | None = None,
    *,
    image_labels: bool = False,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return normalised names and settings, for which :func:`choose` returns the same options; errors as there.

    Settings that have the default value are left out, and the last of repeated settings counts.

    >>> shortest(["shoe"], ["tau=0.40", "sense=max", "delta=0.5", "tau=0.3"], {})
    (('shoe',), ('sense=max', 'tau=0.3'))
    """
    chosen, usual = (
        choose(names, each, strict, roles, image_labels=image_labels).families for each in (assignments, ())
    )
    differing: dict[str, str] = {}
    for own, default in zip(chosen, usual, strict=True):
        differing |= changes(own, default)
    return tuple(each.protocol for each in chosen), tuple(
        f"{name}={value}" for name, value in sorted(differing.items())
    )


_SAFE = " ,;.+<>=()[]/_-"


@dataclass(frozen=True, slots=True)
class Signature:
    """Description of how a score was computed, as ``shoe:0.1.0|data:hico-det|...``; equal ones mean comparable scores.

    It contains all options and hashes of the data. ``Signature.parse(str(s)) == s`` for all values.

    Attributes:
        items: pairs of a name and a value.
        protocols: exact-label protocols and protocols by person of the benchmark, by name, for :meth:`short`; not part
            of the signature.
    """

    items: tuple[tuple[str, str], ...]
    protocols: Mapping[str, StrictOptions | RoleOptions] = field(default_factory=dict, compare=False, repr=False)

    def __str__(self) -> str:
        return "|".join(f"{escape(name, _SAFE)}:{escape(value, _SAFE)}" for name, value in self.items)

    @classmethod
    def parse(cls, text: str, protocols: Mapping[str, Any] | None = None) -> Signature:
        """Parse a signature; ``protocols`` as in the class.

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
        """Return a short form for captions: version, data, protocol, changed options, and a hash of the full one."""
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
        digest = hashlib.sha256(str(self).encode()).hexdigest()[:8]
        return str(Signature((*items, ("sha", digest))))


def sign(
    facts: Mapping[str, str],
    strict: StrictOptions | RoleOptions | None = None,
    semantic: SemanticOptions | None = None,
    protocols: Mapping[str, Any] | None = None,
) -> Signature:
    """Return the signature of an evaluation.

    Args:
        facts: metadata that affect scores besides the options: those of the ground truth (``GroundTruth.facts()``), the
            similarity map and its hash, how predictions were read.
        strict: exact-label protocol or protocol by person, if one was applied.
        semantic: semantic protocol, if one was applied.
        protocols: as in :class:`Signature`.
    """
    items = {"shoe": __version__, **facts}
    for options in (strict, semantic):
        items |= settings(options) if options else {}
    return Signature(tuple(items.items()), protocols or {})
