"""Options of semantic and strict protocols; ``--option NAME=VALUE`` changes one.

The command line, signatures and the reference documentation are generated from these classes. The name of an option is
that of its field with dashes, with the prefix ``strict.`` for strict protocols. A protocol is a named set of options.
"""

from collections.abc import Iterable
from dataclasses import Field, dataclass, field, fields, replace
from enum import StrEnum
from types import NoneType
from typing import Any, ClassVar, Literal, TypeVar, get_args, get_origin

from shoe.core.boxes import CommonCoordinates, Overlap, OverlapRule
from shoe.core.errors import OptionError, quote, unknown_name


class Interpolation(StrEnum):
    """Method by which average precision is computed from a precision-recall curve."""

    ALL_POINTS = "all-points"
    """Area under the envelope (precision at a recall = best precision at this or a higher recall)."""
    TRAPEZOID = "trapezoid"
    """Area under the straight lines between the points; it starts at the first entry's precision."""
    ELEVEN_ARANGE = "11-point-arange"
    """Mean over recalls 0 to 1 by 0.1 from NumPy's arange, of which 0.3, 0.6 and 0.7 are too large (PPDM, QPIC)."""
    ELEVEN_LINSPACE = "11-point-linspace"
    """Mean over a float64 linspace built from both ends, in which 0.3 is too large (pocket: SCG, UPT, PViC)."""
    ELEVEN = "11-point"
    """Mean over the recalls i/10, i = 0 to 10, exactly."""
    HUNDRED_ONE = "101-point"
    """Mean over recalls k/100 (COCO)."""


class Ties(StrEnum):
    """Order of entries with equal scores."""

    INPUT = "input"
    """Order of the input (stable sort)."""
    REVERSED = "reversed"
    """Reverse order of the input, as of ``argsort()[::-1]`` (THID)."""
    EXPECTED = "expected"
    """AP is its expectation over all orders: exact for at most 5,040 orders per class, otherwise estimated over random
    orders with a fixed seed, and its standard error is reported."""


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
    """Return the dataclass field of an option.

    Args:
        default: default value.
        what: description in the documentation.
        values: allowed values, if not all members of the enumeration apply here.
        range: lowest and highest value of a number.
        quiet: whether signatures contain the option only if it is not the default, because published signatures are
            older than the option.
    """
    return field(default=default, metadata={"what": what, "values": values, "range": range, "quiet": quiet})


class Overlapping:
    """Base class of all protocol options, with the overlap rule of boxes."""

    __slots__ = ()
    prefix: ClassVar[str] = ""
    overlap: Overlap
    threshold: float
    threshold_at: At

    @property
    def rule(self) -> OverlapRule:
        """Overlap rule for both boxes of a pair."""
        return OverlapRule(self.overlap, self.threshold, self.threshold_at == ">=")


@dataclass(frozen=True, slots=True)
class SemanticOptions(Overlapping):
    """Options of SHOE-mAP and SHOE-mF1; the defaults are protocol ``shoe`` (A1 to A32: docs/protocols.md 10.5)."""

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
        """Whether scores are independent of the order of lines, images and ground truths."""
        return (
            self.assign == "best-first"
            and self.sigma_ties != "index"
            and self.ties is Ties.EXPECTED
            and self.cap is self.nms is None
        )

    @property
    def coordinates(self) -> CommonCoordinates:
        """Coordinates in which boxes are compared, according to ``overlap``."""
        return CommonCoordinates.INDICES if self.overlap is Overlap.PIXELS else CommonCoordinates.EDGES


@dataclass(frozen=True, slots=True)
class StrictOptions(Overlapping):
    """Options of an exact-label protocol (docs/protocols.md 0.3)."""

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
    """Return all options by public name, as text: ``{"protocol": "shoe", "combine": "arithmetic", ...}``.

    Quiet options (see :func:`option`) with their default value are left out unless ``quiet`` is True.
    """
    values = ((f, getattr(options, f.name)) for f in fields(options))
    return {
        options.prefix + _name(f): _text(value)
        for f, value in values
        if quiet or not f.metadata.get("quiet") or value != f.default
    }


def changes(options: Any, usual: Any) -> dict[str, str]:
    """Return the options, by name, that differ from the usual options.

    >>> changes(changed(SemanticOptions(), ["tau=4e-1", "delta=0.50"]), SemanticOptions())
    {'tau': '0.4'}
    """
    values = ((f, getattr(options, f.name)) for f in fields(options))
    return {options.prefix + _name(f): _text(value) for f, value in values if value != getattr(usual, f.name)}


def changed(options: Family, assignments: Iterable[str]) -> Family:
    """Return options changed by those of the ``NAME=VALUE`` settings that belong to their family, semantic or strict.

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
        known = _fields(StrictOptions if name.startswith(STRICT_PREFIX) else SemanticOptions)
        if name not in known:
            error = unknown_name("option", name, [*_fields(SemanticOptions), *_fields(StrictOptions)])
            raise OptionError(f"{error} ({_HELP})")
        if name.startswith(STRICT_PREFIX) == strict:
            changes[known[name].name] = _parsed(name, known[name], text)
    return replace(options, **changes)


def describe() -> list[tuple[str, str, str, str]]:
    """Return name, values, default and description of every option, semantic options first."""
    return [
        (name, _range(f), _text(f.default), f.metadata["what"])
        for family in (SemanticOptions, StrictOptions)
        for name, f in _fields(family).items()
    ]


def _fields(family: type[SemanticOptions] | type[StrictOptions]) -> dict[str, Field[Any]]:
    prefix = STRICT_PREFIX if family is StrictOptions else ""
    return {prefix + _name(f): f for f in fields(family) if f.name != "protocol"}


def _name(declared: Field[Any]) -> str:
    return declared.name.replace("_", "-")


def _text(value: Any) -> str:
    return "none" if value is None else str(value)


def _values(declared: Field[Any]) -> tuple[str, ...]:
    """Return the allowed values of an option; empty for a number."""
    if declared.metadata["values"]:
        return tuple(declared.metadata["values"])
    if get_origin(declared.type) is Literal:
        return get_args(declared.type)
    return tuple(declared.type) if isinstance(declared.type, type) and issubclass(declared.type, StrEnum) else ()


def _range(declared: Field[Any]) -> str:
    if values := _values(declared):
        return " | ".join(values)
    low, high = declared.metadata["range"]
    return f"{low} to {high}" + (" | none" if NoneType in get_args(declared.type) else "")


def _parsed(name: str, declared: Field[Any], text: str) -> Any:
    error = OptionError(f"option {name}: found {quote(text)}, expected {_range(declared)}")
    if values := _values(declared):
        if text not in values:
            raise error
        return values[values.index(text)]
    kinds = get_args(declared.type) or (declared.type,)
    if text == "none" and NoneType in kinds:
        return None
    try:
        value = (int if int in kinds else float)(text)
    except ValueError:
        raise error from None
    low, high = declared.metadata["range"]
    if not low <= value <= high:
        raise error
    return value
