"""Drivers for lesson 14: attention over a sequence on ranks, and tokens that go to experts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.exercises.drives import Function, Ranked, Remote
from helpers.exercises.drives_requests import OPEN, Requests
from helpers.exercises.drives_sharding import Watch

_PRODUCTS = {"matmul", "__matmul__", "mm", "bmm", "einsum", "inner", "tensordot"}
_CALLS = 50


class _Largest(TorchFunctionMode):
    """Notes how many numbers the largest product of matrices has."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        attention = getattr(func, "__name__", "") == "scaled_dot_product_attention"
        if getattr(func, "__name__", "") in _PRODUCTS and isinstance(result, Tensor):
            self.numbers = max(self.numbers, result.numel())
        elif attention:  # one score for each query and key
            self.numbers = max(self.numbers, args[0][..., 0].numel() * args[1].shape[-2])
        return result


def _same(now: Tensor, then: Tensor) -> bool:
    return now.shape == then.shape and torch.equal(now, then)


def _on_sequence(
    fn: Function, comm: Any, query: Tensor, key: Tensor, value: Tensor, places: list[Tensor] | None
) -> Any:
    """`fn(comm, query, key, value, places)`.

    `values[rank]`: returned; changed, whether one of the arguments was written into; scores, how
    many numbers its largest product of matrices has, None where they are made in another process;
    open, how many messages nobody waited for.
    """
    given = [query, key, value, *(places or [])]
    before, requests = [t.clone() for t in given], Requests(comm)
    with _Largest() as largest:
        returned = fn(comm, query, key, value, places)
    still = requests.end()
    changed = not all(map(_same, given, before))
    scores = None if isinstance(fn, Remote) else largest.numbers
    return {"returned": returned, "changed": changed, "scores": scores, OPEN: still}


def _on_tokens(
    fn: Function,
    comm: Any,
    x: Tensor,
    choice: Tensor,
    capacity: int,
    weight: Tensor,
    above: Tensor,
) -> Any:
    """`fn(comm, x, choice, capacity, expert)`, and backward of its sum times `above`.

    The expert makes tanh(rows · weight) of rows. `values[rank]`: out; reached, whether there is a
    way back from it; x and weights, the gradients of both; rows, how many the expert was given, in
    each call; forward and backward, the bytes sent in each; changed, whether x or choice was
    written into; open, the messages that nobody waited for.
    """
    watch, before, rows = Watch(comm), (x.clone(), choice.clone()), list[int]()
    x.requires_grad_()
    weight.requires_grad_()

    def expert(given: Tensor) -> Tensor:
        # Not without end: who calls it may be a stranger.
        if len(rows) == _CALLS:
            raise RuntimeError(f"The expert ran {_CALLS} times already.")
        if given.dim() != 2 or given.shape[1] != len(weight):
            shape = tuple(given.shape)
            raise ValueError(f"An expert takes (tokens, {len(weight)}), not {shape}.")
        rows.append(len(given))
        return torch.tanh(given @ weight)

    out = fn(comm, x, choice, capacity, expert)
    forward = watch.take()
    reached = isinstance(out, Tensor) and out.requires_grad and out.shape == above.shape
    if reached:
        torch.autograd.backward(out, above.to(out.dtype))
    backward = watch.take()
    comm.isend = watch.isend
    now = x.detach(), choice
    return {
        "out": out,
        "reached": reached,
        "x": x.grad,
        "weights": weight.grad,
        "rows": rows,
        "forward": forward,
        "backward": backward,
        "changed": not all(map(_same, now, before)),
        OPEN: watch.open,
    }


on_sequence = Ranked(_on_sequence)
on_tokens = Ranked(_on_tokens, arguments=5)
