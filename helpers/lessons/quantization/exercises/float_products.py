"""The driver of exercise 11.3: what kind of numbers were multiplied.

A product of floats is noticed where torch is asked for one, or numpy for one of an array that a
tensor gave by `.numpy()`; what goes through `np.array`, `np.asarray` or lists nobody sees.
"""

import sys
from functools import wraps
from typing import Any

import numpy as np
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.calling import Function
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation
from helpers.lessons.quantization.algorithms import integer_products

# Products of matrices and vectors, by the names that torch and numpy have for them.
_OF_MATRICES = {
    *("matmul", "__matmul__", "__rmatmul__", "mm", "bmm", "mv", "dot", "vdot", "inner"),
    *("linear", "bilinear", "einsum", "tensordot", "vecdot", "multi_dot", "chain_matmul"),
    *("addmm", "addmm_", "addmv", "addmv_", "addbmm", "baddbmm", "addbmm_", "baddbmm_"),
    *("conv1d", "conv2d", "conv3d", "matvec", "vecmat", "convolve", "_sparse_mm"),
}
_ONE_BY_ONE = {"mul", "__mul__", "__rmul__", "mul_", "__imul__", "multiply", "addcmul"}


class _FloatProducts(TorchFunctionMode):
    """Notes the matrix products of floating-point numbers that a function makes.

    depth: how long the sums are. rows, columns: of the result. Where the three differ, only what is
    as long as the sums counts: scaling may be written as a product, too. A product number by number
    counts where both sides are as long as the sums. What `int_matmul` does where a processor has no
    instruction for it is its own affair. kind: of the first such numbers, such as "float32", or "".
    whole: whether whole numbers alone were multiplied so.
    """

    def __init__(self, depth: int, rows: int, columns: int) -> None:
        super().__init__()
        self.depth = depth if depth not in (rows, columns) else None
        self.kind, self.whole = "", True

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        # In front of the call: a product in place leaves no operand as it was.
        if sys._getframe(1).f_code.co_filename != integer_products.__file__:
            operands = [*args, *(value for key, value in kwargs.items() if key != "out")]
            self.look(getattr(func, "__name__", "").removeprefix("linalg_"), operands)
        return _watched(func(*args, **kwargs), self)

    def look(self, name: str, given: list[Any]) -> None:
        """Note a call of the function of that name, where it multiplies floats."""
        one_by_one = name in _ONE_BY_ONE
        if not one_by_one and name not in _OF_MATRICES:
            return
        if name == "einsum":
            inputs, arrow, output = str(given[0]).partition("->")
            if arrow and set(inputs) - set(", ") <= set(output):
                return  # every letter stays: it only scales
        each = [one if isinstance(one, list | tuple) else [one] for one in given]
        floats = [one for some in each for one in some if _is_float(one)]
        if one_by_one or self.depth is not None:
            floats = [one for one in floats if self.depth in one.shape]
        if len(floats) >= (2 if one_by_one else 1):
            self.kind = self.kind or str(floats[0].dtype).removeprefix("torch.")
            self.whole = self.whole and all(_is_whole(one) for one in floats if one.ndim > 1)


class _Array(np.ndarray):
    """An array out of a tensor: numpy's products of it are noted as well."""

    watch: _FloatProducts | None = None

    def __array_finalize__(self, parent: Any) -> None:
        self.watch = getattr(parent, "watch", None)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if self.watch is not None:
            self.watch.look(ufunc.__name__, list(inputs))
        if "out" in kwargs:
            kwargs["out"] = tuple(map(_bare, kwargs["out"]))
        return _watched(getattr(ufunc, method)(*map(_bare, inputs), **kwargs), self.watch)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        if self.watch is not None:
            self.watch.look(func.__name__, list(args))
        return super().__array_function__(func, types, args, kwargs)

    def dot(self, *args: Any, **kwargs: Any) -> Any:
        if self.watch is not None:
            self.watch.look("dot", [self, *args])
        return _watched(_bare(self).dot(*map(_bare, args), **kwargs), self.watch)


def _watched(value: Any, watch: _FloatProducts | None) -> Any:
    """An array with somebody watching, anything else as it is."""
    if isinstance(value, np.ndarray):
        value = value.view(_Array)
        value.watch = watch
    return value


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

    What it returned is "out" of a dictionary. "floats": the type of the first floating-point
    numbers that it multiplied matrices in, or "". "whole": whether all such were whole numbers.
    """

    @wraps(fn)
    def watched(*args: Any) -> Any:
        x, weight = args[0], args[3]
        with _FloatProducts(x.shape[1], len(x), len(weight)) as watch:
            out = fn(*args)
        return {"out": _bare(out), "floats": watch.kind, "whole": watch.whole}

    return call_with_tensors(watched, case)
