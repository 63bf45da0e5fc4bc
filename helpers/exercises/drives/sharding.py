"""Drivers for lesson 14's sharding: some steps of a sharded optimizer, a linear layer in slices."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.memory import LARGE, Kept, Watching
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import OPEN, Requests
from helpers.exercises.drives.values import Remote, plain


class Watch:
    """A rank's messages: the bytes they take, how many nobody waited for, copies where asked."""

    def __init__(self, comm: Any, copies: bool = False) -> None:
        self.bytes, self.open, self.sent = 0, 0, list[Tensor]()
        self.comm, self.copies = comm, copies
        self.isend = comm.isend
        self.start()

    def start(self) -> None:
        """Look from here on."""
        self.comm.isend = self.isend
        self.requests = Requests(self.comm)
        noted = self.comm.isend

        def isend(tensor: Any, to: int) -> Any:
            request = noted(tensor, to)
            self.bytes += getattr(tensor, "header", tensor).nbytes
            if self.copies:
                held = tensor.unpacked() if hasattr(tensor, "unpacked") else tensor
                self.sent.append(torch.as_tensor(held).detach().clone().reshape(-1))
            return request

        self.comm.isend = isend

    def with_slice(self, part: Tensor) -> int:
        """How many messages began with the numbers of a slice: it alone, or with padding."""
        size = len(part)
        alike = [each[:size] for each in self.sent if size and each.dtype == part.dtype]
        return sum(torch.equal(each, part) for each in alike)

    def take(self) -> int:
        """Bytes since the last time; messages that are still open are counted in `open`."""
        self.open += self.requests.end()
        for request in self.requests.all:
            # Or each would hold itself, and the tensor that was sent.
            del request.wait, request.done
        self.start()
        taken, self.bytes = self.bytes, 0
        return taken


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

    `values[rank]`: for each step the parameters and the momentum afterwards; open, its messages
    that nobody waited for; state, its messages that held its slice of the momentum.
    """
    seen = []
    for gradient in gradients:
        watch, before = Watch(comm, copies=True), momentum.clone()
        fn(comm, parameters, gradient.clone(), momentum, rate, beta)
        watch.take()
        comm.isend = watch.isend
        state = watch.with_slice(before) + watch.with_slice(momentum)
        after = {"parameters": plain(parameters), "momentum": plain(momentum)}
        seen.append({**after, OPEN: watch.open, "state": state})
    return seen


class _Held(Watching):
    """Notes the memory of what is made while it is on, and how much of it is held on to."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[int, tuple[StorageWeakRef, int]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, tuple | list) else (result,):
            if isinstance(one, Tensor):
                memory = one.untyped_storage()
                # A weak reference to the memory, not to the tensor: a view keeps it too.
                self.made[memory._cdata] = StorageWeakRef(memory), one.element_size()
        return result

    def largest(self, least: int, *but: Any) -> int:
        """Numbers in the largest piece that is still held, 0 where that is under `least`.

        Without the memory of some tensors. Small pieces may be what a network holds on to.
        """
        allowed = {t.untyped_storage()._cdata for t in but if isinstance(t, Tensor)}
        most = max((self._numbers(key) for key in self.made if key not in allowed), default=0)
        return most if most >= least else 0

    def _numbers(self, key: int) -> int:
        reference, size = self.made[key]
        memory = torch.UntypedStorage._new_with_weak_ptr(reference.cdata)
        return 0 if memory is None else memory.nbytes() // size


def _numbers_under(tensor: Tensor | None) -> int:
    """Numbers in the memory that a tensor lies in, of which it may be a part."""
    return 0 if tensor is None else tensor.untyped_storage().nbytes() // tensor.element_size()


def _on_layer(
    fn: Function, comm: Any, x: Tensor, own: Tensor, shape: tuple[int, int], weights: Tensor
) -> Any:
    """`fn(comm, x, own, shape)`, and backward of its sum times `weights`.

    `values[rank]`: out; x and own, their gradients; forward and backward, the bytes sent in each;
    saved, the numbers that autograd keeps between them; held, those in the largest tensor, other
    than out, that was made in forward and is there after it, and after, the same after backward
    without the gradients, 0 where they are fewer than the weight's; row, those in the memory that
    own's gradient lies in; changed, what was written to, "own", "x", "gradient" or ""; open, the
    messages that nobody waited for.

    Of a function in another process, saved and row are None, and so are held and after where the
    weight is small. Of a large one they tell what that process holds more than before: the whole
    weight's numbers, or 0 where that is nearer to a slice, which may be held.
    """
    if shape[0] * shape[1] * own.element_size() >= LARGE:
        # First a small one of the kind: what libraries load then, stays.
        few = own.new_ones((comm.rank + 1) * 4 // comm.size - comm.rank * 4 // comm.size)
        _once(fn, comm, x[:1, :2].clone(), few, (2, 2), weights[:1, :2])
    return _once(fn, comm, x, own, shape, weights)


def _once(
    fn: Function, comm: Any, x: Tensor, own: Tensor, shape: tuple[int, int], weights: Tensor
) -> Any:
    elsewhere = isinstance(fn, Remote)
    watch, saved, size = Watch(comm), dict[int, int](), shape[0] * shape[1]
    before, before_x = own.clone(), x.clone()
    x.requires_grad_()
    own.requires_grad_()

    def pack(tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()
        saved[memory.data_ptr()] = memory.nbytes() // tensor.element_size()
        return tensor

    held, process = _Held(), Kept(fn, size * own.element_size())

    def in_process() -> int | None:
        more = process.more()
        halfway = (size + len(own)) * own.element_size() / 2
        return None if more is None else size if more > halfway else 0

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), held:
        out = fn(comm, x, own, tuple(shape))
    forward = watch.take()
    kept = in_process() if elsewhere else held.largest(size, out, x, own)
    reached = isinstance(out, Tensor) and out.requires_grad and out.shape == weights.shape
    given = weights.clone()
    if reached:
        given = given.to(out.dtype)
        with held:
            torch.autograd.backward(out, given)
    backward = watch.take()
    after = in_process() if elsewhere else held.largest(size, out, x, own, x.grad, own.grad)
    comm.isend = watch.isend
    changed = "own" if not torch.equal(own.detach(), before) else ""
    changed = changed or ("x" if not torch.equal(x.detach(), before_x) else "")
    changed = changed or ("gradient" if not torch.equal(given, weights.to(given.dtype)) else "")
    return {
        "out": out,
        "reached": reached,
        "x": x.grad,
        "own": own.grad,
        "forward": forward,
        "backward": backward,
        "saved": None if elsewhere else sum(saved.values()),
        "held": kept,
        "after": after,
        "row": None if elsewhere else _numbers_under(own.grad),
        "changed": changed,
        OPEN: watch.open,
    }


on_steps = Ranked(_on_steps, arguments=6)
on_layer = Ranked(_on_layer, arguments=4)
