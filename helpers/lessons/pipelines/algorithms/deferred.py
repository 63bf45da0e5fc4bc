"""Gradients of weights put off: backward leaves the products for them to be made later.

A dense layer's backward is two matrix products of equal size: the gradient of its input, which the
layer before waits for, and that of its weight, which nobody waits for. Here the second one is kept
as a function to be called. What other layers have for parameters (norms, embeddings) is small, and
is made at once.

Source: Qi et al., "Zero Bubble Pipeline Parallelism" (2024), section 2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

Later = Callable[[], None]


class PutOff:
    """The weight gradients of a module's dense layers, put off while `into` is a list.

    Layers keep their parameters, names and results; an output whose graph began before this was
    made is not put off. Subclasses of Linear are left as they are: nobody knows what they do.
    """

    def __init__(self, module: nn.Module) -> None:
        self.into: list[Later] | None = None
        for layer in module.modules():
            if type(layer) is nn.Linear:
                layer.forward = partial(_forward, self, layer)  # type: ignore[method-assign]


def _forward(put_off: PutOff, layer: nn.Linear, x: Tensor) -> Tensor:
    made: Tensor = _Dense.apply(x, layer.weight, layer.bias, put_off)
    return made


class _Dense(torch.autograd.Function):
    """x Wᵀ + b, whose backward puts off what W and b get."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, put_off: PutOff) -> Any:
        ctx.save_for_backward(x, weight)
        ctx.bias, ctx.weight, ctx.put_off = bias, weight, put_off
        return linear(x, weight, bias)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Any:
        x, weight = ctx.saved_tensors
        needs_weight, needs_bias = ctx.needs_input_grad[1:3]

        def products() -> tuple[Tensor | None, Tensor | None]:
            rows = gradient.flatten(0, -2)
            of_weight = rows.T @ x.flatten(0, -2) if needs_weight else None
            return of_weight, rows.sum(0) if needs_bias else None

        def later() -> None:
            with torch.no_grad():  # as in a backward: the products have no history
                for parameter, found in zip((ctx.weight, ctx.bias), products(), strict=True):
                    if found is not None:
                        _add(parameter, found)

        of_input = gradient @ weight if ctx.needs_input_grad[0] else None
        if ctx.put_off.into is None:
            return of_input, *products(), None
        ctx.put_off.into.append(later)
        return of_input, None, None, None


def _add(parameter: Tensor, found: Tensor) -> None:
    """As backward adds to `.grad`."""
    if parameter.grad is None:
        parameter.grad = found
    else:
        parameter.grad += found
