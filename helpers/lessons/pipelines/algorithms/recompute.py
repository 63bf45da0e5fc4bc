"""Activations computed a second time instead of kept: memory paid for with time.

Forward keeps the input of a piece of the model and nothing of what is inside; backward runs the
piece forward again from that input, with the same random numbers, and then back. Source: Chen et
al., "Training Deep Nets with Sublinear Memory Cost" (2016), section 4; Huang et al., GPipe (2019),
section 2.3, where the piece is a stage of the pipeline.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor


class RandomState:
    """The random state of the CPU, and of the devices that some tensors are on, as it is now."""

    def __init__(self, tensors: Sequence[Any] = ()) -> None:
        gpus = {t.device for t in tensors if isinstance(t, Tensor) and t.device.type == "cuda"}
        self.cpu = torch.get_rng_state()
        self.gpus = {device: torch.cuda.get_rng_state(device) for device in gpus}

    @contextmanager
    def again(self) -> Iterator[None]:
        """Draw inside the block what was drawn after this state was taken; then go on as before."""
        now = RandomState()
        gpus = {device: torch.cuda.get_rng_state(device) for device in self.gpus}
        self._set(self.cpu, self.gpus)
        try:
            yield
        finally:
            self._set(now.cpu, gpus)

    @staticmethod
    def _set(cpu: Tensor, gpus: dict[torch.device, Tensor]) -> None:
        torch.set_rng_state(cpu)
        for device, state in gpus.items():
            torch.cuda.set_rng_state(state, device)


class Precision:
    """What autocast does now, on the CPU and on GPUs."""

    def __init__(self) -> None:
        self.kinds = [
            (kind, torch.get_autocast_dtype(kind), torch.is_autocast_enabled(kind))
            for kind in ("cpu", "cuda")
        ]

    @contextmanager
    def again(self) -> Iterator[None]:
        """Let autocast do the same inside the block, which backward enters without it."""
        with ExitStack() as stack:
            for kind, dtype, enabled in self.kinds:
                if enabled or torch.is_autocast_enabled(kind):
                    stack.enter_context(torch.autocast(kind, dtype, enabled))
            yield


def recompute(fn: Callable[..., Any], *inputs: Any) -> Any:
    """`fn(*inputs)`, of which only the inputs are kept for backward.

    fn: a module, or any function of tensors that returns a tensor or a tuple of tensors; it is
    called once more in backward, so it must compute the same again (random numbers are taken
    care of; a batch norm's running mean is updated twice). inputs: tensors, and whatever else it
    takes. Gradients of inputs come as ever. Those of parameters that fn uses are added to their
    `.grad`, so `backward()` finds them, but `torch.autograd.grad` does not.

    Example: `y = recompute(block, x)` instead of `y = block(x)`.
    """
    if not callable(fn):
        raise TypeError(
            f"recompute needs a function and its inputs, not {type(fn).__name__} first."
        )
    # Tokens need no gradient, but the parameters behind them do: an empty tensor asks for backward.
    asks = torch.empty(0, requires_grad=True)
    return _Recompute.apply(fn, asks, *inputs)


class _Recompute(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, fn: Callable[..., Any], asks: Tensor, *inputs: Any) -> Any:
        ctx.fn, ctx.random, ctx.precision = fn, RandomState(inputs), Precision()
        ctx.tensors = [isinstance(value, Tensor) for value in inputs]
        ctx.others = [None if isinstance(value, Tensor) else value for value in inputs]
        ctx.save_for_backward(*(value for value in inputs if isinstance(value, Tensor)))
        return fn(*inputs)  # autograd is off in here: nothing inside is kept

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor | None) -> Any:
        saved = iter(ctx.saved_tensors)
        inputs = [
            _leaf(next(saved)) if is_tensor else other
            for is_tensor, other in zip(ctx.tensors, ctx.others, strict=True)
        ]
        with torch.enable_grad(), ctx.random.again(), ctx.precision.again():
            outputs = ctx.fn(*inputs)
        outputs = outputs if isinstance(outputs, tuple) else (outputs,)
        pairs = [
            (output, gradient)
            for output, gradient in zip(outputs, gradients, strict=True)
            if isinstance(output, Tensor) and output.requires_grad and gradient is not None
        ]
        if pairs:
            torch.autograd.backward([output for output, _ in pairs], [g for _, g in pairs])
        return None, None, *(x.grad if isinstance(x, Tensor) else None for x in inputs)


def _leaf(tensor: Tensor) -> Tensor:
    """The same values, where a graph of its own begins."""
    return tensor.detach().requires_grad_(tensor.requires_grad)
