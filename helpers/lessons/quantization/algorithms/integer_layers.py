"""Layers that compute with whole numbers only: 8-bit codes in, 32-bit sums, 8-bit codes out.

With x = s_x (q_x − z_x) and w = s_w q_w a layer's output is s_x s_w (Σ q_w q_x − z_x Σ q_w + b):
one product of 8-bit matrices, a correction that is known beforehand, and a bias that counts in
steps of s_x s_w too. Weights have the zero point 0, or there were a third term that depends on the
input. Source: Jacob et al. (2018), sections 2.2 to 2.4.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from helpers.lessons.quantization.algorithms.integer_pools import Held
from helpers.lessons.quantization.algorithms.integer_products import int_matmul
from helpers.lessons.quantization.algorithms.quantization import Grid, weight_grid
from helpers.lessons.quantization.algorithms.requantize import Multiplier, requantize
from helpers.lessons.quantization.algorithms.windows import Sliding

# Sums and biases stay below 2^30 each, so that together they fit 32 bits.
LARGEST = 2**30


def layer_grid(weight: Tensor, bias: Tensor | None, x_scale: Tensor, bits: int = 8) -> Grid:
    """`weight_grid`, with steps that are wide enough for the bias to be counted in 32 bits.

    A channel of tiny weights, as a batch norm leaves behind where nothing came through, would make
    its step s_x s_w so small that the bias is too many of them.
    """
    grid = weight_grid(weight, bits)
    if bias is None:
        return grid
    least = bias.detach().abs() / (x_scale.to(bias.device) * (LARGEST // 2))  # scales are rounded
    empty = weight.detach().flatten(1).eq(0).all(1)  # such a channel may have any scale
    scale = torch.maximum(torch.where(empty, 0, grid.scale), least.to(grid.scale.dtype))
    return replace(grid, scale=torch.where(scale > 0, scale, torch.ones_like(scale)))


def quantize_bias(bias: Tensor, scale: Tensor) -> Tensor:
    """A bias in steps of `scale` (s_x · s_w), int32. ValueError where it is too many steps."""
    codes = torch.round(bias.detach().double() / scale.double())
    if codes.numel() and codes.abs().max() > LARGEST:
        raise ValueError(
            "A bias has more than 2^30 steps of s_x · s_w: take wider steps for its channel, as "
            "layer_grid does."
        )
    return codes.to(torch.int32)


def integer_linear(
    x: Tensor,
    x_scale: float,
    x_zero: int,
    weight: Tensor,
    w_scale: Tensor,
    bias: Tensor | None = None,
) -> Tensor:
    """A linear layer on codes, the whole of it in one place: codes in, float values out.

    x: (rows, in) codes, int8. x_scale, x_zero: of their grid. weight: (out, in) codes, int8, with
    the zero point 0. w_scale: (out,) or one number. bias: (out,) floats or None. Returns (rows,
    out) in the type of w_scale. All sums are of whole numbers, in 64 bits once they are corrected;
    the one product of floats turns steps into values, to which the bias is added as it is. Raises
    TypeError and ValueError as `int_matmul` does. Jacob et al. (2018), section 2.3.
    Example: x = ((10, −64),), x_zero = −64, weight = ((3, 5),), scales of 1 give ((222 + bias,),).
    """
    sums = int_matmul(x, weight.t()) - x_zero * weight.sum(1)
    values = sums * (x_scale * w_scale)
    return values if bias is None else values + bias


def check_reach(weight: Tensor, x_grid: Grid) -> None:
    """ValueError where Σ q_w (q_x − z_x) could leave 32 bits; weight: codes, (out, …)."""
    ends = (x_grid.lowest - x_grid.zero_point, x_grid.highest - x_grid.zero_point)
    reach = weight.flatten(1).to(torch.int64).abs().sum(1) * max(int(end.abs()) for end in ends)
    if reach.numel() and reach.max() >= LARGEST:
        raise ValueError(
            f"A channel sums {weight[0].numel()} products, which may leave 32 bits: use "
            "fewer bits, or cut the layer in two."
        )


def derive_again(module: Any, _: Any) -> None:
    """A hook: numbers were loaded, so what follows from them has changed."""
    module.derive()


class IntegerLayer(nn.Module):
    """What linear layers and convolutions of whole numbers share.

    layer: a trained one. x_grid: of the codes coming in. y_grid: of those going out, or None for
    float32 values. bits: of the weight, 2 to 8. Held are codes, the weight's, int8, (out, …); their
    scale, (out,); and bias, int32, (out,).
    """

    codes: Tensor
    scale: Tensor
    bias: Tensor
    offset: Tensor
    mantissa: Tensor
    shift: Tensor

    def __init__(self, layer: Any, x_grid: Grid, y_grid: Grid | None = None, bits: int = 8) -> None:
        super().__init__()
        weight = layer.weight.detach()
        grid = layer_grid(weight, layer.bias, x_grid.scale, bits)
        bias = weight.new_zeros(len(weight)) if layer.bias is None else layer.bias
        self.code_bits = {"codes": bits}
        self.register_buffer("codes", grid.quantize(weight).contiguous())
        self.register_buffer("scale", grid.scale.clone())
        self.register_buffer("bias", quantize_bias(bias, x_grid.scale * grid.scale))
        self.x = Held(x_grid)
        self.y = None if y_grid is None else Held(y_grid)
        for name in ("offset", "mantissa", "shift"):
            self.register_buffer(name, torch.empty(0), persistent=False)
        self.derive()
        self.register_load_state_dict_post_hook(derive_again)

    def derive(self) -> None:
        """Work out what follows from the stored numbers: the offset and the multiplier."""
        x_grid = self.x.grid
        check_reach(self.codes, x_grid)
        correction = int(x_grid.zero_point) * self.codes.flatten(1).sum(1)
        self.offset = (self.bias - correction).to(torch.int32)
        if self.y is not None:
            real = x_grid.scale.double() * self.scale.double() / self.y.scale.double()
            multiplier = Multiplier.of(real)
            self.mantissa, self.shift = multiplier.mantissa, multiplier.shift

    def products(self, codes: Tensor) -> Tensor:
        """Σ q_w q_x for each output, int32, with channels along dimension 1 or the last one."""
        raise NotImplementedError

    def beside(self, numbers: Tensor) -> Tensor:
        """Numbers of the channels, shaped so that they meet the outputs."""
        return numbers.view(-1, *[1] * (self.codes.dim() - 2))

    def accumulate(self, codes: Tensor) -> Tensor:
        """The 32-bit sums: the layer's output in steps of s_x · s_w."""
        if codes.dtype != torch.int8:
            raise TypeError(
                f"An integer layer takes codes, int8, not {codes.dtype}: quantize the input first."
            )
        return self.products(codes) + self.beside(self.offset)

    def forward(self, codes: Tensor) -> Tensor:
        """Codes of x_grid to codes of y_grid, or to float32 values where there is none."""
        sums = self.accumulate(codes)
        if self.y is None:
            return sums * self.beside(self.x.scale * self.scale)
        multiplier = Multiplier(self.beside(self.mantissa), self.beside(self.shift))
        return requantize(sums, multiplier, self.y.grid)


class IntegerLinear(IntegerLayer):
    """A linear layer of whole numbers: codes (…, in) to codes, or values, (…, out)."""

    def products(self, codes: Tensor) -> Tensor:
        rows = int_matmul(codes.reshape(-1, self.codes.shape[1]), self.codes.t())
        return rows.view(*codes.shape[:-1], len(self.codes))


class IntegerConv2d(IntegerLayer):
    """A convolution of whole numbers: codes (rows, in, height, width) to (rows, out, …).

    Around a picture stands the code of 0, the zero point of x_grid. Any stride, padding, dilation
    and number of groups.
    """

    def __init__(
        self, conv: nn.Conv2d, x_grid: Grid, y_grid: Grid | None = None, bits: int = 8
    ) -> None:
        super().__init__(conv, x_grid, y_grid, bits)
        self.sliding, self.groups = Sliding.of(conv), conv.groups

    def products(self, codes: Tensor) -> Tensor:
        filler = int(self.x.zero_point)
        return conv_products(codes, self.codes, self.sliding, self.groups, filler)


def conv_products(
    codes: Tensor, weight: Tensor, sliding: Sliding, groups: int, filler: int
) -> Tensor:
    """Sums of products of a convolution of int8 codes, int32, (rows, out, height, width).

    codes: (rows, in, height, width). weight: (out, in / groups, kernel height, kernel width).
    filler: the code that stands around a picture. Raises ValueError for other shapes.
    """
    if codes.dim() != 4 or codes.shape[1] != groups * weight.shape[1]:
        raise ValueError(
            f"A convolution of this kind takes (rows, {groups * weight.shape[1]}, height, width), "
            f"not {tuple(codes.shape)}."
        )
    if groups == codes.shape[1] > 1:
        return _depthwise(codes, weight, sliding, filler)
    windows = sliding.windows(codes, filler)
    rows, _, *size = windows.shape[:4]
    sums = codes.new_empty(len(weight), rows * size[0] * size[1], dtype=torch.int32)
    parts = zip(windows.chunk(groups, 1), weight.chunk(groups), sums.chunk(groups), strict=True)
    for window, kernels, out in parts:
        columns = window.permute(0, 2, 3, 1, 4, 5).reshape(out.shape[1], kernels[0].numel())
        out.copy_(int_matmul(columns, kernels.flatten(1).t()).t())
    return sums.view(len(weight), rows, *size).transpose(0, 1).contiguous()


def _depthwise(codes: Tensor, weight: Tensor, sliding: Sliding, filler: int) -> Tensor:
    """One channel of the input for each output: too thin for matrices, so place by place."""
    if len(weight) > codes.shape[1]:  # several outputs of each channel
        codes = codes.repeat_interleave(len(weight) // codes.shape[1], dim=1)
    windows = sliding.windows(codes, filler)
    sums = weight.new_zeros(windows.shape[:4], dtype=torch.int32)
    for i in range(sliding.kernel[0]):
        for j in range(sliding.kernel[1]):
            sums += windows[..., i, j].to(torch.int32) * weight[:, 0, i, j].view(-1, 1, 1)
    return sums
