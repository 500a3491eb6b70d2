"""Base class of results that are written as JSON, and the types of values in their JSON schemas."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]
Amount = Annotated[float, Meta(ge=0)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Gain = Annotated[float, Meta(ge=-1, le=1, description="difference of fractions")]
Correlation = Annotated[float, Meta(ge=-1, le=1)]
Span = Annotated[Sequence[Fraction], Meta(min_length=2, max_length=2, description="lowest and highest")]
GainSpan = Annotated[Sequence[float], Meta(min_length=2, max_length=2, description="lowest and highest difference")]
Rating = Annotated[int, Meta(ge=0, le=4)]
Pair = Annotated[Sequence[str], Meta(min_length=2, max_length=2)]
Box = Annotated[Sequence[float], Meta(min_length=4, max_length=4, description="x1, y1, x2, y2")]


class Document(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """JSON object with a fixed set of keys. Fields with their default value are omitted, so no value is null."""

    def to_dict(self) -> dict[str, Any]:
        """Return the object as it is written to JSON: dicts, lists, text and numbers."""
        return msgspec.json.decode(msgspec.json.encode(self), type=dict[str, Any])


class MeanFields(Document, frozen=True, kw_only=True):
    """Mean average precision over all, rare and non-rare classes; None if there are no such classes."""

    map: Fraction | None = None
    map_rare: Fraction | None = None
    map_non_rare: Fraction | None = None


class GainFields(Document, frozen=True, kw_only=True):
    """Differences of two mean average precisions over all, rare and non-rare classes; None if either mean is None."""

    map: Gain | None = None
    map_rare: Gain | None = None
    map_non_rare: Gain | None = None


def flat_numbers(document: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Return {path: value} of all numbers and booleans in nested objects; "strict/map" is "map" inside "strict".

    An object in a list is named by its protocol ("protocols/upt/map"). Texts and other lists are left out.

    >>> flat_numbers({"strict": {"map": 0.5}, "protocols": [{"protocol": "upt", "map": 0.4}]})
    {'strict/map': 0.5, 'protocols/upt/map': 0.4}
    """
    found: dict[str, float] = {}
    for key, value in document.items():
        if isinstance(value, Mapping):
            found |= flat_numbers(value, f"{prefix}{key}/")
        elif isinstance(value, list):
            for each in (each for each in value if isinstance(each, Mapping) and "protocol" in each):
                found |= flat_numbers(each, f"{prefix}{key}/{each['protocol']}/")
        elif isinstance(value, int | float):
            found[prefix + key] = value
    return found


D = TypeVar("D", bound=Document)


def as_base_class(value: Document, kind: type[D]) -> D:
    """Return ``value`` as an instance of ``kind``, a base class of its class; other fields are dropped."""
    return kind(**{name: getattr(value, name) for name in kind.__struct_fields__})
