"""Blocks of layers for 13.5: what an answer keeps of them, and how often it runs them."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import StorageWeakRef

from helpers.checks.drives.handed import Hands
from helpers.checks.drives.memory import Watching
from helpers.checks.random_states import states

_MOST = 20  # runs of a block


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


class Blocks(Hands):
    """Blocks of layers that run elsewhere than the answer: their weights are here alone.

    A way back there is through what a block gave at its second run, and not at its first: of that
    nobody is to keep anything.
    """

    secret = (1,)

    def __init__(self, start: Tensor, weights: list[list[Tensor]], *case: Any) -> None:
        self.start, self.weights = start, weights
        self.runs: list[tuple[int, Tensor, list[Tensor]]] = []
        self.there = 0  # runs on the way there

    def shapes(self) -> list[list[tuple[int, ...]]]:
        """Of the weights of each block."""
        return [[tuple(weight.shape) for weight in group] for group in self.weights]

    def turn(self) -> None:
        """The way there is over."""
        self.there = len(self.runs)

    def forward(self, block: int, tensor: Tensor, *masks: Tensor) -> tuple[int, Tensor]:
        """The number of a run, and what it gives."""
        if len(self.runs) == _MOST * len(self.weights):
            raise RuntimeError(f"fn ran {_MOST} times already.")
        self.runs.append((block, tensor, list(masks)))
        with torch.no_grad():
            return len(self.runs) - 1, self._compute(tensor, masks, self.weights[block])

    def backward(self, run: int, gradient: Tensor) -> list[Tensor]:
        """The gradients of the input and of the weights of a run, from that of its output."""
        block, tensor, masks = self.runs[run]
        if not any(before == block for before, *_ in self.runs[:run]):
            raise RuntimeError("What the first run has made is gone: backward runs fn once more.")
        given = [each.detach().requires_grad_() for each in (tensor, *self.weights[block])]
        with torch.enable_grad():
            out = self._compute(given[0], masks, given[1:])
            return list(torch.autograd.grad(out, given, gradient))

    def _compute(
        self, tensor: Tensor, masks: Sequence[Tensor], weights: Sequence[Tensor]
    ) -> Tensor:
        for mask, weight in zip(masks, weights, strict=True):
            tensor = torch.tanh(tensor @ weight) * mask
        return tensor

    def noted(self, value: Any) -> Any:
        """With how often the blocks ran, if it was here."""
        if not self.runs or "calls" not in value:
            return value
        return {**value, "calls": [self.there, len(self.runs) - self.there]}


class _Elsewhere(torch.autograd.Function):
    """A run of a block that is elsewhere."""

    @staticmethod
    def forward(
        ctx: Any, hands: Any, number: int, masks: list[Tensor], tensor: Tensor, *weights: Tensor
    ) -> Tensor:
        ctx.hands = hands
        ctx.run, out = hands.forward(number, tensor.detach(), *masks)
        ctx.save_for_backward(tensor)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        _ = ctx.saved_tensors  # which are gone after the first time
        return None, None, None, *ctx.hands.backward(ctx.run, gradients[0])


class Block(nn.Module):
    """Some layers, for an answer to run. drop: the share of outputs that are set to 0, drawn where
    the answer is. rows: of its inputs; it takes no others, and not without end. hands, number: what
    it is run by, and as which block, where it is elsewhere.
    """

    def __init__(
        self,
        weights: list[nn.Parameter],
        drop: float,
        rows: int,
        hands: Any = None,
        number: int = 0,
    ) -> None:
        super().__init__()
        self.weights, self.drop = nn.ParameterList(weights), drop
        self.hands, self.number = hands, number
        self.shape = rows, len(weights[0])
        self.arrays: list[weakref.ref[np.ndarray]] = []
        self.calls, self.busy, self.asked, self.tracked = 0, False, True, True
        self.states: list[list[bytes]] = []  # of each run, before and after it

    def forward(self, tensor: Tensor) -> Tensor:
        """The layers, one after the other."""
        if tuple(tensor.shape) != self.shape:
            raise ValueError(f"fn takes a tensor of {self.shape}, not of {tuple(tensor.shape)}.")
        if self.calls == _MOST:
            raise RuntimeError(f"fn ran {_MOST} times already.")
        self.calls, self.busy, self.asked = self.calls + 1, True, tensor.requires_grad
        self.tracked = torch.is_grad_enabled()
        self.states.append([states()["torch"]] * 2)
        masks = [self._mask(len(tensor), weight) for weight in self.weights]
        if self.hands is not None:
            tensor = _Elsewhere.apply(self.hands, self.number, masks, tensor, *self.weights)
        else:
            for weight, mask in zip(self.weights, masks, strict=True):
                tensor = _Layer.apply(tensor, weight, mask, self)
        self.states[-1][1] = states()["torch"]
        self.busy = False
        return tensor

    def _mask(self, rows: int, weight: Tensor) -> Tensor:
        """What outputs are multiplied by."""
        mask = torch.ones(rows, weight.shape[1], dtype=weight.dtype)
        if self.drop and self.training:
            mask *= torch.rand(*mask.shape) >= self.drop
            mask /= 1 - self.drop
        return mask

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
