"""The driver for functions that work on buffers in shared memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.values import Remote


class Counter(TorchFunctionMode):
    """Counts the elements that this thread's torch functions write; views write none."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if func is Tensor.__setitem__:
            self.elements += args[0][args[1]].numel()
        for out in result if isinstance(result, list | tuple) else [result]:
            if isinstance(out, Tensor) and not _is_view(func, out, args):
                self.elements += out.numel()
        return result


def _is_view(func: Any, out: Tensor, args: Any) -> bool:
    name = getattr(func, "__name__", "")
    if name.startswith("__i") or (name.endswith("_") and not name.endswith("__")):
        return False  # in place: it is its argument, and it was written
    held = out.untyped_storage().data_ptr()
    return any(isinstance(a, Tensor) and a.untyped_storage().data_ptr() == held for a in args)


class First:
    """Where a rank wrote first: on the virtual clock no other moves between two barriers."""

    def __init__(self, comm: Any, buffers: list[Tensor]) -> None:
        self.buffers, self.barrier, self.places = buffers, comm.barrier, list[int]()
        self.before = self._now()
        comm.barrier = self._meet

    def _now(self) -> np.ndarray:
        return np.stack([buffer.numpy() for buffer in self.buffers])

    def look(self) -> list[int]:
        """The places, in any buffer."""
        changed = (self._now() != self.before).any(axis=0)
        self.places = self.places or np.flatnonzero(changed).tolist()
        return self.places

    def _meet(self) -> None:
        self.look()
        self.barrier()
        self.before = self._now()


def _on_buffers(fn: Function, comm: Any, held: Tensor, late: float) -> Any:
    """Call `fn(comm, buffers)`; this rank's buffer holds its case's array just before.

    The case's second argument says how many seconds this rank is late. `values[rank]` is
    `{"after": its buffer when the function returns, "places": where it wrote first, "worked": how
    much, None of another process}`. The buffer is cleared then: who still reads it finds zeros.
    """
    buffers = comm.shared(tuple(held.shape), held.dtype)
    comm.compute(late)
    buffers[comm.rank].copy_(held)
    first = First(comm, buffers)
    with Counter() as counter:
        fn(comm, buffers)
    places = first.look()
    after = buffers[comm.rank].clone()
    buffers[comm.rank].zero_()  # as whoever fills it for the next sum
    worked = None if isinstance(fn, Remote) else counter.elements
    return {"after": after, "places": places, "worked": worked}


on_buffers = Ranked(_on_buffers, arguments=2, clocked=("places",))
