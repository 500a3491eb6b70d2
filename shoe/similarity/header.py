"""What map.json says of a similarity map: the fields that every map has, checked; all else is prose."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from shoe.core.errors import InputError, quote
from shoe.io.json import parse_json
from shoe.io.typed import explained
from shoe.lexicon.store import lexicon, wordnet
from shoe.similarity.ensemble import HIGHEST

VERSION = 1
ABOUT = "map.json"


def _meant(expected: str, least: int | None = None, **more: str) -> Meta:
    return Meta(min_length=least, extra={"expected": expected, **more})


_RATERS = "one or more raters, each with a name of its own and a model"
_Name = Annotated[str, _meant("a name", 1)]


class _Table(msgspec.Struct, frozen=True):
    sha256: Annotated[str | None, _meant("the SHA-256 of the table")] = None


class _File(msgspec.Struct, frozen=True):
    sha256: Annotated[str, _meant("the SHA-256 of the file")]


class Extended(msgspec.Struct, frozen=True):
    """A shipped map that another one adds ratings to, and its content then."""

    name: _Name
    digest: Annotated[str, _meant("8 hex digits of that map's content")]


class UsedLexicon(msgspec.Struct, frozen=True):
    """Whose senses were rated, where they are not WordNet 3.0's."""

    name: _Name
    digest: Annotated[str, _meant("8 hex digits of that lexicon's content")]


class RaterEntry(msgspec.Struct, frozen=True):
    """What a rater has to say, and may."""

    name: _Name
    model: Annotated[str, _meant("who or what is behind the rater", 1)]
    note: str = ""
    weight: Annotated[float, Meta(gt=0, le=1e6, extra={"expected": "a number above 0"})] = 1.0
    omits: bool = False


class Header(msgspec.Struct, frozen=True):
    """What every map.json says; ``format`` is for people."""

    version: Annotated[Literal[1], _meant(f"{VERSION}, the version that this shoe reads")]
    name: _Name
    dataset: Annotated[str, _meant("a dataset's name", 1)]
    scale: Annotated[tuple[Literal[0], Literal[4]], _meant(f"[0, {HIGHEST}]")]
    ensemble: Annotated[str, _meant("an ensemble's name", 1)]
    raters: Annotated[list[RaterEntry], _meant(_RATERS, 1, item="rater")]
    verbs: _Table
    objects: _Table
    learned: _File | None = None
    interactions: _File | None = None
    extends: Extended | None = None
    lexicon: UsedLexicon | None = None
    format: Any = ""


def read_about(path: Path) -> tuple[Header, dict[str, Any]]:
    """Read a map.json: what every one says, and all of it.

    Raises:
        InputError: naming the field that is missing or wrong.
    """
    try:
        about = parse_json(path, path.read_bytes())
        msgspec.json.encode([[[[about]]]])  # as deep as it stands in anything that is made of it
    except RecursionError:
        raise InputError(path, found="values nested hundreds deep", expected="prose, numbers and lists") from None
    except OSError as error:
        raise InputError(path, found=str(error.strerror), expected="a JSON object") from None
    if not isinstance(about, dict):
        raise InputError(path, found=quote(about), expected="a JSON object")
    try:
        header = msgspec.convert(about, Header)
    except msgspec.ValidationError as error:
        raise explained(path, error, about, Header, lambda number, _: f"rater {number + 1}") from None
    texts = [("name", header.name), ("dataset", header.dataset), ("ensemble", header.ensemble)]
    texts += [("raters", text) for rater in header.raters for text in (rater.name, rater.model)]
    for field_, text in texts:
        if not text.isprintable():
            raise InputError(path, field=field_, found=quote(text), expected="a name that can be printed")
    names = [rater.name for rater in header.raters]
    for name in names:
        if names.count(name) > 1:
            raise InputError(path, field="raters", found=f"{quote(name)} twice", expected="a name of its own for each")
    return header, about


def check_lexicon(path: Path, header: Header) -> None:
    """Refuse a map whose senses are not those of the lexicon in use.

    Raises:
        InputError: naming both lexicons.
    """
    used, rated = lexicon().concepts, header.lexicon or UsedLexicon(wordnet().label, wordnet().digest)
    if rated.digest != used.digest:
        hint = "shoe --lexicon FILE uses another one, shoe lexicon carry takes a map from one to another"
        expected = f"{used.label} ({used.digest}), which is in use"
        raise InputError(path, field="lexicon", found=f"{rated.name} ({rated.digest})", expected=expected, hint=hint)


def lexicon_entry() -> dict[str, Any]:
    """What map.json says of the lexicon in use: nothing of WordNet 3.0."""
    used = lexicon().concepts
    return {} if used is wordnet() else {"lexicon": {"name": used.label, "digest": used.digest}}
