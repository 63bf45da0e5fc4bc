"""The driver of exercise 14.6, and what outlives its layer's forward and backward where the numbers
are right."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.checks.compare import all_close
from helpers.checks.drives.calling import Function
from helpers.checks.drives.memory import Watching
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation
from helpers.lessons.sharding.exercises.shared import first_changed, go_back, watched


def phase(seen: Observation, name: str) -> int:
    """Bytes sent in "forward" or "backward", over all ranks."""
    return sum(v[name] for v in seen.values)


def _right_slices(case: Case, seen: Observation) -> bool:
    """Whether the outputs are right, and every rank's gradient is its slice of the sum."""
    gave = [v[key] for key in ("out", "own") for v in seen.values]
    return all_close(gave, [*case.facts["out"], *case.facts["own"]], case.facts["near"])


def kept(case: Case, seen: Observation) -> Iterator[str]:
    """The whole weight outlives forward, known to autograd or not; or the result its caller."""
    n, elements = case.ranks, case.facts["elements"]
    if n == 1 or elements < n or not _right_slices(case, seen):
        return
    needs_x = case.args[0][4]  # without it backward takes no weight
    again = phase(seen, "backward") >= (1 + needs_x) * case.facts["least"]
    saved, held = (max(v[key] or 0 for v in seen.values) for key in ("saved", "held"))
    if saved >= elements:
        then = "" if not again else " It is gathered again in backward, and yet never freed."
        yield (
            f"{saved} numbers beside x and `own` are saved between forward and backward, and the "
            f"whole weight has {elements}: it is among them.{then} Save x and `own` only."
        )
    if not again:
        yield (
            f"backward sent {phase(seen, 'backward')} B, which the gradients alone take: the whole "
            "weight was kept from forward, outside what autograd knows of. Let go of it, and "
            "gather again."
        )
    if held >= elements:
        yield (
            f"backward gathers again, but {held} numbers that forward made were still in memory "
            f"after it, and the weight has {elements}: something holds on to them, such as `ctx`, "
            "a list, or a variable that `backward` or another inner function refers to. Gather "
            "inside forward and backward, into a local variable that ends with them."
        )
    if any(v["result"] for v in seen.values):
        yield (
            "the result was still in memory when nobody but your layer could hold on to it, and "
            "backward does not need it. Keep x and `own` only."
        )


def kept_after(case: Case, seen: Observation) -> Iterator[str]:
    """Something whole outlives backward."""
    elements = case.facts["elements"]
    if case.ranks == 1 or elements < case.ranks or not _right_slices(case, seen):
        return
    for rank, value in enumerate(seen.values):
        if (value["row"] or 0) >= elements:
            row = max(v["row"] or 0 for v in seen.values)
            yield (
                f"rank {rank}'s gradient of `own` has {value['own'].size} numbers and is a view of "
                f"a tensor with {row}, so the unsharded gradient stays in memory as long as the "
                "slice does: return `reduce_scatter_ring(…).clone()`."
            )
    after = max(value["after"] or 0 for value in seen.values)
    if after >= elements:
        yield (
            f"the numbers are right, but after backward {after} numbers that it made are still in "
            "memory: the whole weight, or its whole gradient, was put where it stays."
        )


@partial(Ranked, arguments=4)
def on_layer(
    fn: Function,
    comm: Any,
    x: Tensor,
    own: Tensor,
    shape: tuple[int, int],
    weights: Tensor,
    needs_x: bool,
) -> Any:
    """`fn(comm, x, own, shape)`, and backward of its sum times `weights`.

    Alone, it is called with another `own` first: what it keeps shows in the values. needs_x:
    whether x takes a gradient. `values[rank]`: out; x and own, their gradients; forward and
    backward, the bytes sent in each; saved, the numbers beside x and own that autograd keeps
    between them; held, those in tensors, other than out, that were made in forward and are there
    after it, and after, the same after backward without the gradients, 0 where they are fewer than
    the weight's; result, whether out is held on to; row, the numbers in the memory that own's
    gradient lies in; changed, the first that was written into, 0 for own, 1 for x, 2 for backward's
    gradient; open, the messages that nobody waited for.
    """
    saved, size = dict[int, int](), shape[0] * shape[1]
    before = own.clone(), x.clone()
    if comm.size == 1:
        fn(comm, x, -own, tuple(shape))
    x.requires_grad_(needs_x)
    own.requires_grad_()

    given_memory = [t.untyped_storage().data_ptr() for t in (x, own)]

    def pack(tensor: Tensor) -> Tensor:
        memory = tensor.untyped_storage()
        if memory.data_ptr() not in given_memory:
            saved[memory.data_ptr()] = memory.nbytes() // tensor.element_size()
        return tensor

    held = _Held(comm)

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor), held:
        out, forward, still = watched(comm, lambda: fn(comm, x, own, tuple(shape)))
    kept = held.numbers(size, out, x, own) + _arrays(out)
    given, told, stays = weights.clone(), out, False
    if isinstance(out, Tensor) and out.requires_grad:
        told = plain(out)
        # Behind it, so that the result itself is the layer's alone.
        made, out = StorageWeakRef(out.untyped_storage()), out + 0
        stays = not made.expired() and out.numel() > 0
    with held:
        reached, backward, more = go_back(comm, out, given)
    after = held.numbers(size, out, x, own, x.grad, own.grad)
    memory = 0 if own.grad is None else own.grad.untyped_storage().nbytes()
    return {
        "out": told,
        "reached": reached,
        "x": x.grad,
        "own": own.grad,
        "forward": forward,
        "backward": backward,
        "saved": sum(saved.values()),
        "held": kept,
        "result": stays,
        "after": after,
        "row": memory // own.element_size(),
        "changed": first_changed((own, x, given), (*before, weights)),
        OPEN: still + more,
    }


class _Held(Watching):
    """Notes the memory of what is made while it is on, and how much of it is held on to; without
    what the engine makes of messages, which are there until somebody has come for them."""

    def __init__(self, comm: Any) -> None:
        super().__init__()
        self.made: dict[int, tuple[StorageWeakRef, int]] = {}
        self.isend, self.aside, comm.isend = comm.isend, False, self.send

    def send(self, *args: Any) -> Any:
        """As `comm.isend`."""
        self.aside = True
        try:
            return self.isend(*args)
        finally:
            self.aside = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for one in result if isinstance(result, tuple | list) else (result,):
            if isinstance(one, Tensor) and not self.aside:
                memory = one.untyped_storage()
                # A weak reference to the memory, not to the tensor: a view keeps it too.
                self.made[memory._cdata] = StorageWeakRef(memory), one.element_size()
        return result

    def numbers(self, least: int, *but: Any) -> int:
        """Numbers in all pieces that are still held, 0 where that is under `least`.

        Without the memory of some tensors, and what is as long as one of them: a copy of it.
        """
        tensors = [t for t in but if isinstance(t, Tensor)]
        allowed = {t.untyped_storage()._cdata for t in tensors}
        lengths = {t.numel() for t in tensors}
        found = 0
        for key, (reference, size) in self.made.items():
            memory = torch.UntypedStorage._new_with_weak_ptr(reference.cdata)
            if memory is not None and key not in allowed:
                length = memory.nbytes() // size
                found += length if length >= least or length not in lengths else 0
        return found if found >= least else 0


def _arrays(out: Any) -> int:
    """Numbers in numpy's arrays that a result's `ctx` holds: they are not torch's."""
    ctx = getattr(getattr(out, "grad_fn", None), "__dict__", {})
    return sum(each.size for each in ctx.values() if isinstance(each, np.ndarray))
