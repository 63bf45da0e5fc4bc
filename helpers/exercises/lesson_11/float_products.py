"""The driver of exercise 11.3: what kind of numbers were multiplied.

A product of floats is noticed where torch is asked for one, or numpy for one of an array that a
tensor gave by `.numpy()`; what goes through `np.array`, `np.asarray` or lists nobody sees.
"""

from __future__ import annotations

import sys
from functools import wraps
from typing import Any

import numpy as np
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.algorithms.quantization import integer_products
from helpers.exercises.drives.arguments import call_with_tensors
from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.values import Remote, plain
from helpers.exercises.spec import Case, Observation

# Products of matrices and vectors, by the names that torch and numpy have for them.
_OF_MATRICES = frozenset(
    {
        *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "vdot", "inner"),
        *("linear", "bilinear", "einsum", "tensordot", "vecdot", "multi_dot", "chain_matmul"),
        *("addmm", "addmm_", "addmv", "addmv_", "addbmm", "baddbmm", "addbmm_", "baddbmm_"),
        *("conv1d", "conv2d", "conv3d", "matvec", "vecmat", "convolve", "_sparse_mm"),
    }
)
_ONE_BY_ONE = frozenset({"mul", "__mul__", "__rmul__", "mul_", "__imul__", "multiply", "addcmul"})


class _FloatProducts(TorchFunctionMode):
    """Notes the matrix products of floating-point numbers that a function makes.

    depth: how long the sums are. rows, columns: of the result. Where the three differ, only what is
    as long as the sums counts: scaling may be written as a product, too. A product number by number
    counts where both sides are as long as the sums. What `int_matmul` does where a processor has no
    instruction for it is its own affair. kinds: the types of the products, such as "float32".
    whole: whether whole numbers alone were multiplied so.
    """

    def __init__(self, depth: int, rows: int, columns: int) -> None:
        super().__init__()
        self.depth = depth if depth not in (rows, columns) else None
        self.kinds: list[str] = []
        self.whole = True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # In front of the call: a product in place leaves no operand as it was.
        if sys._getframe(1).f_code.co_filename != integer_products.__file__:
            operands = [*args, *(value for key, value in kwargs.items() if key != "out")]
            self.look(getattr(func, "__name__", "").removeprefix("linalg_"), operands)
        result = func(*args, **kwargs)
        return _Array.of(result, self) if type(result) is np.ndarray else result

    def look(self, name: str, given: list[Any]) -> None:
        """Note a call of the function of that name, where it multiplies floats."""
        if name not in _OF_MATRICES | _ONE_BY_ONE or (name == "einsum" and _sums_nothing(given)):
            return
        flat = [
            one for each in given for one in (each if isinstance(each, list | tuple) else [each])
        ]
        floats = [one for one in flat if _is_float(one)]
        if name in _ONE_BY_ONE or self.depth is not None:
            floats = [one for one in floats if self.depth in one.shape]
        if len(floats) < (2 if name in _ONE_BY_ONE else 1):
            return
        kind = str(floats[0].dtype).removeprefix("torch.")
        if kind not in self.kinds:
            self.kinds.append(kind)
        self.whole = self.whole and all(_is_whole(one) for one in floats if one.ndim > 1)


def _sums_nothing(given: list[Any]) -> bool:
    """Whether an einsum keeps every letter, and so only scales."""
    inputs, arrow, output = str(given[0]).partition("->")
    return bool(arrow) and set(inputs) - set(", ") <= set(output)


class _Array(np.ndarray):
    """An array out of a tensor: numpy's products of it are noted as well."""

    watch: _FloatProducts | None = None

    @staticmethod
    def of(array: Any, watch: _FloatProducts | None) -> Any:
        """The same numbers, with somebody watching."""
        if not isinstance(array, np.ndarray):
            return array
        seen = array.view(_Array)
        seen.watch = watch
        return seen

    def __array_finalize__(self, parent: Any) -> None:
        self.watch = getattr(parent, "watch", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if self.watch is not None:
            self.watch.look(ufunc.__name__, list(inputs))
        if "out" in kwargs:
            kwargs["out"] = tuple(map(_bare, kwargs["out"]))
        result = getattr(ufunc, method)(*map(_bare, inputs), **kwargs)
        return _Array.of(result, self.watch)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if self.watch is not None:
            self.watch.look(func.__name__, list(args))
        return super().__array_function__(func, types, args, kwargs)

    def dot(self, *args: Any, **kwargs: Any) -> Any:
        if self.watch is not None:
            self.watch.look("dot", [self, *args])
        return _Array.of(_bare(self).dot(*map(_bare, args), **kwargs), self.watch)


def _bare(value: Any) -> Any:
    return value.view(np.ndarray) if isinstance(value, _Array) else value


def _is_float(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.dtype.kind in "fc"
    return isinstance(value, Tensor) and (value.is_floating_point() or value.is_complex())


def _is_whole(value: Any) -> bool:
    held = _bare(value) if isinstance(value, np.ndarray) else plain(value.to_dense())
    return isinstance(held, np.ndarray) and bool(np.all(held == np.round(held)))


def multiplied(fn: Function, case: Case) -> Observation:
    """As `call_with_tensors`, for a layer on codes, `fn(x, x_scale, x_zero, weight, …)`.

    What it returned is "out" of a dictionary. "floats": the types of floating-point numbers that it
    multiplied matrices in, in order. "whole": whether these were whole numbers all the same. Both
    are None where it is in another process.
    """

    @wraps(fn)
    def watched(*args: Any) -> Any:
        x, weight = args[0], args[3]
        if isinstance(fn, Remote):
            return {"out": fn(*args), "floats": None, "whole": None}
        with _FloatProducts(x.shape[1], len(x), len(weight)) as watch:
            out = fn(*args)
        return {"out": _bare(out), "floats": watch.kinds, "whole": watch.whole}

    return call_with_tensors(watched, case)
