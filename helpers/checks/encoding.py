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
MAX_BYTES = 64 * 2**20
MAX_TEXT = 20_000
_INTEGERS = 2**63
_MARKS = 800_000

TYPES = {
    "bool",
    *(f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)),
    *("float16", "float32", "float64", "complex64", "complex128"),
}


class Malformed(ValueError):
    """What came is nothing that the other side would say, or too large."""


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


def loads(text: bytes) -> Any:
    """JSON from a stranger. Raises Malformed."""
    if sum(map(text.count, (b",", b"[", b"{"))) > _MARKS:
        raise Malformed("too many values")  # before they take a hundred times the text's memory
    try:
        return json.loads(text.decode())
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no JSON: {type(error).__name__}") from None


def decode(data: Any) -> Any:
    """The value of `encode`. Raises Malformed for anything that it would not have made."""
    try:
        return _value(data, 0)
    except (TypeError, ValueError) as error:
        raise Malformed(str(error)) from None


def _value(data: Any, depth: int) -> Any:
    kind = type(data)
    if depth > MAX_DEPTH:
        raise Malformed("too deep")
    if data is None or kind is bool:
        return data
    if (kind is int and abs(data) < _INTEGERS) or (kind is float and math.isfinite(data)):
        return data
    if kind is str and len(data) <= MAX_TEXT:
        return data
    if kind is list:
        return [_value(v, depth + 1) for v in data]
    if kind is not dict or len(data) != 1:
        raise Malformed("no value, or one that is too large")
    ((name, inner),) = data.items()
    if name == "number" and inner in ("nan", "inf", "-inf"):
        return float(inner)
    if name == "other" and type(inner) is str:
        return Other(inner[:80])
    if name == "array":
        return _array(*inner)
    if type(inner) is list and name == "tuple":
        return tuple(_value(v, depth + 1) for v in inner)
    if type(inner) is list and name == "dict":
        pairs = [(_value(key, depth + 1), _value(value, depth + 1)) for key, value in inner]
        if len(dict(pairs)) == len(pairs) and all(type(key) in (int, str) for key, _ in pairs):
            return dict(pairs)
    raise Malformed("an object that is no value")


def _array(dtype: str, shape: list[int], text: str) -> np.ndarray:
    """An array. Raises ValueError or TypeError for what is none."""
    if dtype not in TYPES or any(type(n) is not int or n < 0 for n in shape):
        raise Malformed("an array's type or shape is none")
    if math.prod(max(n, 1) for n in shape) > MAX_BYTES:  # also where another axis is empty
        raise Malformed("an array is too large")
    made = np.frombuffer(bytearray(base64.b64decode(text, validate=True)), np.uint8)
    if dtype == "bool":
        made = (made != 0).astype(np.uint8)  # other bytes would be no booleans
    return made.view(dtype).reshape(shape)
