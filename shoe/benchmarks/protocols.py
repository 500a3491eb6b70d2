"""The choices of an evaluation by person: actions, and the roles of objects in them (docs/protocols.md 4)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

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
)
from shoe.core.boxes import CommonCoordinates, Overlap
from shoe.core.errors import OptionError, quote, unknown_name

ROLE_PREFIX = "roles."


@dataclass(frozen=True, slots=True)
class RoleOptions(Overlapping):
    """The choices of agent AP and role AP; the defaults are V-COCO's official script in scenario 1."""

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


# Protocols by name: sets of choices. SHOE's stand here, the exact-label ones with the benchmark whose they are.

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
"""SHOE: the decided defaults of docs/protocols.md 10.5, and the pseudo-code to the letter."""

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
"""Diag-HOI's toolbox, for any benchmark: what a diagnosis scores by (docs/protocols.md 8.5)."""

ABOUT = {
    "shoe": "SHOE with the decided defaults (10.5)",
    "shoe-literal": "SHOE's pseudo-code to the letter (10.2, 10.3)",
    "shoe-robust": "SHOE with choices that close most attacks of shoe audit (10)",
}
"""One line a protocol, with its section in docs/protocols.md."""


@dataclass(frozen=True, slots=True)
class Options:
    """All choices of one evaluation.

    Attributes:
        strict: the exact-label protocols, in the order asked for.
        semantic: the semantic protocol; None where none is asked for.
        roles: the protocols by person, in the order asked for.
    """

    strict: tuple[StrictOptions, ...]
    semantic: SemanticOptions | None
    roles: tuple[RoleOptions, ...] = ()

    @property
    def families(self) -> tuple[StrictOptions | SemanticOptions | RoleOptions, ...]:
        """All of them."""
        return (*self.strict, *([self.semantic] if self.semantic else []), *self.roles)


def choose(
    names: Sequence[str],
    assignments: Sequence[str],
    strict: Mapping[str, StrictOptions],
    roles: Mapping[str, RoleOptions] | None = None,
    *,
    image_labels: bool = False,
) -> Options:
    """Turn names and settings into options.

    Args:
        names: protocols, at most one of them semantic; ``all`` means every other one and ``shoe``.
        assignments: ``NAME=VALUE`` settings that change the protocols' choices.
        strict: the benchmark's exact-label protocols by name.
        roles: its protocols by person.
        image_labels: whether the ground truth says which objects an image shows; without it, protocols that want to
            know take it from the boxes.

    Raises:
        OptionError: for an unknown name or value, two semantic protocols, or a setting that no protocol asked for uses.
    """
    for what, given, example in (("protocols", names, '["qpic"]'), ("options", assignments, '["tau=0.3"]')):
        if isinstance(given, str) or not all(isinstance(one, str) for one in given):
            raise OptionError(f"{what}: found {quote(given)}, expected a list of names, as {example}")
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
    for part, asked in (("semantic", semantic_names), ("strict", chosen)):
        unused = [a for a in assignments if a.startswith(STRICT_PREFIX) == (part == "strict")]
        if unused and not asked:
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
    """Say in one way what can be said in many: names and settings that :func:`choose` makes the same options of.

    Raises:
        OptionError: as :func:`choose`.

    >>> shortest(["shoe"], ["tau=0.40", "sense=max", "delta=0.5", "tau=0.3"], {})
    (('shoe',), ('sense=max', 'tau=0.3'))
    """
    chosen, usual = (
        choose(names, each, strict, roles, image_labels=image_labels).families for each in (assignments, ())
    )
    told: dict[str, str] = {}
    for own, before in zip(chosen, usual, strict=True):
        told |= changes(own, before)
    return tuple(each.protocol for each in chosen), tuple(f"{name}={value}" for name, value in sorted(told.items()))
