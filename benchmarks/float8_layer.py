"""A linear layer whose three products multiply 8-bit floats, forward and backward.

Inputs and weights have 3 bits of fraction (e4m3), gradients 2 and a wider range (e5m2); each tensor
has one scale, from its largest number. Weights stay what they are, sums are of 32 bits. Source:
Micikevicius et al., "FP8 Formats for Deep Learning" (2022), sections 3 and 4.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

LARGEST = {torch.float8_e4m3fn: 448.0, torch.float8_e5m2: 57344.0}
MULTIPLE = 16  # of rows and of columns, as the instructions want them


def scaled(values: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """8-bit floats and their scale, (): values ≈ codes · scale.

    They pass through bfloat16, whose 7 bits of fraction are more than enough, so that less is read
    and written on the way.
    """
    values = values.bfloat16()
    largest = torch.linalg.vector_norm(values, float("inf")).float()
    scale = largest.clamp_min(1e-12) / LARGEST[dtype]
    codes = values / scale.bfloat16()
    return codes.clamp_(-LARGEST[dtype], LARGEST[dtype]).to(dtype), scale.bfloat16().float()


def product(a: tuple[Tensor, Tensor], b: tuple[Tensor, Tensor], dtype: torch.dtype) -> Tensor:
    """(m, k) · (n, k)ᵀ of codes with their scales: both lie row by row."""
    (left, of_left), (right, of_right) = a, b
    found: Tensor = torch._scaled_mm(left, right.t(), of_left, of_right, out_dtype=dtype)
    return found


def _turned(coded: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    codes, scale = coded
    return codes.t().contiguous(), scale


class _Products(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        inputs, weights = (scaled(t, torch.float8_e4m3fn) for t in (x, weight))
        ctx.save_for_backward(*inputs, *weights)
        ctx.dtypes = x.dtype, weight.dtype
        return product(inputs, weights, torch.bfloat16)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        x, of_x, weight, of_weight = ctx.saved_tensors
        given = scaled(gradients[0], torch.float8_e5m2)
        of_inputs = product(given, _turned((weight, of_weight)), torch.bfloat16)
        of_weights = product(_turned(given), _turned((x, of_x)), torch.bfloat16)
        return of_inputs.to(ctx.dtypes[0]), of_weights.to(ctx.dtypes[1])


class Float8Linear(nn.Module):
    """A linear layer in 8 bits, on the weights of another one. (…, in) to (…, out), bfloat16."""

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        self.weight, self.bias = linear.weight, linear.bias

    def forward(self, x: Tensor) -> Tensor:
        """x: its rows, of all leading dimensions together, must be a multiple of 16."""
        flat = x.reshape(-1, x.shape[-1])
        found = torch.as_tensor(_Products.apply(flat, self.weight))
        if self.bias is not None:
            found = found + self.bias.to(found.dtype)
        return found.view(*x.shape[:-1], -1)


def in_float8(model: nn.Module) -> nn.Module:
    """The model with its linear layers in 8 bits, as far as the instructions take their shapes.

    In place: the same weights, so that an optimizer goes on with them. Returns the model.
    """
    for name, child in model.named_children():
        if isinstance(child, nn.Linear) and not any(n % MULTIPLE for n in child.weight.shape):
            setattr(model, name, Float8Linear(child))
        else:
            in_float8(child)
    return model
