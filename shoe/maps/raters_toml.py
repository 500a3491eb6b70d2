"""Read raters.toml, of which docs/maps.md has an example.

Error messages name the file, rater and field, the value found, and the values expected. API keys are never in the file:
``api_key_env`` and ``headers`` name environment variables that contain the values.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec import inspect

from shoe.core.errors import InputError, OptionError, did_you_mean, quote
from shoe.core.io.files import read_bytes
from shoe.lexicon.senses import POS
from shoe.llm.budget import BOUNDS
from shoe.llm.endpoint import OFFICIAL_KEY, VARIABLE, Secrets
from shoe.maps.config import NAME_RULE, Ensemble, RaterConfig, RatersFile
from shoe.maps.raters.kinds import kind_of

_TOO_MUCH = 1e100
_MOST_LEVELS = 50
_LONGEST = {"currency": 10, "name": 200, "kind": 200, "model": 200, "revision": 200, "file": 4096}
_LONGEST_OTHER = 2000
_KEY = re.compile(
    r"\b(sk|pk|rk|hf|gsk|xai|r8|nvapi|glpat|ghp|github_pat|pplx)[-_][A-Za-z0-9_-]{16,}|\bA(KI|Iz)[Aa][A-Za-z0-9_-]{16,}"
    r"|\bBearer\s+\S{8,}|://[^/\s@]*@|[?&](api[-_]?)?(key|token)=.",
    re.I,
)
_RANDOM = re.compile(r"(?=\w*[a-z])(?=\w*[A-Z])(?=\w*[0-9]\w*[0-9])[A-Za-z0-9_]{32,}")
_SECRET_FIELDS = re.compile(r"(api|access|auth)?[-_]?(key|token|secret|password|passwd|authorization|bearer)", re.I)
_FIELD = re.compile(r"`(.*)`")
_Kind = TypeVar("_Kind", bound=msgspec.Struct)


def read_raters(path: str | Path) -> RatersFile:
    """Read raters.toml; InputError if it is not TOML, a field is invalid, or a value looks like an API key."""
    path = Path(path)
    try:
        content = tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        found = {
            UnicodeDecodeError: "bytes that are not UTF-8",
            tomllib.TOMLDecodeError: f"no TOML ({error})",  # the message shows at most one character of the file
            RecursionError: "lists nested hundreds deep",
        }.get(type(error), "a number of thousands of digits")  # Python raises ValueError for such numbers
        raise InputError(path, found=found, expected="raters in TOML") from None
    _refuse_keys(content, path, Secrets(*_held_by_variables(content)))
    raters = content.pop("rater", [])
    if not isinstance(raters, list) or not all(isinstance(one, dict) for one in raters):
        raise InputError(path, field="rater", found=_as_text(raters), expected="tables that begin with [[rater]]")
    top = _Table(path, None, content).converted(_Top)
    if not raters:
        raise InputError(path, found="no rater", expected="one or more tables [[rater]]")
    configs = tuple(_rater(path, number, table) for number, table in enumerate(raters, start=1))
    seen: set[str] = set()
    for config in configs:
        if again := [column for column in config.columns if column in seen]:
            record, found = f"rater {quote(config.name)}", f"a second column {quote(again[0])}"
            expected = "a different name for each rater"
            raise InputError(path, record=record, field="name", found=found, expected=expected)
        seen.update(config.columns)
    parts = tuple(part for part in POS if part in top.ensemble.prefilter)
    return RatersFile(configs, msgspec.structs.replace(top.ensemble, prefilter=parts), top.currency)


class _Top(msgspec.Struct, forbid_unknown_fields=True):
    ensemble: Ensemble = Ensemble()
    currency: str = "USD"


@dataclass(frozen=True, slots=True)
class _Table:
    """One table of the file; ``rater`` names its rater in messages, and is None for the top level of the file."""

    path: Path
    rater: str | None
    content: Mapping[str, Any]

    def error(self, field: str | None, found: str, expected: str, hint: str | None = None) -> InputError:
        return InputError(self.path, record=self.rater, field=field, found=found, expected=expected, hint=hint)

    def unknown(self, name: str, field: str | None, known: list[str]) -> InputError:
        hint = did_you_mean(name, known) or f"known: {', '.join(known)}"
        return self.error(field, f"the field {quote(name)}", "a known field", hint)

    def converted(self, kind: type[_Kind]) -> _Kind:
        self._check_values(self.content)
        try:
            return msgspec.convert(self.content, kind, dec_hook=self._file)
        except msgspec.ValidationError as error:
            raise self._translated(str(error), kind) from None

    def _file(self, kind: type, value: Any) -> Path:
        if not isinstance(value, str):
            raise ValueError("not a file name")
        return self.path.parent / value

    def _check_values(self, values: Mapping[str, Any], before: str = "") -> None:
        """Check that strings are printable and numbers finite, except sampling parameters, which have other rules."""
        for name, value in values.items():
            longest = _LONGEST.get(name, _LONGEST_OTHER)
            if isinstance(value, dict):
                if name != "sampling":
                    self._check_values(value, f"{before}{name}.")
            elif isinstance(value, str):
                if not value.isprintable() or not value.strip() or len(value) > longest:
                    raise self.error(before + name, _as_text(value), f"1 to {longest} printable characters")
            elif isinstance(value, int | float) and not abs(value) < _TOO_MUCH:
                raise self.error(before + name, _as_text(value), f"a finite number below {_TOO_MUCH:g}")

    def _translated(self, message: str, kind: type) -> InputError:
        problem, _, at = message.partition(" - at `$")
        path = re.sub(r"\[.*", "", at.strip(".`"))  # if an item of a list is wrong, the message shows the list
        info, value = inspect.type_info(kind), dict(self.content)
        steps = path.split(".") if path else []
        for step in steps:
            info, value = _plain(_fields(info)[step].type), value[step]
        named = _FIELD.search(problem)
        if "unknown field" in problem and named:
            return self.unknown(named[1], path or None, list(_fields(info)))
        if "missing required" in problem and named:
            expected = _words(_plain(_fields(info)[named[1]].type), None)
            return self.error(".".join([*steps, named[1]]), "nothing", expected)
        hint = did_you_mean(str(value), map(str, info.values)) if isinstance(info, inspect.LiteralType) else None
        return self.error(path or None, _as_text(value), _words(info, value), hint)


def _fields(info: inspect.Type) -> dict[str, inspect.Field]:
    return {field.name: field for field in info.fields} if isinstance(info, inspect.StructType) else {}


def _plain(info: inspect.Type) -> inspect.Type:
    """Return a type without annotations and without None, because TOML has no null value."""
    if isinstance(info, inspect.Metadata):
        return _plain(info.type)
    if isinstance(info, inspect.UnionType):
        return next(one for one in info.types if not isinstance(one, inspect.NoneType))
    return info


def _words(info: inspect.Type, value: Any) -> str:
    """Return the range of a field of type ``info`` as text if ``value`` has this type, else the type."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match info:
        case inspect.IntType(ge=int() as least, le=int() as most) if is_number:
            return f"{least} to {most}"
        case inspect.IntType():
            return "a whole number"
        case inspect.FloatType(gt=least) if is_number and least is not None:
            return f"more than {least:g}"
        case inspect.FloatType(ge=least, le=most) if is_number and least is not None:
            return f"{least:g} or more" if most is None else f"{least:g} to {most:g}"
        case inspect.FloatType():
            return "a number"
        case inspect.StrType(pattern=str()) if isinstance(value, str):
            return f"the name of a column: {NAME_RULE}"
        case inspect.StrType():
            return "a text"
        case inspect.BoolType():
            return "true or false"
        case inspect.LiteralType(values=values):
            return ", ".join(map(str, values))
        case inspect.TupleType(item_types=items):
            return f"a list of {len(items)} numbers"
        case inspect.VarTupleType(item_type=inspect.LiteralType(values=values)):
            return "a list of " + " and ".join(f'"{one}"' for one in values)
        case inspect.CustomType():
            return "the name of a file"
    return "a table"


def _rater(path: Path, number: int, content: Mapping[str, Any]) -> RaterConfig:
    named = content.get("name")
    table = _Table(path, f"rater {quote(named)}" if isinstance(named, str) else f"rater {number}", content)
    for field in ("name", "kind"):
        if not isinstance(content.get(field), str):
            raise table.error(field, _as_text(content[field]) if field in content else "nothing", "a text")
    try:
        kind = kind_of(content["kind"])
    except OptionError as error:
        raise table.error("kind", quote(content["kind"]), "a kind of rater", str(error)) from None
    for field in ("sampling", "pairs_per_request"):
        if field in content and not kind.chats:
            known = [name for name in kind.__struct_fields__ if name not in ("sampling", "pairs_per_request")]
            raise table.unknown(field, None, known)
    own = {name: value for name, value in content.items() if name != "kind"}
    config = _Table(path, table.rater, own).converted(kind)
    for name, value in config.sampling.items():
        if not _is_json(value, _MOST_LEVELS):
            expected = f"a JSON value (no date, no infinity, at most 63 bits and {_MOST_LEVELS} levels)"
            raise table.error(f"sampling.{name}", _as_text(value), expected)
        if name in BOUNDS and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise table.error(f"sampling.{name}", _as_text(value), "a whole number of tokens, 1 or more")
    return config


def _held_by_variables(content: Mapping[str, Any]) -> Iterator[str]:
    """Yield the values of the environment variables that the file names, and of ``OPENAI_API_KEY``."""
    raters = content.get("rater")
    tables = [one for one in raters if isinstance(one, dict)] if isinstance(raters, list) else []
    headers = [name for table in tables if isinstance(found := table.get("headers"), dict) for name in found.values()]
    for name in (OFFICIAL_KEY, *headers, *(table.get("api_key_env") for table in tables)):
        if isinstance(name, str) and VARIABLE.fullmatch(name):
            yield os.environ.get(name, "").strip()


def _refuse_keys(value: Any, path: Path, secrets: Secrets, field: str = "") -> None:
    """Raise InputError if a value is an API key or looks like an API key, before any message can show the value."""
    last = field.rpartition(".")[2]
    if isinstance(value, Mapping):
        for name, inner in value.items():
            _refuse_keys(name, path, secrets, field)
            _refuse_keys(inner, path, secrets, f"{field}.{name}" if field else name)
    elif isinstance(value, list):
        for inner in value:
            _refuse_keys(inner, path, secrets, field)
    elif isinstance(value, str):
        looks = secrets.hidden(value) != value or _KEY.search(value) or _RANDOM.fullmatch(value)
        of_header = field == f"rater.headers.{last}"
        misnamed = (last == "api_key_env" or of_header) and not VARIABLE.fullmatch(value)
        if looks or (_SECRET_FIELDS.fullmatch(last) and not of_header) or misnamed:
            where = "a field" if _KEY.search(field) or _RANDOM.search(field) or not field else field
            expected = "api_key_env or headers with the name of the environment variable that contains the key"
            raise InputError(path, field=where, found="what looks like a key (not shown)", expected=expected)


def _is_json(value: Any, levels: int) -> bool:
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return levels > 0 and all(_is_json(one, levels - 1) for one in inner)
    if isinstance(value, int):
        return -(2**63) <= value < 2**63
    return isinstance(value, str) or (isinstance(value, float) and isfinite(value))


def _as_text(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"a {'table' if isinstance(value, dict) else 'list'} of {len(value)}"
    return quote(value)
