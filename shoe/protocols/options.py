"""Every choice that can move a figure, as data: name, values, meaning.

The command line, the signature and the reference documentation are generated from here. A protocol is a named set of
choices. ``--option NAME=VALUE`` changes one; its name is the field's with dashes, and choices of the strict part carry
the prefix ``strict.``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, TypeVar

from shoe.core.coordinates import CommonCoordinates
from shoe.core.errors import OptionError, quote, unknown_name
from shoe.core.iou import Overlap
from shoe.scoring.average_precision import Interpolation
from shoe.scoring.ranking import Ties


def choice(default: Any, what: str, *values: Any) -> Any:
    """Declare an option: its default, one sentence, and its values (or, for a number, its lowest and highest)."""
    return field(default=default, metadata={"what": what, "values": values})


def amount(default: Any, what: str, low: float, high: float, kind: type = float, none: bool = False) -> Any:
    """Declare a numeric option with its range; ``none`` allows the word none."""
    return field(default=default, metadata={"what": what, "range": (low, high), "kind": kind, "none": none})


@dataclass(frozen=True, slots=True)
class SemanticOptions:
    """The choices of SHOE-mAP and SHOE-mF1; the defaults are protocol ``shoe``, A1 to A31: docs/protocols.md 10.5."""

    protocol: str = "shoe"
    combine: str = choice("arithmetic", "HOI similarity from verb and object", "arithmetic", "geometric", "minimum")
    weight: float = amount(0.5, "weight of the verb in it", 0, 1)
    assign: str = choice("greedy-gt", "who chooses whom (A1)", "greedy-gt", "best-first", "hungarian", "confidence")
    sigma_ties: str = choice(
        "confidence",
        "which of equally similar candidates, under greedy-gt and best-first (A2)",
        "confidence",
        "index",
        "iou",
    )
    threshold: float = amount(0.5, "IoU threshold of both boxes", 0, 1)
    threshold_at: str = choice(">=", "comparison with it (A3)", ">=", ">")
    overlap: str = choice("cont", "how areas are counted (A4)", "cont", "+1")
    min_sigma: str = choice("none", "similarity below which a pair cannot match (A5)", "none", "positive", "delta")
    missed: str = choice("keep", "the (0, 0) entry of a missed ground truth (A6)", "keep", "drop")
    fp_scope: str = choice("dataset", "classes that an unmatched prediction can be charged to (A7)", "dataset", "image")
    delta: float = amount(0.5, "similarity from which it is charged (A8)", 0, 1)
    delta_at: str = choice(">=", "comparison with delta (A8)", ">=", ">")
    ap: str = choice(
        "all-points",
        "interpolation of the precision-recall curve (A10)",
        "all-points",
        "11-point",
        "101-point",
        "trapezoid",
    )
    ties: str = choice(
        "expected",
        "AP under equal scores: its mean over their orders, or the order of the input (A11)",
        "expected",
        "input",
    )
    classes: str = choice("truth", "classes in the mean (A12)", "truth", "all")
    senses: str = choice(
        "table", "sense of a ground-truth class: the class table's, or its word's first (A13)", "table", "first"
    )
    no_interaction: str = choice("keep", "the classes that say a person does nothing (A14)", "keep", "exclude")
    ensemble: str = choice("mean", "raters into one (A15)", "mean", "median", "majority", "majority-mean")
    sense: str = choice("max", "sense of a predicted word (A17)", "max", "first", "one")
    object_words: str = choice(
        "phrase-first", "senses of an object of several words (A18)", "phrase-first", "pooled", "head", "phrase"
    )
    unrated: str = choice("zero", "a pair that no rater rated (A19)", "zero", "wup", "drop")
    direction: str = choice(
        "class", "similarity seen from the class, or the mean of both directions (A21)", "class", "symmetric"
    )
    tau: float = amount(0.5, "confidence from which a prediction counts for mF1 (A22)", 0, 1)
    tau_by: str = choice(
        "score", "tau is a score, or a share of the image's or of all predictions (A22)", "score", "image", "dataset"
    )
    map_tau: float | None = amount(None, "the same for mAP, by score (A23)", 0, 1, none=True)
    recall: str = choice("fn", "denominator of mF1's recall: TP + FN, or all ground truths (A24)", "fn", "truth")
    f1_classes: str = choice("truth", "classes in the mean of F1 (A25)", "truth", "counted")
    prediction_misses: str = choice(
        "all", "unmatched predictions in the miss rate: all, or those charged (A26)", "all", "charged"
    )
    cap: int | None = amount(None, "predictions kept an image, best scores first (A27)", 1, 10**9, int, none=True)
    nms: float | None = amount(None, "pair NMS at this overlap, after the cap, as CDN's (A27)", 0, 1, none=True)
    repeats: str = choice(
        "charged",
        "an exact repeat (same boxes, same spelling): only charged, or matched like any",
        "charged",
        "matched",
    )


@dataclass(frozen=True, slots=True)
class StrictOptions:
    """The choices of an exact-label protocol; docs/protocols.md 0.3."""

    protocol: str = "hico-det"
    coordinates: CommonCoordinates = choice(
        CommonCoordinates.INDICES, "coordinates in which boxes are compared", *CommonCoordinates
    )
    overlap: Overlap = choice(Overlap.PIXELS, "how areas are counted", *Overlap)
    threshold: float = amount(0.5, "pair IoU that counts", 0, 1)
    threshold_at: str = choice(">=", "comparison with it", ">=", ">")
    ap: Interpolation = choice(Interpolation.ELEVEN, "interpolation", *Interpolation)
    ties: Ties = choice(Ties.INPUT, "order of equal scores", *Ties)
    cap: int | None = amount(None, "predictions kept an image, best scores first", 1, 10**9, int, none=True)
    cap_ties: str = choice("input", "equal scores at the cap; first-copies is GEN-VLKT's bug", "input", "first-copies")
    nms: float | None = amount(None, "pair NMS at this overlap, after the cap; CDN offers 0.7", 0, 1, none=True)
    class_cap: int | None = amount(None, "predictions kept a class", 1, 10**9, int, none=True)
    empty_images: str = choice(
        "count", "predictions on images without ground truth; ignore is the bug of QPIC and CDN", "count", "ignore"
    )
    no_interaction: str = choice("keep", "the classes that say a person does nothing", "keep", "exclude")
    zero_tp: str = choice(
        "zero", "a class with predictions and no true positive; skip is Diag-HOI's rule", "zero", "skip"
    )
    unpredicted: str = choice("zero", "a class without predictions; full-only is Diag-HOI's rule", "zero", "full-only")
    truthless: str = choice("absent", "a class without ground truth; zero is THID's rule", "absent", "zero")
    known_object: str = choice(
        "no", "only images with the object: by image-level labels, or by boxes", "no", "labels", "boxes"
    )


Options = TypeVar("Options", SemanticOptions, StrictOptions)

STRICT_PREFIX = "strict."


def settings(options: SemanticOptions | StrictOptions) -> dict[str, str]:
    """Every choice by its public name, as text: ``{"protocol": "shoe", "combine": "arithmetic", ...}``."""
    prefix = STRICT_PREFIX if isinstance(options, StrictOptions) else ""
    return {prefix + _name(f): _text(getattr(options, f.name)) for f in fields(options)}


def changed(options: Options, assignments: Iterable[str]) -> Options:
    """Apply ``NAME=VALUE`` settings that belong to this kind of options; the others are left to the other kind.

    Raises:
        OptionError: for an unknown name, or a value outside its range.
    """
    strict = isinstance(options, StrictOptions)
    changes: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise OptionError(f"option {quote(assignment)}: found no '=', expected NAME=VALUE")
        known = _choices(StrictOptions if name.startswith(STRICT_PREFIX) else SemanticOptions)
        if name not in known:
            raise unknown_name("option", name, [*_choices(SemanticOptions), *_choices(StrictOptions)])
        if name.startswith(STRICT_PREFIX) == strict:
            changes[known[name].name] = _parsed(name, known[name], text)
    return replace(options, **changes)


def describe() -> list[tuple[str, str, str, str]]:
    """Name, values, default and meaning of every option, semantic ones first."""
    return [
        (name, _range(f), _text(f.default), f.metadata["what"])
        for kind in (SemanticOptions, StrictOptions)
        for name, f in _choices(kind).items()
    ]


def _choices(kind: type[SemanticOptions] | type[StrictOptions]) -> dict[str, Field[Any]]:
    prefix = STRICT_PREFIX if kind is StrictOptions else ""
    return {prefix + _name(f): f for f in fields(kind) if f.name != "protocol"}


def _name(option: Field[Any]) -> str:
    return option.name.replace("_", "-")


def _text(value: Any) -> str:
    return "none" if value is None else str(value)


def _range(option: Field[Any]) -> str:
    if "values" in option.metadata:
        return " | ".join(option.metadata["values"])
    low, high = option.metadata["range"]
    return f"{low} to {high}" + (" | none" if option.metadata["none"] else "")


def _parsed(name: str, option: Field[Any], text: str) -> Any:
    error = OptionError(f"option {name}: found {quote(text)}, expected {_range(option)}")
    if "values" in option.metadata:
        if text not in option.metadata["values"]:
            raise error
        return type(option.default)(text) if isinstance(option.default, StrEnum) else text
    if text == "none" and option.metadata["none"]:
        return None
    try:
        value = option.metadata["kind"](text)
    except ValueError:
        raise error from None
    low, high = option.metadata["range"]
    if not low <= value <= high:
        raise error
    return value
