"""Drivers for lesson 14's sharding: some steps of a sharded optimizer, a linear layer in slices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from helpers.exercises.drives import Function, Ranked, plain


def _on_steps(
    fn: Function,
    comm: Any,
    parameters: Tensor,
    gradients: Tensor,
    momentum: Tensor,
    rate: float,
    beta: float,
) -> Any:
    """`fn(comm, parameters, gradient, momentum, rate, beta)` for each row of gradients.

    `values[rank]`: for each step the parameters and the momentum afterwards.
    """
    seen = []
    for gradient in gradients:
        fn(comm, parameters, gradient.clone(), momentum, rate, beta)
        seen.append({"parameters": plain(parameters), "momentum": plain(momentum)})
    return seen


class _Counter:
    """Bytes that a rank's messages take, noted at the comm."""

    def __init__(self, comm: Any) -> None:
        self.bytes = 0
        original = comm.isend

        def isend(tensor: Any, to: int) -> Any:
            request = original(tensor, to)
            self.bytes += tensor.numel() * tensor.element_size()
            return request

        comm.isend = isend

    def take(self) -> int:
        """Bytes since the last time."""
        taken, self.bytes = self.bytes, 0
        return taken


def _on_layer(
    fn: Function, comm: Any, x: Tensor, own: Tensor, shape: tuple[int, int], weights: Tensor
) -> Any:
    """`fn(comm, x, own, shape)`, and backward of its sum times `weights`.

    `values[rank]`: out; x and own, their gradients; forward and backward, the bytes sent in each;
    saved, the numbers that autograd keeps between them; changed, whether `own` was written to.
    """
    counter, saved = _Counter(comm), {}
    before = own.clone()
    x.requires_grad_()
    own.requires_grad_()

    def pack(tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()
        saved[memory.data_ptr()] = memory.nbytes() // tensor.element_size()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = fn(comm, x, own, tuple(shape))
    forward = counter.take()
    reached = isinstance(out, Tensor) and out.requires_grad
    if reached:
        (out * weights).sum().backward()
    return {
        "out": out,
        "reached": reached,
        "x": x.grad,
        "own": own.grad,
        "forward": forward,
        "backward": counter.take(),
        "saved": sum(saved.values()),
        "changed": not torch.equal(own.detach(), before),
    }


on_steps = Ranked(_on_steps, arguments=6)
on_layer = Ranked(_on_layer, arguments=4)
