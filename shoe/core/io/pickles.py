"""Safe reader for pickles of plain containers, numbers, strings and NumPy arrays.

A pickle is a program that can call any function by its name. This reader replaces the few functions that plain values
need by functions of this module, and refuses all other names. Arrays become lists. The reader uses the pure-Python
unpickler, because the C unpickler allocates as much memory as a damaged file requests.
"""

import io
import math
import pickle
import struct
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from shoe.core.errors import InputError, quote

TORCH_TO_JSON = (
    "convert the file to JSON: import json, torch; "
    "json.dump(torch.load(FILE, weights_only=True), open('answers.json', 'w'), default=lambda x: x.tolist())"
)
"""Hint: code with which a user converts a file saved by torch to JSON."""
_DEEPEST = 32
_DAMAGE = (
    pickle.UnpicklingError, EOFError, ValueError, TypeError, KeyError, IndexError, AttributeError, ImportError,
    MemoryError, OverflowError, struct.error, RecursionError, AssertionError, NotImplementedError,
)  # fmt: skip
_SIMPLE = frozenset({float, str, bool, type(None)})
_HASHED = _SIMPLE | {int, bytes}
_PACKED = {"f8": "d", "f4": "f", "i8": "q", "i4": "i"}  # ``struct`` unpacks small arrays faster than NumPy
_EXPECTED = "a pickle of plain lists, dicts, numbers, text and NumPy arrays"


def load_plain(path: str | Path, data: bytes) -> Any:
    """Return the content of a pickle as plain values: arrays, tuples and sets become lists, and bytes become text.

    Raises InputError if the pickle contains other types or calls, is damaged, or expands to far more than its file
    size.
    """
    try:
        found = _Machine(stream := io.BytesIO(data)).load()
        if stream.read().strip():
            raise _RefusedError("several pickled objects", "dump all predictions as one list, by one call")
        return _Plainer(4 * len(data) + 1000).visit(found, 0)[0]
    except _RefusedError as error:
        raise InputError(path, found=str(error), expected=_EXPECTED, hint=error.hint) from None
    except _DAMAGE as error:
        raise InputError(path, found=f"a damaged pickle ({type(error).__name__})", expected=_EXPECTED) from None


class _RefusedError(Exception):
    def __init__(self, what: str, hint: str | None = None) -> None:
        super().__init__(what)
        self.hint = hint


class _Machine(pickle._Unpickler):
    """Unpickler that allows only the names in :data:`_NAMES`, and refuses nested dict keys."""

    stack: list[Any]
    append: Callable[[Any], None]
    pop_mark: Callable[[], list[Any]]

    def _item(self) -> None:
        value, key = self.stack.pop(), self.stack.pop()
        self.stack[-1][_flat(key)] = value

    def _items(self) -> None:
        items = self.pop_mark()
        mapping = self.stack[-1]
        for key, value in zip(items[::2], items[1::2], strict=True):
            mapping[_flat(key)] = value

    def _dict(self) -> None:
        items = self.pop_mark()
        self.append({_flat(key): value for key, value in zip(items[::2], items[1::2], strict=True)})

    def _members(self) -> None:
        items = self.pop_mark()
        self.stack[-1].update(map(_flat, items))

    def _frozenset(self) -> None:
        self.append(frozenset(map(_flat, self.pop_mark())))

    dispatch: ClassVar[dict[int, Callable[[Any], None]]] = {
        **pickle._Unpickler.dispatch,
        pickle.SETITEM[0]: _item,
        pickle.SETITEMS[0]: _items,
        pickle.DICT[0]: _dict,
        pickle.ADDITEMS[0]: _members,
        pickle.FROZENSET[0]: _frozenset,
    }

    def find_class(self, module: str, name: str) -> Any:
        home = module.replace("numpy._core", "numpy.core").replace("__builtin__", "builtins")
        if (known := _NAMES.get((home, name)) or _CLASSES.get(name)) is not None:
            return _Name(known)
        if module.split(".")[0] == "torch":
            raise _RefusedError("a torch tensor", TORCH_TO_JSON)
        raise _RefusedError(f"a reference to {quote(f'{module}.{name}')}, which could execute code")

    def persistent_load(self, pid: Any) -> Any:
        raise _RefusedError("a reference to data outside the file")


def _flat(key: Any) -> Any:
    """Return a dict key or set member; raise an error if it is nested, because deep hashing can crash the process."""
    if type(key) not in _HASHED and not (type(key) is tuple and _HASHED.issuperset(map(type, key))):
        nested = " with nested values" if type(key) is tuple else ""
        raise _RefusedError(f"a key of type {type(key).__name__}{nested}")
    return key


class _Name:
    """Wrapper of a function that the pickle refers to by name; the pickle can call the function but not modify it."""

    __slots__ = ("_call",)

    def __init__(self, call: Callable[..., Any]) -> None:
        self._call = call

    def __call__(self, *args: Any) -> Any:
        return self._call(*args)

    def __setstate__(self, state: object) -> None:
        raise _RefusedError("a change of a function's attributes")


class CacheRecord(dict[Any, Any]):
    """Record of a V-COCO prediction file ("cache") by UPT and its successors; a missing key means a score of 0."""

    __slots__ = ()


class _Dtype:
    def __init__(self, code: Any, *_: Any) -> None:
        self.code, self.order = str(code), "="

    def __setstate__(self, state: Any) -> None:
        self.order = str(state[1])

    @cached_property
    def numbers(self) -> struct.Struct | None:
        """``struct`` format of one number; None if ``struct`` cannot unpack the type."""
        code = _PACKED.get(self.code.lstrip("<>=|"))
        return None if code is None else struct.Struct((">" if self.order == ">" else "<") + code)

    @cached_property
    def numpy(self) -> "np.dtype[Any]":
        found = np.dtype(self.code.lstrip("<>=|"))
        if found.kind not in "biufU" or found.itemsize == 0:
            raise _RefusedError(f"an array of {quote(self.code)}")
        return found.newbyteorder(">" if self.order == ">" else "<")


class _Array:
    """NumPy array as a nested list; the pickle sets its content by ``__setstate__``."""

    __slots__ = ("value",)

    def __init__(self, *_: Any) -> None:
        self.value: list[Any] = []

    def __setstate__(self, state: Any) -> None:
        _, shape, dtype, fortran, raw = state
        self.value = _array(raw, dtype, shape, "F" if fortran else "C")


def _array(raw: Any, dtype: Any, shape: Any, order: str) -> list[Any]:
    if not isinstance(dtype, _Dtype):
        raise _RefusedError("an array without an element type")
    lengths = tuple(shape) if isinstance(shape, tuple) else (shape,)
    if dtype.code.lstrip("<>=|") in ("O", "O8"):
        if not isinstance(raw, list) or lengths != (len(raw),):
            raise _RefusedError("an array of objects that is not a flat list")
        return raw
    if len(lengths) == 1 and dtype.numbers is not None and len(raw) == lengths[0] * dtype.numbers.size:
        return [number for (number,) in dtype.numbers.iter_unpack(raw)]
    element = dtype.numpy
    if math.prod(lengths) * element.itemsize != len(raw) or min(lengths, default=1) < 0 or len(lengths) > 4:
        raise _RefusedError("an array whose size differs from the size of its content")
    flat = np.frombuffer(bytes(raw), element)
    nested: list[Any] = flat.reshape(lengths, order="F" if order == "F" else "C").tolist()
    return nested


def _scalar(dtype: Any, raw: bytes = b"") -> Any:
    if not isinstance(dtype, _Dtype):
        raise _RefusedError("a NumPy number without a type")
    if dtype.numbers is not None and len(raw) == dtype.numbers.size:
        return dtype.numbers.unpack(raw)[0]
    return np.frombuffer(raw, dtype.numpy)[0].item()


def _encoded(text: str, encoding: str = "latin1") -> bytes:
    if encoding not in ("latin1", "latin-1"):
        raise _RefusedError(f"text encoded as {quote(encoding)}")
    return text.encode("latin1")


def _nothing(*_: Any) -> None:
    raise _RefusedError("a call of a type such as list")


_NAMES: dict[tuple[str, str], Callable[..., Any]] = {
    ("collections", "OrderedDict"): lambda *items: dict(*items),
    ("collections", "defaultdict"): lambda *factory: {},
    ("_codecs", "encode"): _encoded,
    ("numpy", "ndarray"): _nothing,
    ("numpy", "dtype"): _Dtype,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy.core.multiarray", "scalar"): _scalar,
    ("numpy.core.numeric", "_frombuffer"): _array,
    ("builtins", "bytes"): lambda *content: _nothing(*content) if content else b"",
    **{("builtins", name): _nothing for name in ("list", "dict", "int", "float", "set", "str")},
}

_CLASSES: dict[str, Callable[..., Any]] = {"CacheTemplate": lambda *factory: CacheRecord()}
"""Replacements of classes whose module is the file that its author happened to run, such as ``__main__``."""


class _Plainer:
    """Converter to plain values, in place; at most ``limit`` values, with shared parts counted at each use."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._done: dict[int, tuple[Any, int, Any]] = {}

    def visit(self, value: Any, depth: int) -> tuple[Any, int]:
        """Return the plain value and its size (number of values); ``depth`` is the nesting depth."""
        if type(value) is int and abs(value) >= 1 << 63:
            raise _RefusedError("a number with more than 63 bits")
        if type(value) in (int, float, str, bool, type(None)):
            return value, 1
        if (known := self._done.get(id(value))) is not None:
            if known[1] < 0:
                raise _RefusedError("a list that contains itself")
            return known[0], known[1]
        if depth > _DEEPEST:
            raise _RefusedError(f"values nested more than {_DEEPEST} deep")
        self._done[id(value)] = (None, -1, value)
        plain, size = self._open(value, depth + 1)
        if size > self._limit:
            raise _RefusedError("a small file that expands to a very large value")
        self._done[id(value)] = (plain, size, value)
        return plain, size

    def _open(self, value: Any, depth: int) -> tuple[Any, int]:
        if isinstance(value, _Array):
            return self.visit(value.value, depth)
        if isinstance(value, dict):
            size = 1
            for key, item in value.items():
                if type(key) not in (int, str, float, tuple):
                    raise _RefusedError(f"a key of type {type(key).__name__}")
                value[key], weight = self.visit(item, depth)
                size += weight + 1
            return value, size
        if type(value) is list and _SIMPLE.issuperset(map(type, value)):
            return value, 1 + len(value)
        if isinstance(value, list | tuple | set | frozenset):
            visited = [self.visit(item, depth) for item in value]
            plain = [item for item, _ in visited]
            if isinstance(value, list):
                value[:] = plain
                plain = value
            return plain, 1 + sum(size for _, size in visited)
        if isinstance(value, bytes | bytearray):
            return bytes(value).decode("utf-8", "replace"), 1
        raise _RefusedError(f"a value of type {quote(type(value).__name__)}")
