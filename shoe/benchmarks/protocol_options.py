"""Every choice that can move a figure, as data: name, values, meaning.

The command line, the signature and the reference documentation are generated from here. A protocol is a named set of
choices. ``--option NAME=VALUE`` changes one; its name is the field's with dashes, and choices of the strict part carry
the prefix ``strict.``. Strict and semantic options that mean the same have the same name.
"""

from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from types import NoneType
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin

from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule
from shoe.core.errors import OptionError, quote, unknown_name


class Interpolation(StrEnum):
    """How a precision-recall curve becomes one number."""

    ALL_POINTS = "all-points"
    """Area under the envelope (precision at a recall = the best at that or a higher recall)."""
    TRAPEZOID = "trapezoid"
    """Area under the straight lines between the points; it starts at the first entry's precision."""
    ELEVEN_ARANGE = "11-point-arange"
    """Mean over recalls 0 to 1 by 0.1 as NumPy's arange makes them: 3/10, 6/10 and 7/10 miss theirs (PPDM, QPIC)."""
    ELEVEN_LINSPACE = "11-point-linspace"
    """The same from a float64 linspace built from both ends: 3/10 misses (pocket: SCG, UPT, PViC)."""
    ELEVEN = "11-point"
    """The same with i/10 exactly."""
    HUNDRED_ONE = "101-point"
    """Mean over recalls k/100 (COCO)."""


class Ties(StrEnum):
    """What happens to entries of equal score."""

    INPUT = "input"
    """They keep the order in which they are given (a stable sort)."""
    REVERSED = "reversed"
    """They take the opposite order, as ``argsort()[::-1]`` gives it (THID)."""
    EXPECTED = "expected"
    """All their orders are equally likely and AP is its expectation: exact while the orders can be listed (5,040 a
    class), beyond that the mean over orders drawn with a fixed seed, whose standard error is reported."""


STRICT_PREFIX = "strict."
At = Literal[">=", ">"]
NoInteraction = Literal["keep", "exclude"]
Assign = Literal["greedy-gt", "best-first", "hungarian", "confidence"]
_COUNT = (1, 10**9)
_HELP = "shoe score -o help lists all"


def option(
    default: Any,
    what: str,
    *values: Any,
    range: tuple[float, float] | None = None,  # noqa: A002
    quiet: bool = False,
) -> Any:
    """Declare an option: its default, one sentence, and its range if it is a number.

    ``values`` narrows an enumeration that is shared to those that have a meaning here; else its type has them all. A
    ``quiet`` one is younger than published signatures: these name it only where it is not the default.
    """
    return field(default=default, metadata={"what": what, "values": values, "range": range, "quiet": quiet})


class Overlapping:
    """What both families derive from their options about boxes."""

    __slots__ = ()
    prefix: ClassVar[str] = ""
    overlap: Overlap
    threshold: float
    threshold_at: At

    @property
    def rule(self) -> OverlapRule:
        """The overlap that both boxes must reach."""
        return OverlapRule(self.overlap, self.threshold, self.threshold_at == ">=")


@dataclass(frozen=True, slots=True)
class SemanticOptions(Overlapping):
    """The choices of SHOE-mAP and SHOE-mF1; the defaults are protocol ``shoe``, A1 to A32: docs/protocols.md 10.5."""

    protocol: str = "shoe"
    combine: Literal["arithmetic", "geometric", "minimum"] = option("arithmetic", "HOI similarity from verb and object")
    weight: float = option(0.5, "weight of the verb in it", range=(0, 1))
    compare: Literal["components", "interactions"] = option(
        "components",
        "HOI similarity from verb and object, or as raters compared the interactions as wholes, where they did",
    )
    assign: Assign = option("best-first", "who chooses whom (A1)")
    sigma_ties: Literal["confidence", "index", "iou"] = option(
        "confidence", "which of equally similar candidates, under best-first and greedy-gt (A2)"
    )
    threshold: float = option(0.5, "IoU threshold of both boxes", range=(0, 1))
    threshold_at: At = option(">=", "comparison with it (A3)")
    overlap: Overlap = option(Overlap.CONTINUOUS, "how areas are counted (A4)", Overlap.CONTINUOUS, Overlap.PIXELS)
    min_sigma: Literal["none", "positive", "delta"] = option(
        "none", "similarity that a match must exceed: none, 0, or delta (A5)"
    )
    missed: Literal["keep", "drop"] = option("keep", "the (0, 0) entry of a missed ground truth (A6)")
    fp_scope: Literal["dataset", "image"] = option(
        "dataset", "classes that an unmatched prediction can be a false positive of (A7)"
    )
    delta: float = option(0.5, "similarity from which it is one (A8)", range=(0, 1))
    delta_at: At = option(">=", "comparison with delta (A8)")
    ap: Interpolation = option(
        Interpolation.ALL_POINTS,
        "interpolation of the precision-recall curve (A10)",
        Interpolation.ALL_POINTS,
        Interpolation.ELEVEN,
        Interpolation.HUNDRED_ONE,
        Interpolation.TRAPEZOID,
    )
    ties: Ties = option(
        Ties.EXPECTED,
        "AP under equal scores: its mean over their orders, or the order of the input (A11)",
        Ties.EXPECTED,
        Ties.INPUT,
    )
    classes: Literal["truth", "all"] = option("truth", "classes in the mean (A12)")
    senses: Literal["table", "study", "first"] = option(
        "table", "sense of a ground-truth class: the class table's, the authors' study's, or its word's first (A13)"
    )
    no_interaction: NoInteraction = option("keep", "the classes that say a person does nothing (A14)")
    ensemble: Literal["mean", "median", "majority", "majority-mean"] = option("mean", "raters into one (A15)")
    sense: Literal["likely", "max", "first", "one"] = option(
        "likely",
        "sense of a predicted word: the most similar one, at 0.8 if the word hardly ever has it; the most similar one; "
        "the first; or one for all classes (A17)",
    )
    object_words: Literal["phrase-first", "pooled", "head", "phrase"] = option(
        "phrase-first", "senses of an object of several words (A18)"
    )
    partial: Literal["weighed", "full"] = option(
        "weighed", "what a word counts that says a kind or part of its sense, or another place: less, or all (A32)"
    )
    unrated: Literal["learned", "zero", "wup", "drop"] = option(
        "learned",
        "a pair that no rater rated: predicted from others' ratings, 0, WordNet's measure, or left out (A19)",
    )
    direction: Literal["class", "symmetric"] = option(
        "class", "similarity seen from the class, or the mean of both directions (A21)"
    )
    tau: float = option(0.5, "which predictions count for mF1, by their confidence (A22)", range=(0, 1))
    tau_by: Literal["dataset", "image", "score", "best"] = option(
        "dataset",
        "tau is a rank among all or the image's predictions, from 0 for the last to 1, or a score; best: no tau, but "
        "the highest mF1 (A22)",
    )
    map_tau: float | None = option(None, "the same for mAP, by score (A23)", range=(0, 1))
    recall: Literal["fn", "truth"] = option("fn", "denominator of mF1's recall: TP + FN, or all ground truths (A24)")
    f1_classes: Literal["truth", "counted"] = option("truth", "classes in the mean of F1 (A25)")
    prediction_misses: Literal["all", "charged"] = option(
        "all", "unmatched predictions in the miss rate: all, or those that count as false positives (A26)"
    )
    cap: int | None = option(None, "predictions kept an image, best scores first (A27)", range=_COUNT)
    nms: float | None = option(None, "pair NMS at this overlap, after the cap, as CDN's (A27)", range=(0, 1))
    repeats: Literal["near", "charged", "matched"] = option(
        "near",
        "a near repeat (boxes that overlap, same meaning) of a better prediction, or an exact one (same boxes, same "
        "spelling): only a false positive; or matched like any",
    )

    @property
    def order_free(self) -> bool:
        """Whether no order of lines, images or ground truths can move a figure; else the first of equals may win."""
        return (
            self.assign == "best-first"
            and self.sigma_ties != "index"
            and self.ties is Ties.EXPECTED
            and self.cap is self.nms is None
        )

    @property
    def coordinates(self) -> CommonCoordinates:
        """The coordinates in which boxes are compared: those that ``overlap`` counts in."""
        return CommonCoordinates.INDICES if self.overlap is Overlap.PIXELS else CommonCoordinates.EDGES


@dataclass(frozen=True, slots=True)
class StrictOptions(Overlapping):
    """The choices of an exact-label protocol; docs/protocols.md 0.3."""

    prefix: ClassVar[str] = STRICT_PREFIX
    protocol: str = "hico-det"
    coordinates: CommonCoordinates = option(CommonCoordinates.INDICES, "coordinates in which boxes are compared")
    overlap: Overlap = option(Overlap.PIXELS, "how areas are counted")
    threshold: float = option(0.5, "pair IoU that counts", range=(0, 1))
    threshold_at: At = option(">=", "comparison with it")
    ap: Interpolation = option(Interpolation.ELEVEN, "interpolation")
    ties: Ties = option(Ties.INPUT, "order of equal scores")
    cap: int | None = option(None, "predictions kept an image, best scores first", range=_COUNT)
    cap_ties: Literal["input", "first-copies"] = option(
        "input", "equal scores at the cap; first-copies is GEN-VLKT's bug"
    )
    nms: float | None = option(None, "pair NMS at this overlap, after the cap; CDN offers 0.7", range=(0, 1))
    class_cap: int | None = option(None, "predictions kept a class", range=_COUNT)
    empty_images: Literal["count", "ignore"] = option(
        "count", "predictions on images without ground truth; ignore is the bug of QPIC and CDN"
    )
    no_interaction: NoInteraction = option("keep", "the classes that say a person does nothing")
    zero_tp: Literal["zero", "skip"] = option(
        "zero", "a class with predictions and no true positive; skip is Diag-HOI's rule"
    )
    unpredicted: Literal["zero", "full-only"] = option(
        "zero", "a class without predictions; full-only is Diag-HOI's rule"
    )
    truthless: Literal["absent", "zero"] = option("absent", "a class without ground truth; zero is THID's rule")
    known_object: Literal["no", "labels", "boxes"] = option(
        "no", "only images with the object: by image-level labels, or by boxes"
    )
    unseen: Literal["count", "apart"] = option(
        "count", "classes without a training pair; apart is CHOIR's: not in the mean over all", quiet=True
    )


Family = TypeVar("Family", SemanticOptions, StrictOptions)


def settings(options: Any, *, quiet: bool = False) -> dict[str, str]:
    """Every choice by its public name, as text: ``{"protocol": "shoe", "combine": "arithmetic", ...}``.

    Quiet options (:func:`option`) are left out where they have their default, unless ``quiet`` asks for them.
    """
    values = ((f, getattr(options, f.name)) for f in fields(options))
    return {
        options.prefix + _name(f): _text(value)
        for f, value in values
        if quiet or not f.metadata.get("quiet") or value != f.default
    }


def changes(options: Any, usual: Any) -> dict[str, str]:
    """What ``changed`` would have to be told to make these of the usual ones, by name.

    >>> changes(changed(SemanticOptions(), ["tau=4e-1", "delta=0.50"]), SemanticOptions())
    {'tau': '0.4'}
    """
    values = ((f, getattr(options, f.name)) for f in fields(options))
    return {options.prefix + _name(f): _text(value) for f, value in values if value != getattr(usual, f.name)}


def changed(options: Family, assignments: Iterable[str]) -> Family:
    """Apply ``NAME=VALUE`` settings that belong to this family of options; the others are left to the other.

    >>> changed(SemanticOptions(), ["delta=0.25", "strict.cap=100"]).delta
    0.25

    Raises:
        OptionError: for an unknown name, or a value outside its range.
    """
    strict = isinstance(options, StrictOptions)
    changes: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise OptionError(f"option {quote(assignment)}: found no '=', expected NAME=VALUE ({_HELP})")
        known = _choices(StrictOptions if name.startswith(STRICT_PREFIX) else SemanticOptions)
        if name not in known:
            error = unknown_name("option", name, [*_choices(SemanticOptions), *_choices(StrictOptions)])
            raise OptionError(f"{error} ({_HELP})")
        if name.startswith(STRICT_PREFIX) == strict:
            changes[known[name].name] = _parsed(name, known[name], text)
    return replace(options, **changes)


def describe() -> list[tuple[str, str, str, str]]:
    """Name, values, default and meaning of every option, semantic ones first."""
    return [
        (name, _range(f), _text(f.default), f.metadata["what"])
        for family in (SemanticOptions, StrictOptions)
        for name, f in _choices(family).items()
    ]


def _choices(family: type[SemanticOptions] | type[StrictOptions]) -> dict[str, Field[Any]]:
    prefix = STRICT_PREFIX if family is StrictOptions else ""
    return {prefix + _name(f): f for f in fields(family) if f.name != "protocol"}


def _name(choice: Field[Any]) -> str:
    return choice.name.replace("_", "-")


def _text(value: Any) -> str:
    return "none" if value is None else str(value)


def _values(choice: Field[Any]) -> tuple[str, ...]:
    """The words that an option can be; none for a number."""
    if choice.metadata["values"]:
        return tuple(choice.metadata["values"])
    if get_origin(choice.type) is Literal:
        return get_args(choice.type)
    return tuple(choice.type) if isinstance(choice.type, type) and issubclass(choice.type, StrEnum) else ()


def _range(choice: Field[Any]) -> str:
    if values := _values(choice):
        return " | ".join(values)
    low, high = choice.metadata["range"]
    return f"{low} to {high}" + (" | none" if NoneType in get_args(choice.type) else "")


def _parsed(name: str, choice: Field[Any], text: str) -> Any:
    error = OptionError(f"option {name}: found {quote(text)}, expected {_range(choice)}")
    if values := _values(choice):
        if text not in values:
            raise error
        return values[values.index(text)]
    kinds = get_args(choice.type) or (choice.type,)
    if text == "none" and NoneType in kinds:
        return None
    try:
        value = (int if int in kinds else float)(text)
    except ValueError:
        raise error from None
    low, high = choice.metadata["range"]
    if not low <= value <= high:
        raise error
    return value
