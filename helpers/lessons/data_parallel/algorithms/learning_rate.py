"""The learning rate when many ranks make one large batch.

Source: Goyal et al., "Accurate, Large Minibatch SGD: Training ImageNet in 1 Hour"
(arXiv 1706.02677, 2017), section 2.1 (linear scaling) and section 2.2 (warmup).
"""

from __future__ import annotations

from collections.abc import Callable


def linear_scaling(rate: float, times: float) -> float:
    """The learning rate for a batch `times` as large: `times` as high.

    One step on k batches' mean gradient with rate k·η goes about as far as k steps with rate η,
    as long as the weights change little in those k steps. They change fast at the start of
    training, which is what `gradual_warmup` is for.
    Example: linear_scaling(0.1, 8) is 0.8, for 8 ranks with a full batch each.
    """
    if times <= 0:
        raise ValueError(f"A batch cannot be {times} times as large; give a number above zero.")
    return rate * times


def gradual_warmup(steps: int, times: float) -> Callable[[int], float]:
    """A factor for the learning rate that grows from 1/times to 1 by the same amount every step.

    steps: how many steps the warmup takes (Goyal et al.: 5 epochs). times: what the rate was
    scaled by, so that training starts with the small batch's rate. Returns a function of the step
    (0 first), ready for `torch.optim.lr_scheduler.LambdaLR(optimizer, gradual_warmup(100, 8))`
    on an optimizer that has the scaled rate.
    Example: with steps=4, times=2 it gives 0.5, 0.625, 0.75, 0.875, 1, 1, …
    """
    if steps < 0 or times <= 0:
        raise ValueError(
            f"A warmup takes no negative number of steps and a scale above zero, "
            f"not {steps} steps and a scale of {times}."
        )

    def factor(step: int) -> float:
        if step >= steps:
            return 1.0
        return 1 / times + (1 - 1 / times) * step / steps

    return factor
