"""Values on their way: a case's to a learner's function, and what that gave, without behaviour."""

from typing import Any

import numpy as np

from helpers.checks.compare import Other


def tensors(value: Any) -> Any:
    """The case's arrays as torch tensors of the learner's own, also inside lists and dicts."""
    if isinstance(value, np.ndarray):
        import torch

        return torch.from_numpy(value.copy())
    if isinstance(value, list | tuple):
        return type(value)(tensors(v) for v in value)
    if isinstance(value, dict):
        return {k: tensors(v) for k, v in value.items()}
    return value


def is_namedtuple(value: Any) -> bool:
    """Whether a value is a tuple whose items have names, which stands for the tuple of them."""
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def plain(value: Any, depth: int = 0) -> Any:
    """A value without behaviour: tensors become numpy arrays, anything strange only its name."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth > 8:
        return Other("deeply nested collection")
    if isinstance(value, np.generic):
        return np.asarray(value)
    if type(value) is np.ndarray:
        return value.copy() if value.dtype.kind in "biufc" else Other("numpy array of objects")
    if type(value) in (list, tuple, range):
        items = [plain(v, depth + 1) for v in value]
        return tuple(items) if type(value) is tuple else items
    if is_namedtuple(value):
        return tuple(plain(v, depth + 1) for v in value)
    if type(value) is dict:
        return {k: plain(v, depth + 1) for k, v in value.items() if type(k) in (int, str)}
    import torch

    if isinstance(value, torch.Tensor):
        held = value.detach().cpu()
        floats = held.is_floating_point() and held.itemsize == 1  # which numpy has no types for
        return (held.float() if floats or held.dtype == torch.bfloat16 else held).numpy().copy()
    return Other(type(value).__name__)
