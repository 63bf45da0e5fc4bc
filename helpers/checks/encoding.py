"""Plain values as JSON and back, for values that cross from a process that nobody trusts.

None, True, False, integers, finite numbers, texts and lists stand for themselves; everything else
is an object with one key that says what it is: `{"number": "nan"}`, `{"tuple": […]}`,
`{"dict": [[key, value], …]}`, `{"array": [type, shape, base64]}`, `{"other": "set"}`.
Decoding makes values of exactly these types, or raises Malformed.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import numpy as np

from helpers.checks.compare import Other

MAX_DEPTH = 16
MAX_ITEMS = 200_000
MAX_BYTES = 64 * 2**20
MAX_TEXT = 20_000
_INTEGERS = 2**63
_MARKS = 4 * MAX_ITEMS

TYPES = {
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
}


class Malformed(ValueError):
    """What came is no value in this encoding, or too large."""


def encode(value: Any) -> Any:
    """A value as `drives.values.plain` gives it, as JSON data. Anything else becomes its name."""
    kind = type(value)
    if value is None or kind is bool or kind is str:
        return value
    if kind is int:
        return value if abs(value) < _INTEGERS else {"other": "huge integer"}
    if kind is float:
        return value if math.isfinite(value) else {"number": repr(value)}
    if kind is list:
        return [encode(v) for v in value]
    if kind is tuple:
        return {"tuple": [encode(v) for v in value]}
    if kind is dict:
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    if kind is np.ndarray and value.dtype.name in TYPES:
        data = base64.b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"array": [value.dtype.name, list(value.shape), data]}
    return {"other": value.kind if kind is Other else kind.__name__}


def decode(data: Any) -> Any:
    """The value of `encode`. Raises Malformed for anything that it would not have made."""
    return Decoder().value(data, 0)


def loads(text: bytes) -> Any:
    """JSON from a stranger: no doubled keys, no NaN. Raises Malformed."""
    if sum(map(text.count, (b",", b"[", b"{"))) > _MARKS:
        raise Malformed("too many values")  # before they take a hundred times the text's memory
    try:
        return _DECODER.decode(text.decode())
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON: {type(error).__name__}") from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("a key comes twice")
    return found


def _no_constant(name: str) -> Any:
    raise Malformed(f"{name} is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_once, parse_constant=_no_constant)


class Decoder:
    """Decodes, and counts what it makes: a small message cannot become a large value."""

    def __init__(self) -> None:
        self._items = 0
        self._bytes = 0

    def value(self, data: Any, depth: int) -> Any:
        self._items += 1
        if depth > MAX_DEPTH or self._items > MAX_ITEMS:
            raise Malformed("too deep or too long")
        kind = type(data)
        if data is None or kind is bool:
            return data
        if kind is int:
            return _checked(data, abs(data) < _INTEGERS, "an integer is too large")
        if kind is float:
            return _checked(data, math.isfinite(data), "a number is not finite")
        if kind is str:
            return _checked(data, len(data) <= MAX_TEXT, "a text is too long")
        if kind is list:
            return [self.value(v, depth + 1) for v in data]
        if kind is dict and len(data) == 1:
            ((name, inner),) = data.items()
            return self._object(name, inner, depth)
        raise Malformed("an object that is no value")

    def _object(self, name: str, inner: Any, depth: int) -> Any:
        if name == "number" and inner in ("nan", "inf", "-inf"):
            return float(inner)
        if name == "other" and type(inner) is str:
            return Other(inner[:80])
        if name == "tuple" and type(inner) is list:
            return tuple(self.value(v, depth + 1) for v in inner)
        if name == "dict" and type(inner) is list:
            return self._dict(inner, depth)
        if name == "array" and type(inner) is list and len(inner) == 3:
            return self._array(*inner)
        raise Malformed("an object that is no value")

    def _dict(self, pairs: list[Any], depth: int) -> dict[Any, Any]:
        found: dict[Any, Any] = {}
        for pair in pairs:
            if type(pair) is not list or len(pair) != 2:
                raise Malformed("a dictionary's pair is none")
            key = self.value(pair[0], depth + 1)
            if type(key) not in (int, str) or key in found:
                raise Malformed("a dictionary's key is none")
            found[key] = self.value(pair[1], depth + 1)
        return found

    def _array(self, dtype: Any, shape: Any, data: Any) -> np.ndarray:
        if type(dtype) is not str or dtype not in TYPES or type(data) is not str:
            raise Malformed("an array's type is none")
        if type(shape) is not list or len(shape) > 16:
            raise Malformed("an array's shape is none")
        if any(type(n) is not int or not 0 <= n <= MAX_BYTES for n in shape):
            raise Malformed("an array's shape is none")
        nbytes = math.prod(shape) * np.dtype(dtype).itemsize
        self._bytes += nbytes
        # An array without elements has room for axes that numpy cannot count.
        if self._bytes > MAX_BYTES or math.prod(max(n, 1) for n in shape) > MAX_BYTES:
            raise Malformed("arrays are too large")
        try:
            raw = base64.b64decode(data, validate=True)
        except ValueError:
            raise Malformed("no base64") from None
        if len(raw) != nbytes:
            raise Malformed("an array's data has another length than its shape")
        made = np.frombuffer(bytearray(raw), np.uint8)
        if dtype == "bool":
            made = (made != 0).astype(np.uint8)  # other bytes would be no booleans
        return made.view(dtype).reshape(shape)


def _checked(value: Any, holds: bool, otherwise: str) -> Any:
    if not holds:
        raise Malformed(otherwise)
    return value
