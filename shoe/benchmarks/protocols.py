"""Protocols by name, and options of agent AP and role AP (docs/protocols.md 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from shoe.benchmarks.scoring_options import (
    STRICT_PREFIX,
    At,
    Interpolation,
    Overlapping,
    SemanticOptions,
    StrictOptions,
    Ties,
    changed,
    option,
    settings,
)
from shoe.core.boxes import CommonCoordinates, Overlap
from shoe.core.errors import OptionError, quote, unknown_name

ROLE_PREFIX = "roles."


@dataclass(frozen=True, slots=True)
class RoleOptions(Overlapping):
    """Options of agent AP and role AP; the defaults are V-COCO's official script in scenario 1."""

    prefix: ClassVar[str] = ROLE_PREFIX
    protocol: str = "v-coco-s1"
    scenario: Literal["agent", "1", "2"] = option(
        "1",
        "boxes that must match: of the person (agent), or of the person and the role (1, 2). If no box of the role is "
        "annotated, 1 accepts only an empty box, and 2 accepts every box",
    )
    overlap: Overlap = option(Overlap.PIXELS, "how box areas are computed")
    threshold: float = option(0.5, "IoU threshold of each box", range=(0, 1))
    threshold_at: At = option(">=", "comparison of the IoU with the threshold")
    ap: Interpolation = option(Interpolation.ALL_POINTS, "interpolation of the precision-recall curve")
    ties: Ties = option(
        Ties.REVERSED,
        "order of equal scores: reverse input order, as by argsort()[::-1] with a stable sort",
        Ties.REVERSED,
    )


SEMANTIC = {
    options.protocol: options
    for options in (
        SemanticOptions(protocol="shoe"),
        SemanticOptions(
            protocol="shoe-literal",
            assign="greedy-gt",
            fp_scope="image",
            f1_delta_at=">=",
            ap=Interpolation.TRAPEZOID,
            ties=Ties.INPUT,
            sense="max",
            object_words="pooled",
            partial="full",
            alternatives="best",
            unrated="zero",
            repeats="matched",
        ),
        SemanticOptions(
            protocol="shoe-robust",
            combine="geometric",
            min_sigma="delta",
            f1_fp_scope="dataset",
            f1_delta_at=">=",
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
"""Protocol of Diag-HOI's toolbox, with which a diagnosis scores any benchmark (docs/protocols.md 8.5)."""

ABOUT = {
    "shoe": "SHOE with the default options (10.5)",
    "shoe-literal": "SHOE exactly as in the paper's pseudo-code (10.2, 10.3)",
    "shoe-robust": "SHOE with options that prevent most attacks of `shoe audit` (10)",
}
"""Description in one line of each semantic protocol, with its section in docs/protocols.md."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one evaluation: exact-label protocols, the semantic protocol or None, and protocols by person."""

    strict: tuple[StrictOptions, ...]
    semantic: SemanticOptions | None
    roles: tuple[RoleOptions, ...] = ()

    @property
    def families(self) -> tuple[StrictOptions | SemanticOptions | RoleOptions, ...]:
        """All requested protocols: strict, then semantic, then those of agent AP and role AP."""
        return (*self.strict, *([self.semantic] if self.semantic else []), *self.roles)


def choose(
    names: Sequence[str],
    assignments: Sequence[str],
    strict: Mapping[str, StrictOptions],
    roles: Mapping[str, RoleOptions] | None = None,
    *,
    image_labels: bool = False,
) -> Options:
    """Return the options of the named protocols, changed by ``NAME=VALUE`` settings.

    Args:
        names: protocols, at most one of them semantic; ``all`` stands for ``shoe`` and all protocols of the benchmark.
        assignments: ``NAME=VALUE`` settings for the semantic protocol, or with prefix ``strict.`` for the strict ones.
        image_labels: whether image-level labels are available; if not, known-object protocols use annotated boxes.

    Raises OptionError for an unknown name or value, two semantic protocols, or a setting that no protocol uses.
    """
    for argument, values, example in (("protocols", names, '["qpic"]'), ("options", assignments, '["tau=0.3"]')):
        if isinstance(values, str) or not all(isinstance(value, str) for value in values):
            raise OptionError(f"{argument}: found {quote(values)}, expected a list of names, such as {example}")
    roles = roles or {}
    names = [n for name in names for n in ([*strict, *roles, "shoe"] if name == "all" else [name])]
    for name in names:
        if name not in strict and name not in SEMANTIC and name not in roles:
            raise unknown_name("protocol", name, [*strict, *roles, *SEMANTIC, "all"])
    semantic_names = [name for name in dict.fromkeys(names) if name in SEMANTIC]
    if len(semantic_names) > 1:
        raise OptionError(f"protocols: {' and '.join(semantic_names)} are mutually exclusive: give only one of them")
    chosen = [changed(strict[name], assignments) for name in dict.fromkeys(names) if name in strict]
    semantic = changed(SEMANTIC[semantic_names[0] if semantic_names else "shoe"], assignments)
    for part, requested in (("semantic", semantic_names), ("strict", chosen)):
        unused = [a for a in assignments if a.startswith(STRICT_PREFIX) == (part == "strict")]
        if unused and not requested:
            raise OptionError(f"option {unused[0]}: requires a {part} protocol, but no {part} protocol was requested")
    if not image_labels:
        if any(a.startswith(f"{STRICT_PREFIX}known-object=labels") for a in assignments):
            raise OptionError("option strict.known-object=labels: needs image-level labels; add --image-labels FILE")
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
    """Return the fewest protocol names and settings, sorted, with which :func:`choose` returns the same options.

    >>> shortest(["shoe"], ["tau=0.40", "sense=max", "delta=0.5", "tau=0.3"], {})
    (('shoe',), ('sense=max', 'tau=0.3'))
    """
    chosen, usual = (
        choose(names, each, strict, roles, image_labels=image_labels).families for each in (assignments, ())
    )
    differing: set[tuple[str, str]] = set()
    for own, default in zip(chosen, usual, strict=True):
        differing |= settings(own, quiet=True).items() - settings(default, quiet=True).items()
    return tuple(each.protocol for each in chosen), tuple(f"{name}={value}" for name, value in sorted(differing))
