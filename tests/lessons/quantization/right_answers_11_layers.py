"""Right answers to exercises 11.3, 11.5 and 11.6 that differ from the references."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def layer_in_numpy(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Widens the codes, takes the zero point off first, and counts the bias in steps."""
    values = x.numpy().astype(np.int64) - x_zero
    scale = np.float64(x_scale) * w_scale.numpy()
    sums = values @ weight.numpy().astype(np.int64).T + np.rint(bias.numpy() / scale).astype(int)
    return torch.from_numpy(sums * scale)


def layer_with_wide_numbers(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """torch's product of 64-bit whole numbers, scaled from the left."""
    sums = torch.nn.functional.linear(x.long() - x_zero, weight.long())
    return torch.addcmul(bias, sums.float() * x_scale, w_scale)


def layer_with_scales_by_einsum(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Scaling written as a product that sums nothing, and so is none."""
    from helpers.lessons.quantization.algorithms.integer_products import int_matmul

    sums = int_matmul(x, weight.t()) - x_zero * weight.sum(1, dtype=torch.int32)
    return torch.einsum("ro,o->ro", sums.float(), x_scale * w_scale) + bias


def layer_number_by_number(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Python's own numbers."""
    rows, channels = x.tolist(), weight.tolist()
    steps = [sum(channel) * x_zero for channel in channels]
    sums = [
        [
            sum(map(int.__mul__, row, channel)) - step
            for channel, step in zip(channels, steps, strict=True)
        ]
        for row in rows
    ]
    return torch.tensor(sums) * (w_scale * x_scale) + bias


def layer_without_a_product(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Multiplies pair by pair and sums up; sums the weights up by a product with ones."""
    from helpers.lessons.quantization.algorithms.integer_products import int_matmul

    ones = torch.ones(weight.shape[1], 1, dtype=torch.int8)
    pairs = x[:, None, :].to(torch.int32) * weight
    sums = pairs.sum(-1, dtype=torch.int32) - x_zero * int_matmul(weight, ones).t()
    return bias + sums * w_scale * x_scale


def fold_in_numpy(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = 1e-5
) -> Any:
    """In double precision, as a list."""
    w, m, v, g, b = (t.numpy().astype(np.float64) for t in (weight, mean, var, gamma, beta))
    old = np.zeros_like(m) if bias is None else bias.numpy()
    factor = g / np.sqrt(v + eps)
    return [torch.from_numpy((w.T * factor).T), torch.from_numpy(b + factor * (old - m))]


def fold_by_torch(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = 1e-5
) -> Any:
    """torch's own."""
    from torch.nn.utils.fusion import fuse_conv_bn_weights

    return fuse_conv_bn_weights(weight, bias, mean, var, eps, gamma, beta)


def fold_channel_by_channel(
    weight: Any, bias: Any, mean: Any, var: Any, gamma: Any, beta: Any, eps: float = 1e-5
) -> Any:
    """Asks a batch norm in eval mode what it does to 0 and to 1."""
    weight, shift, norm = weight.clone(), torch.empty_like(beta), (mean, var, gamma, beta)
    for c in range(len(weight)):
        asked = torch.tensor([[0.0 if bias is None else float(bias[c])], [1.0], [0.0]])
        m, v, g, b = (each[c : c + 1].double() for each in norm)
        told = torch.nn.functional.batch_norm(asked.double(), m, v, g, b, eps=eps)
        weight[c] *= told[1, 0] - told[2, 0]
        shift[c] = told[0, 0]
    return weight, shift


def fake_by_names(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """A Function that is given its arguments by name, as torch 2.13 takes them; keeps a number."""
    ends = {"highest": highest - zero_point, "lowest": lowest - zero_point}
    return _Steps.apply(x, step=scale, **ends)


class _Steps(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, step: float, lowest: int, highest: int) -> Any:
        steps = (x / step).round()
        kept = steps.clamp(lowest, highest)
        ctx.inside = steps == kept
        return kept * step

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return gradients[0].where(ctx.inside, 0), None, None, None


def fake_by_clamping_first(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Clamps half a step beyond the last codes, where x learns, and rounds where nobody looks."""
    low, high = (lowest - zero_point - 0.5) * scale, (highest - zero_point + 0.5) * scale
    clamped = x.clamp(low, high)
    with torch.no_grad():
        codes = torch.round(clamped / scale).clamp(lowest - zero_point, highest - zero_point)
        rest = codes * scale - clamped
    return clamped + rest


def fake_by_choosing(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Lets x learn in places, in double precision."""
    steps = torch.round(x.detach().double() / scale)
    low, high = lowest - zero_point, highest - zero_point
    values = steps.clamp(low, high) * scale
    learns = torch.where((low <= steps) & (steps <= high), x, x.detach())
    return learns - learns.detach() + values


def fake_by_a_hook(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Straight through, and a hook that stops what was cut off."""
    codes = (x.detach() / scale).round().add(zero_point)
    kept = codes.clamp(lowest, highest)
    through = x * 1
    through.register_hook(lambda gradient: gradient.masked_fill(codes != kept, 0))
    return through - (x.detach() - scale * (kept - zero_point))


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("11.3", layer_in_numpy),
    ("11.3", layer_with_wide_numbers),
    ("11.3", layer_with_scales_by_einsum),
    ("11.3", layer_number_by_number),
    ("11.3", layer_without_a_product),
    ("11.5", fold_in_numpy),
    ("11.5", fold_by_torch),
    ("11.5", fold_channel_by_channel),
    ("11.6", fake_by_names),
    ("11.6", fake_by_clamping_first),
    ("11.6", fake_by_choosing),
    ("11.6", fake_by_a_hook),
]
