"""The driver for functions that work on buffers in shared memory."""

from __future__ import annotations

from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from helpers.exercises.drives import Function, virtual
from helpers.exercises.spec import Case, Observation


class Counter(TorchDispatchMode):
    """Counts the elements that this thread's torch operations write; views write none."""

    def __init__(self) -> None:
        super().__init__()
        self.elements = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        aliases = any(r.alias_info and not r.alias_info.is_write for r in func._schema.returns)
        for out in result if isinstance(result, list | tuple) else [result]:
            if isinstance(out, Tensor) and not aliases:
                self.elements += out.numel()
        return result


def on_buffers(fn: Function, case: Case) -> Observation:
    """Call `fn(comm, buffers)`; this rank's buffer holds its case's array just before.

    The case's second argument says how many seconds this rank is late. `values[rank]` is
    `{"after": its buffer when the function returns, "worked": elements that it wrote}`.
    """

    def call(mine: Function, comm: Any, held: Tensor, late: float) -> Any:
        buffers = comm.shared(tuple(held.shape), held.dtype)
        comm.compute(late)
        buffers[comm.rank].copy_(held)
        with Counter() as counter:
            mine(comm, buffers)
        return {"after": buffers[comm.rank].clone(), "worked": counter.elements}

    return virtual(fn, call, case, arguments=2)
