"""Drivers for lesson 14: attention over a sequence on ranks, and tokens that go to experts."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import OPEN, Requests
from helpers.exercises.drives.sharding import Watch
from helpers.exercises.drives.values import Remote

# What only moves numbers about, or asks for their shape. Anything else is taken for computing.
_MOVES = {"stack", "cat", "concat", "vstack", "hstack", "clone", "detach", "contiguous", "unbind"}
_MOVES |= {"chunk", "split", "__getitem__", "__setitem__", "view", "reshape", "to", "copy_", "type"}
_MOVES |= {"size", "__get__", "__len__", "numel", "dim", "empty_like", "zeros_like", "new_empty"}
_MOVES |= {"new_zeros", "is_contiguous", "transpose", "permute", "squeeze", "unsqueeze", "flatten"}
_CALLS = 50
BIAS = 0.3  # an expert makes something of a row of zeros as well


class _Arrivals(TorchFunctionMode):
    """A rank's receives: how many are open, and whether it computes from one to the next."""

    def __init__(self, comm: Any) -> None:
        super().__init__()
        self.comm, self.isend, self.irecv = comm, comm.isend, comm.irecv
        self.open, self.begun = set[int](), 0
        self.work, self.at = 0, list[int]()
        comm.isend, comm.irecv = self.send, self.start

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.work += getattr(func, "__name__", "") not in _MOVES
        return func(*args, **(kwargs or {}))

    def send(self, *args: Any, **options: Any) -> Any:
        """As `comm.isend`, whose own operations are no work of the answer's."""
        work = self.work
        request = self.isend(*args, **options)
        self.work = work
        return request

    def start(self, *args: Any, **options: Any) -> Any:
        """As `comm.irecv`."""
        work, number = self.work, self.begun
        request = self.irecv(*args, **options)
        self.work, wait = work, request.wait
        self.begun += 1
        self.open.add(number)

        def waited() -> Any:
            work = self.work
            value = wait()
            self.work = work
            if number in self.open:
                self.at.append(self.work)
            self.open.discard(number)
            return value

        request.wait = waited
        return request

    @property
    def between(self) -> bool | None:
        """Whether something is computed from the first message that arrived to the last; None where
        fewer than two did."""
        return self.at[-1] > self.at[0] if len(self.at) > 1 else None

    def end(self) -> int:
        """Look no further; returns how many receives are open."""
        self.comm.isend, self.comm.irecv = self.isend, self.irecv
        return len(self.open)


def _same(now: Tensor, then: Tensor) -> bool:
    return now.shape == then.shape and torch.equal(now, then)


def _on_sequence(
    fn: Function, comm: Any, query: Tensor, key: Tensor, value: Tensor, places: list[Tensor] | None
) -> Any:
    """`fn(comm, query, key, value, places)`.

    `values[rank]`: returned; changed, whether one of the arguments was written into; between,
    whether it computes from the first message that it gets to the last, None where it is computed
    in another process; receiving, how many receives nobody waited for; open, how many messages.
    """
    given = [query, key, value, *(places or [])]
    before, held, requests = [t.clone() for t in given], list(places or []), Requests(comm)
    arrivals = _Arrivals(comm)
    with arrivals:
        returned = fn(comm, query, key, value, places)
    receiving, still = arrivals.end(), requests.end()
    changed = not all(map(_same, given, before)) or len(held) != len(places or [])
    changed = changed or any(now is not then for now, then in zip(places or [], held, strict=True))
    return {
        "returned": returned,
        "changed": changed,
        "between": None if isinstance(fn, Remote) else arrivals.between,
        "receiving": receiving,
        OPEN: still,
    }


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

    The expert makes tanh(rows · weight + `BIAS`) of rows. `values[rank]`: out; reached, whether
    there is a way back from it; x and weights, the gradients of both; rows, how many the expert was
    given, in each call; forward and backward, the bytes sent in each; changed, whether x or choice
    was written into; open, the messages that nobody waited for.
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
        return torch.tanh(given @ weight + BIAS)

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
