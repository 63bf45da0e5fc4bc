"""Blocks of layers for 13.5: what an answer keeps of them, and how often it runs them."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.checks.drives.calling import Function
from helpers.checks.drives.memory import Watching
from helpers.checks.random_states import rand_there, states_there


class _Layer(torch.autograd.Function):
    """tanh(input · weight), times what else it is given; like any layer, it keeps its output.

    The output lies in an array of numpy's, which is there as long as anything refers to it.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, weight: Tensor, mask: Tensor, block: Block) -> Tensor:
        held = np.empty((len(tensor), weight.shape[1]))
        block.arrays.append(weakref.ref(held))
        out = torch.from_numpy(held)
        torch.tanh(tensor @ weight, out=out)
        out *= mask
        ctx.save_for_backward(tensor, weight, mask, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        tensor, weight, mask, out = ctx.saved_tensors
        inner = gradients[0] * (mask - out * out / mask.clamp(min=1e-300))
        return inner @ weight.T, tensor.T @ inner, None, None


class Block(nn.Module):
    """Some layers, for an answer to run. drop: the share of outputs that are set to 0, drawn where
    the answer is. fn: the answer.

    rows: of its inputs. It takes no others, and not without end: to a grader, who calls it is a
    stranger, and what it makes is large. lent: where the answer is in another process, whether what
    each run gave is held there.
    """

    def __init__(self, weights: list[nn.Parameter], drop: float, fn: Function, rows: int) -> None:
        super().__init__()
        self.weights, self.drop, self.fn = nn.ParameterList(weights), drop, fn
        self.shape = rows, len(weights[0])
        self.lent: list[Callable[[], bool]] = []
        self.arrays: list[weakref.ref[np.ndarray]] = []
        self.calls, self.busy, self.asked, self.tracked = 0, False, True, True
        self.states: list[list[bytes]] = []  # of each run, before and after it

    def forward(self, tensor: Tensor) -> Tensor:
        """The layers, one after the other."""
        if tuple(tensor.shape) != self.shape:
            raise ValueError(f"fn takes a tensor of {self.shape}, not of {tuple(tensor.shape)}.")
        if self.calls == 20:
            raise RuntimeError("fn ran 20 times already.")
        self.calls, self.busy, self.asked = self.calls + 1, True, tensor.requires_grad
        self.tracked = torch.is_grad_enabled()
        self.states.append([states_there(self.fn)["torch"]] * 2)
        for weight in self.weights:
            mask = torch.ones(len(tensor), weight.shape[1], dtype=tensor.dtype)
            if self.drop:
                mask *= rand_there(self.fn, *mask.shape) >= self.drop
                mask /= 1 - self.drop
            tensor = _Layer.apply(tensor, weight, mask, self)
        self.states[-1][1] = states_there(self.fn)["torch"]
        self.busy = False
        return tensor

    def drew(self) -> str:
        """Which random numbers the last run drew: "" where none, or those of the first one; "late"
        where those that come after them; else "other"."""
        (begun, left), again = self.states[0], self.states[-1][0]
        return "" if left == begun or again == begun else "late" if again == left else "other"

    def kept(self) -> int:
        """How many outputs inside this block are still held; the last one is its result."""
        return sum(array() is not None for array in self.arrays[: len(self.weights) - 1])

    def result_kept(self) -> bool:
        """Whether what the first run gave is still held."""
        if self.lent:
            return self.lent[0]()
        last = len(self.weights) - 1
        return any(array() is not None for array in self.arrays[last : last + 1])


class Made(Watching):
    """Notes the numbers that an answer itself makes while a block does not run."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block, self.made = block, dict[int, tuple[StorageWeakRef, int]]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for tensor in result if isinstance(result, list | tuple) else [result]:
            if isinstance(tensor, Tensor) and tensor.is_floating_point() and not self.block.busy:
                storage = tensor.untyped_storage()
                self.made[storage._cdata] = StorageWeakRef(storage), storage.nbytes()
        return result

    def held(self, *others: Tensor) -> int:
        """Bytes of it that are still there, but for the storages of other tensors."""
        known = {other.untyped_storage()._cdata for other in others}
        return sum(
            nbytes
            for storage, (made, nbytes) in self.made.items()
            if storage not in known and not made.expired()
        )
