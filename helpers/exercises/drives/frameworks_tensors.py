"""Tensors of torch and TensorFlow on their way through the stand-in for Horovod."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def as_torch(value: Any, kind: type = object) -> Tensor:
    """A tensor of torch or TensorFlow, or an array, as a torch tensor; TypeError for others, and
    for what is not of this kind."""
    if isinstance(value, Tensor):
        return value.detach()
    if not hasattr(value, "dtype") or not isinstance(value, kind):
        raise TypeError(f"hvd sends tensors, and was given a {type(value).__name__}.")
    held = value.numpy() if hasattr(value, "numpy") else value
    return torch.as_tensor(held)


def as_before(found: Tensor, given: Any) -> Any:
    """A result as the kind of tensor that was given."""
    if isinstance(given, Tensor):
        return found.to(given.dtype) if given.is_floating_point() else found
    import tensorflow as tf

    return tf.convert_to_tensor(found.numpy())


def nbytes(tensor: Tensor) -> int:
    """The bytes of what a tensor holds."""
    return tensor.numel() * tensor.element_size()
