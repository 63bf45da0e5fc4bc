"""Training in 16 bits: gradients that vanish in fp16, and the scale that keeps them.

fp16's smallest number is 6e-8; many gradients are smaller, and become 0. A loss that is multiplied
by 65 536 has gradients that are 65 536 times as large; they are divided before the update. Too
large a scale overflows, so it is found while training goes on. bf16 has float32's range and needs
none of this. Source: Micikevicius et al., "Mixed Precision Training" (2018), sections 3.1 and 3.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn


def next_scale(scale: float, good: int, finite: bool, interval: int) -> tuple[float, int]:
    """The loss scale of the next step, and the good steps since it changed.

    scale: this step's. good: steps before this one since the scale changed last. finite: whether
    all of this step's gradients are. After an overflow the scale is halved; after `interval` good
    steps in a row it is doubled.
    """
    if not finite:
        return scale / 2, 0
    if good + 1 == interval:
        return scale * 2, 0
    return scale, good + 1


class DynamicLossScale:
    """A loss scale that halves at an overflow and doubles after `interval` good steps in a row.

    start: a power of 2, so that scaling rounds nothing. choose: the next scale, as `next_scale`
    does. On ranks every gradient is summed first, so that an overflow anywhere is one everywhere,
    and all scales stay equal.
    """

    def __init__(
        self,
        start: float = 2.0**16,
        interval: int = 2000,
        choose: Callable[[float, int, bool, int], tuple[float, int]] = next_scale,
    ) -> None:
        if not start > 0 or interval < 1:
            raise ValueError(f"start={start} is above 0, and interval={interval} 1 or more.")
        self.scale, self.interval, self.choose = start, interval, choose
        self.good = 0  # steps since the last overflow, or the last doubling
        self.skipped = 0

    def scaled(self, loss: Tensor) -> Tensor:
        """What `backward` is called on, in float32, for fp16 ends at 65 504."""
        return loss.float() * self.scale

    def unscale(self, gradients: Iterable[Tensor]) -> bool:
        """Divide in place; say whether all are finite, so that there may be an update."""
        finite = True
        for gradient in gradients:
            gradient.div_(self.scale)
            finite = finite and bool(torch.isfinite(gradient).all())
        return finite

    def update(self, finite: bool) -> None:
        """Choose the next step's scale."""
        self.skipped += not finite
        self.scale, self.good = self.choose(self.scale, self.good, finite, self.interval)


class MixedPrecision:
    """A model that computes in 16 bits, and float32 weights that the optimizer updates.

        training = MixedPrecision(model, partial(torch.optim.SGD, lr=0.1), torch.float16)
        training.backward(loss)         # a scaled one
        training.step()                 # False where the gradients overflowed: nothing moved

    An update is often less than half a unit in the last place of a 16-bit weight, which would stay
    as it was for ever; added up in float32 it counts. model: its parameters become `dtype`.
    optimizer: makes one of a list of float32 parameters. scale: None for none, as with bf16.
    """

    def __init__(
        self,
        model: nn.Module,
        optimizer: Callable[[list[nn.Parameter]], Any],
        dtype: torch.dtype = torch.bfloat16,
        scale: DynamicLossScale | None = None,
    ) -> None:
        wide = [p.detach().float().clone() for p in model.parameters()]
        self.masters = [nn.Parameter(each) for each in wide]
        self.model, self.scale = model.to(dtype), scale
        self.optimizer = optimizer(self.masters)

    def backward(self, loss: Tensor) -> None:
        """Backward of the loss, scaled where there is a scale."""
        (loss if self.scale is None else self.scale.scaled(loss)).backward()

    def step(self) -> bool:
        """Update the float32 weights, and give the model theirs; `.grad` is None afterwards.

        With a scale a step whose gradients overflowed is skipped. Returns whether there was one.
        """
        narrow = list(self.model.parameters())
        for master, parameter in zip(self.masters, narrow, strict=True):
            master.grad = None if parameter.grad is None else parameter.grad.float()
            parameter.grad = None
        finite = True
        if self.scale is not None:
            found = [master.grad for master in self.masters if master.grad is not None]
            finite = self.scale.unscale(found)
            self.scale.update(finite)
        if finite:
            self.optimizer.step()
            with torch.no_grad():
                for master, parameter in zip(self.masters, narrow, strict=True):
                    parameter.copy_(master)
        return finite
