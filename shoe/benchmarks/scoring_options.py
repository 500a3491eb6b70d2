"""Options of semantic and strict protocols; ``--option NAME=VALUE`` changes an option.

The command line, signatures and the reference documentation are generated from these classes. Option names are field
names with dashes for underscores; ``strict.`` marks strict options. A protocol is a named set of options.
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
    """Mean over recalls counted by 0.1 from both ends, of which 0.3 is too large (Matlab's 0:0.1:1; SCG, UPT, PViC)."""
    ELEVEN = "11-point"
    """Mean over the recalls i/10, i = 0 to 10, exactly."""
    HUNDRED_ONE = "101-point"
    """Mean over recalls k/100 (COCO)."""


class Ties(StrEnum):
    """Order of predictions with equal scores in a ranking, or expectation over all orders."""

    INPUT = "input"
    """Order of the input (stable sort)."""
    REVERSED = "reversed"
    """Reverse order of the input, as of ``argsort()[::-1]`` (THID)."""
    EXPECTED = "expected"
    """AP is its expectation over all orders: exact for at most 5,040 orders per class, otherwise estimated over random
    orders with a fixed seed, and its standard error is reported."""


STRICT_PREFIX = "strict."
At = Literal[">=", ">"]
FpScope = Literal["dataset", "image"]
TauBy = Literal["dataset", "image", "score", "best"]
NoInteraction = Literal["keep", "exclude"]
Assign = Literal["greedy-gt", "best-first", "hungarian", "confidence"]
_COUNT = (1, 10**9)
_SEMANTIC_INTERPOLATIONS = (
    Interpolation.ALL_POINTS, Interpolation.ELEVEN, Interpolation.HUNDRED_ONE, Interpolation.TRAPEZOID
)  # fmt: skip
_HELP = "`shoe score -o help` lists all options"


def option(
    default: Any,
    what: str,
    *values: Any,
    range: tuple[float, float] | None = None,  # noqa: A002
    quiet: bool = False,
) -> Any:
    """Return a dataclass field for an option of a protocol, whose description is ``what``.

    ``values`` are the allowed members of an enumeration type (default: all), ``range`` the lowest and highest number.
    Signatures omit a ``quiet`` option at its default value, because older signatures do not have it.
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
        """Rule by which two human-object pairs overlap, from ``overlap``, ``threshold`` and ``threshold_at``."""
        return OverlapRule(self.overlap, self.threshold, self.threshold_at == ">=")


@dataclass(frozen=True, slots=True)
class SemanticOptions(Overlapping):
    """Options of SHOE-mAP and SHOE-mF1; the defaults are protocol ``shoe`` (A1 to A33: docs/protocols.md 10.5)."""

    protocol: str = "shoe"
    combine: Literal["arithmetic", "geometric", "minimum"] = option("arithmetic", "HOI similarity from verb and object")
    weight: float = option(0.5, "weight of the verb in the HOI similarity", range=(0, 1))
    compare: Literal["components", "interactions"] = option(
        "components",
        "HOI similarity from verb and object, or from ratings of whole interactions if raters compared them",
    )
    assign: Assign = option("best-first", "rule that assigns predictions to ground truths (A1)")
    sigma_ties: Literal["confidence", "index", "iou"] = option(
        "confidence", "choice among equally similar candidates, under best-first and greedy-gt (A2)"
    )
    threshold: float = option(0.5, "IoU threshold of both boxes", range=(0, 1))
    threshold_at: At = option(">=", "comparison of the IoU with the threshold (A3)")
    overlap: Overlap = option(Overlap.CONTINUOUS, "how box areas are computed (A4)", Overlap.CONTINUOUS, Overlap.PIXELS)
    min_sigma: Literal["none", "positive", "delta"] = option(
        "none", "similarity that a match must exceed: none, 0, or delta (A5)"
    )
    missed: Literal["keep", "drop"] = option("keep", "whether a missed ground truth adds an entry (0, 0) (A6)")
    fp_scope: FpScope = option(
        "dataset", "classes in which an unmatched prediction can be a false positive in mAP (A7)"
    )
    f1_fp_scope: FpScope = option(
        "image", "classes in which an unmatched prediction can be a false positive in mF1 (A7)"
    )
    delta: float = option(
        0.5, "similarity from which an unmatched prediction is a false positive of a class (A8)", range=(0, 1)
    )
    delta_at: At = option(">=", "comparison of the similarity with delta in mAP (A8)")
    f1_delta_at: At = option(">", "comparison of the similarity with delta in mF1 (A8)")
    ap: Interpolation = option(
        Interpolation.ALL_POINTS, "interpolation of the precision-recall curve (A10)", *_SEMANTIC_INTERPOLATIONS
    )
    ties: Ties = option(
        Ties.EXPECTED, "AP with equal scores: mean over all orders of equal scores, or the order of the input (A11)",
        Ties.EXPECTED, Ties.INPUT,
    )  # fmt: skip
    classes: Literal["truth", "all"] = option("truth", "classes in the mean: with ground truth, or all (A12)")
    senses: Literal["table", "study", "first"] = option(
        "table",
        "sense of a ground-truth class: from the class table, from the authors' study, or the first sense of its word "
        "(A13)",
    )
    no_interaction: NoInteraction = option("keep", "whether the no_interaction classes are scored (A14)")
    ensemble: Literal["mean", "median", "majority", "majority-mean"] = option(
        "mean", "how ratings of several raters are combined (A15)"
    )
    sense: Literal["likely", "max", "first", "one"] = option(
        "likely",
        "sense of a predicted word: the most similar sense, with factor 0.8 if the word rarely has this sense; the "
        "most similar sense; the first sense; or one sense for all classes (A17)",
    )
    object_words: Literal["phrase-first", "pooled", "head", "phrase"] = option(
        "phrase-first", "which words of a multi-word object are looked up (A18)"
    )
    partial: Literal["weighed", "full"] = option(
        "weighed",
        "words that fit a class only in part (a make, a part, another place): reduced credit; or full credit, and only "
        "senses of the words' own lemmas (A32)",
    )
    alternatives: Literal["mean", "best"] = option(
        "mean",
        "similarity of a prediction with several words for the verb or the object (ride / hold): mean of the words, or "
        "the most similar word (A33)",
    )
    unrated: Literal["learned", "zero", "wup", "drop"] = option(
        "learned",
        "similarity of an unrated pair: predicted from the ratings of other pairs, 0, Wu-Palmer similarity, or the "
        "pair is left out (A19)",
    )
    direction: Literal["class", "symmetric"] = option(
        "class", "direction of similarity: from the class, or the mean of both directions (A21)"
    )
    tau: float = option(0.5, "confidence threshold of the predictions in mF1 (A22)", range=(0, 1))
    tau_by: TauBy = option(
        "dataset",
        "scale of tau: rank among all predictions (dataset) or among predictions of the image (image), from 0 for the "
        "last to 1 for the first; score; or best: the tau with the highest mF1 (A22)",
    )
    map_tau: float | None = option(None, "score threshold of the predictions in mAP (A23)", range=(0, 1))
    recall: Literal["fn", "truth"] = option("fn", "denominator of mF1's recall: TP + FN, or all ground truths (A24)")
    f1_classes: Literal["truth", "counted"] = option(
        "truth", "classes in the mean of F1: with ground truth, or also with false positives (A25)"
    )
    prediction_misses: Literal["all", "charged"] = option(
        "all", "unmatched predictions in the miss rate: all, or only predictions that count as false positives (A26)"
    )
    cap: int | None = option(None, "limit of predictions per image, best scores first (A27)", range=_COUNT)
    nms: float | None = option(None, "IoU threshold of pair NMS as in CDN, after the cap (A27)", range=(0, 1))
    repeats: Literal["near", "charged", "matched"] = option(
        "near",
        "duplicates of a better prediction that count only as false positives: near duplicates (overlapping boxes, "
        "same meaning), exact duplicates (same boxes and spelling), or none (matched like other predictions)",
    )

    @property
    def order_free(self) -> bool:
        """Whether scores are independent of the order of lines, images and ground truths."""
        by_score = self.assign == "best-first" and self.sigma_ties != "index" and self.ties is Ties.EXPECTED
        return by_score and self.cap is self.nms is None

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
    overlap: Overlap = option(Overlap.PIXELS, "how box areas are computed")
    threshold: float = option(0.5, "IoU threshold of both boxes", range=(0, 1))
    threshold_at: At = option(">=", "comparison of the IoU with the threshold")
    ap: Interpolation = option(Interpolation.ELEVEN_LINSPACE, "interpolation of the precision-recall curve")
    ties: Ties = option(Ties.INPUT, "order of predictions with equal scores")
    cap: int | None = option(None, "limit of predictions per image, best scores first", range=_COUNT)
    cap_ties: Literal["input", "first-copies"] = option(
        "input", "treatment of equal scores at the cap; first-copies reproduces the bug of GEN-VLKT"
    )
    nms: float | None = option(None, "IoU threshold of pair NMS, after the cap; CDN offers 0.7", range=(0, 1))
    class_cap: int | None = option(None, "limit of predictions per class", range=_COUNT)
    empty_images: Literal["count", "ignore"] = option(
        "count", "whether predictions on images without ground truth count; ignore reproduces the bug of QPIC and CDN"
    )
    no_interaction: NoInteraction = option("keep", "whether the no_interaction classes are scored")
    zero_tp: Literal["zero", "skip"] = option(
        "zero", "AP of a class with predictions but no true positive; skip is the rule of Diag-HOI"
    )
    unpredicted: Literal["zero", "full-only"] = option(
        "zero", "AP of a class without predictions; full-only is the rule of Diag-HOI"
    )
    truthless: Literal["absent", "zero"] = option(
        "absent", "AP of a class without ground truth; zero is the rule of THID"
    )
    known_object: Literal["no", "labels", "boxes"] = option(
        "no", "whether only images with the object of a class count, according to image-level labels or to boxes"
    )
    unseen: Literal["count", "apart"] = option(
        "count",
        "classes without a training pair; apart leaves them out of the mean over all classes, as CHOIR does",
        quiet=True,
    )


Family = TypeVar("Family", SemanticOptions, StrictOptions)


def settings(options: Any, *, quiet: bool = False) -> dict[str, str]:
    """Return {option name: value as text}; without options declared as quiet at their default, unless ``quiet``."""
    left_out = [] if quiet else [f.name for f in fields(options) if f.metadata.get("quiet")]
    shown = (f for f in fields(options) if f.name not in left_out or getattr(options, f.name) != f.default)
    return {options.prefix + _name(f): _text(getattr(options, f.name)) for f in shown}


def changed(options: Family, assignments: Iterable[str]) -> Family:
    """Return a copy of the options with ``NAME=VALUE`` settings applied.

    Names with the prefix ``strict.`` belong to :class:`StrictOptions`, others to :class:`SemanticOptions`. Settings for
    the other class are not applied; only their names are checked.

    >>> changed(SemanticOptions(), ["delta=0.25", "strict.cap=100"]).delta
    0.25

    Raises OptionError for an unknown name, or a missing or invalid value.
    """
    strict = isinstance(options, StrictOptions)
    changes: dict[str, Any] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not equals:
            raise OptionError(f"option {quote(assignment)}: must have the form NAME=VALUE ({_HELP})")
        known = _fields(StrictOptions if name.startswith(STRICT_PREFIX) else SemanticOptions)
        if name not in known:
            about = ", ".join(option for option, _, _, what in describe() if name.lower() in what.lower().split())
            error = unknown_name("option", name, [option for option, *_ in describe()])
            raise OptionError(f"{f'unknown option {quote(name)}; nearest: {about}' if about else error} ({_HELP})")
        if name.startswith(STRICT_PREFIX) == strict:
            changes[known[name].name] = _parsed(name, known[name], text)
    return replace(options, **changes)


def describe() -> list[tuple[str, str, str, str]]:
    """Return name, values, default and description of every option, semantic options first."""
    known = _fields(SemanticOptions) | _fields(StrictOptions)
    return [(name, _range(f), _text(f.default), f.metadata["what"]) for name, f in known.items()]


def _fields(family: type[SemanticOptions] | type[StrictOptions]) -> dict[str, Field[Any]]:
    prefix = STRICT_PREFIX if family is StrictOptions else ""
    return {prefix + _name(f): f for f in fields(family) if f.name != "protocol"}


def _name(declared: Field[Any]) -> str:
    return declared.name.replace("_", "-")


def _text(value: Any) -> str:
    return "none" if value is None else str(value)


def _values(declared: Field[Any]) -> tuple[str, ...]:
    if get_origin(declared.type) is Literal:
        return get_args(declared.type)
    is_enum = isinstance(declared.type, type) and issubclass(declared.type, StrEnum)
    return declared.metadata["values"] or (tuple(declared.type) if is_enum else ())  # type: ignore[arg-type]


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
