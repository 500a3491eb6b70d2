"""Reading raters.toml; every wrong field is one line that names file, rater, field, what was found and expected.

::

    currency = "USD"

    [ensemble]
    prefilter = ["verb"]    # what the first rater rates 0 in these parts of speech goes no further,
    sample = 400            # but for so many of those pairs,
    seed = 0                # drawn by this number

    [[rater]]
    name = "qwen"           # its column in the map
    kind = "openai"
    model = "qwen3-32b"
    revision = ""
    pairs_per_request = 1
    repeats = 1
    base_url = "http://localhost:8000/v1"    # and what else the kind has
    sampling = {temperature = 0, max_tokens = 20}
    price = {input = 0.1, output = 0.3, cached_input = 0.05}    # for a million tokens
    limits = {concurrency = 16, requests_per_minute = 600, timeout = 120, tries = 6}

A key of an endpoint is never in the file: a kind's ``api_key_env`` names the environment variable that holds it.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from math import isfinite
from pathlib import Path
from typing import Any

from shoe.core.errors import InputError, OptionError, near, quote
from shoe.io.files import read_bytes
from shoe.lexicon.expressions import POS
from shoe.llm.costs import BOUNDS
from shoe.rating.config import Ensemble, Limits, Price, RaterConfig, RatersFile
from shoe.rating.kinds import REQUIRED, Setting, kind_of

MOST_PAIRS_PER_REQUEST = 100
MOST_REPEATS = 100
_TOO_MUCH = 1e100
_MOST_LEVELS = 50
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,39}")
_NAME_FORM = "1 to 40 letters, digits and _ . : -, a letter or digit first"
_TAKEN = ("class_synset", "synset")
_KEY = re.compile(
    r"\b(sk|pk|rk|hf|gsk|xai|r8|nvapi|glpat|ghp|github_pat|pplx)[-_][A-Za-z0-9_-]{16,}|\bA(KI|Iz)[Aa][A-Za-z0-9_-]{16,}"
    r"|\bBearer\s+\S{8,}|://[^/\s@]*@|[?&](api[-_]?)?(key|token)=."
)
_RANDOM = re.compile(r"(?=\w*[a-z])(?=\w*[A-Z])(?=\w*[0-9]\w*[0-9])[A-Za-z0-9_]{32,}")
_VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]{0,99}")
_SECRET_FIELDS = re.compile(r"(api|access|auth)?[-_]?(key|token|secret|password|passwd|authorization|bearer)", re.I)
_TYPES: dict[type, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
    Path: "the name of a file",
}


def read_raters(path: str | Path) -> RatersFile:
    """Read raters.toml.

    Raises:
        InputError: for a file that is no TOML, or a field that is not what it should be.
    """
    path = Path(path)
    try:
        content = tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError(path, found="bytes that are not UTF-8", expected="TOML") from None
    except tomllib.TOMLDecodeError as error:
        # The message says where, and shows at most one character of the file.
        raise InputError(path, found=f"no TOML ({error})", expected="raters in TOML") from None
    except RecursionError:
        raise InputError(path, found="lists nested hundreds deep", expected="raters in TOML") from None
    except ValueError:  # of Python's, which turns no more than some thousand digits into a number
        raise InputError(path, found="a number of thousands of digits", expected="raters in TOML") from None
    _refuse_keys(content, _Place(path, None, ""))
    top = _Table(_Place(path, None, ""), content)
    top.allow(("rater", "ensemble", "currency"))
    raters = top.tables("rater")
    if not raters:
        raise InputError(path, found="no rater", expected="one or more tables [[rater]]")
    configs = tuple(_rater(path, number, table) for number, table in enumerate(raters, start=1))
    _check_columns(path, configs)
    return RatersFile(raters=configs, ensemble=_ensemble(top), currency=top.text("currency", "USD", longest=10))


def columns_of(config: RaterConfig) -> list[str]:
    """Return the names of a rater's columns in a map: its own, or one for each repeat."""
    return [config.name] if config.repeats == 1 else [f"{config.name}-{n}" for n in range(1, config.repeats + 1)]


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the file something stands."""

    path: Path
    rater: str | None
    prefix: str

    def error(self, field: str, found: str, expected: str, hint: str | None = None) -> InputError:
        name = (self.prefix + field).rstrip(".") or None
        return InputError(self.path, record=self.rater, field=name, found=found, expected=expected, hint=hint)


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of the file, read field by field."""

    place: _Place
    content: Mapping[str, Any]

    def allow(self, known: Sequence[str]) -> None:
        for name in self.content:
            if name not in known:
                alike = near(name, known)
                hint = f"did you mean {alike[0]}?" if alike else f"known: {', '.join(known)}"
                raise self.place.error("", f"the field {quote(name)}", "one that shoe knows", hint)

    def value(self, name: str, type_: type, default: Any = REQUIRED) -> Any:
        if name not in self.content:
            if default is REQUIRED:
                raise self.place.error(name, "nothing", _TYPES[type_])
            return default
        value = self.content[name]
        wanted: dict[type, tuple[type, ...]] = {float: (int, float), Path: (str,)}
        if not isinstance(value, wanted.get(type_, (type_,))) or (isinstance(value, bool) and type_ is not bool):
            raise self.place.error(name, _shown(value), _TYPES[type_])
        if isinstance(value, int | float) and not abs(value) < _TOO_MUCH:
            raise self.place.error(name, _shown(value), f"a finite number below {_TOO_MUCH:g}")
        return value

    def text(self, name: str, default: Any = REQUIRED, longest: int = 200) -> str:
        value: str = self.value(name, str, default)
        if name in self.content and (not value.isprintable() or not value.strip() or len(value) > longest):
            raise self.place.error(name, _shown(value), f"1 to {longest} printable characters")
        return value

    def whole(self, name: str, default: int, least: int, most: int) -> int:
        value: int = self.value(name, int, default)
        if not least <= value <= most:
            raise self.place.error(name, str(value), f"{least} to {most}")
        return value

    def positive(self, name: str, default: float | None, *, zero: bool = False) -> float | None:
        value: float | None = self.value(name, float, default)
        if value is not None and (value < 0 or (value == 0 and not zero)):
            raise self.place.error(name, str(value), "0 or more" if zero else "more than 0")
        return value

    def table(self, name: str) -> _Table:
        return _Table(_Place(self.place.path, self.place.rater, f"{name}."), self.value(name, dict, {}))

    def tables(self, name: str) -> list[Mapping[str, Any]]:
        value = self.content.get(name, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            raise self.place.error(name, _shown(value), f"tables, each begun by [[{name}]]")
        return value


def _ensemble(top: _Table) -> Ensemble:
    default, table = Ensemble(), top.table("ensemble")
    table.allow([field.name for field in fields(Ensemble)])
    parts: list[Any] = table.value("prefilter", list, list(default.prefilter))
    if not all(isinstance(part, str) and part in POS for part in parts) or len(set(parts)) != len(parts):
        raise table.place.error("prefilter", _shown(parts), 'a list of "verb" and "object"')
    return Ensemble(
        prefilter=tuple(part for part in POS if part in parts),
        sample=table.whole("sample", default.sample, 0, 1_000_000),
        seed=table.whole("seed", default.seed, 0, 2**63 - 1),
    )


def _rater(path: Path, number: int, content: Mapping[str, Any]) -> RaterConfig:
    named = content.get("name")
    record = f"rater {quote(named)}" if isinstance(named, str) else f"rater {number}"
    table = _Table(_Place(path, record, ""), content)
    try:
        kind = kind_of(table.text("kind"))
    except OptionError as error:
        raise table.place.error("kind", quote(content["kind"]), "a kind of rater", str(error)) from None
    common = [field.name for field in fields(RaterConfig) if field.name != "settings"]
    own = [name for name in common if kind.prompted or name not in ("sampling", "pairs_per_request")]
    table.allow([*own, *kind.settings])
    name = table.text("name")
    if not _NAME.fullmatch(name) or name in _TAKEN:
        raise table.place.error("name", quote(name), f"the name of a column: {_NAME_FORM}")
    return RaterConfig(
        name=name,
        kind=kind.name,
        model=table.text("model", REQUIRED if kind.model is None else kind.model),
        revision=table.text("revision", ""),
        pairs_per_request=table.whole("pairs_per_request", 1, 1, MOST_PAIRS_PER_REQUEST),
        repeats=table.whole("repeats", 1, 1, MOST_REPEATS),
        sampling=_sampling(table.table("sampling")),
        settings={setting: _setting(table, setting, what) for setting, what in kind.settings.items()},
        price=_price(table.table("price")),
        limits=_limits(table.table("limits")),
    )


def _setting(table: _Table, name: str, setting: Setting) -> Any:
    value = table.value(name, setting.type, setting.default)
    if name not in table.content:
        return value
    if setting.choices and value not in setting.choices:
        alike = near(str(value), map(str, setting.choices))
        hint = f"did you mean {alike[0]}?" if alike else None
        raise table.place.error(name, _shown(value), ", ".join(map(str, setting.choices)), hint)
    if setting.type is Path:
        return table.place.path.parent / table.text(name, longest=4096)
    return table.text(name, longest=2000) if setting.type is str else value


def _sampling(table: _Table) -> Mapping[str, Any]:
    """Parameters for the endpoint as they are; only what JSON has."""
    for name, value in table.content.items():
        if not _is_json(value, _MOST_LEVELS):
            expected = f"what JSON has (no date, no infinity, no more than 63 bits or {_MOST_LEVELS} levels)"
            raise table.place.error(name, _shown(value), expected)
        if name in BOUNDS and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise table.place.error(name, _shown(value), "a whole number of tokens, 1 or more")
    return table.content


def _price(table: _Table) -> Price:
    table.allow([field.name for field in fields(Price)])
    return Price(
        input=table.positive("input", 0.0, zero=True) or 0.0,
        output=table.positive("output", 0.0, zero=True) or 0.0,
        cached_input=table.positive("cached_input", None, zero=True),
    )


def _limits(table: _Table) -> Limits:
    table.allow([field.name for field in fields(Limits)])
    default = {field.name: field.default for field in fields(Limits) if field.default is not MISSING}
    return Limits(
        concurrency=table.whole("concurrency", default["concurrency"], 1, 10_000),
        requests_per_minute=table.positive("requests_per_minute", None),
        tokens_per_minute=table.positive("tokens_per_minute", None),
        timeout=table.positive("timeout", default["timeout"]) or 0.0,
        tries=table.whole("tries", default["tries"], 1, 100),
    )


def _check_columns(path: Path, configs: Sequence[RaterConfig]) -> None:
    seen: set[str] = set()
    for config in configs:
        for column in columns_of(config):
            if column in seen:
                place = _Place(path, f"rater {quote(config.name)}", "")
                raise place.error("name", f"a second column {quote(column)}", "each rater under a name of its own")
            seen.add(column)


def _refuse_keys(value: Any, place: _Place, field: str = "") -> None:
    """Refuse what looks like an endpoint's key, without showing it."""
    last = field.rpartition(".")[2]
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_keys(name, place, field)
            _refuse_keys(inner, place, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for inner in value:
            _refuse_keys(inner, place, field)
    elif isinstance(value, str):
        named = last == "api_key_env"
        if (
            _KEY.search(value)
            or _RANDOM.fullmatch(value)
            or _SECRET_FIELDS.fullmatch(last)
            or (named and not _VARIABLE.fullmatch(value))
        ):
            where = "a field" if _KEY.search(field) or _RANDOM.search(field) or not field else field
            expected = "api_key_env with the name of the environment variable that holds the key"
            raise place.error(where, "what looks like a key (not shown)", expected)


def _is_json(value: Any, levels: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_json(one, levels - 1) for one in inner)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, str) or (isinstance(value, float) and isfinite(value))


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"a {'table' if isinstance(value, dict) else 'list'} of {len(value)}"
    return quote(value)
