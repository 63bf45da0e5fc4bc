"""The reference of exercise 11.3, and layers on codes with one thing wrong."""

from __future__ import annotations

from typing import Any


def reference(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """The course's own."""
    return x_scale * w_scale * _total(x, x_zero, weight) + bias


def _sums(x: Any, weight: Any) -> Any:
    from helpers.algorithms.quantization.integer_products import int_matmul

    return int_matmul(x, weight.t())


def _total(x: Any, x_zero: int, weight: Any) -> Any:
    """The output in steps, without the bias, as it should be."""
    return _sums(x, weight) - x_zero * weight.sum(1)


def no_zero_point(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Multiplies codes as if 0 were the code of 0."""
    return x_scale * w_scale * _sums(x, weight) + bias


def added(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """The correction with the other sign."""
    return x_scale * w_scale * (_sums(x, weight) + x_zero * weight.sum(1)) + bias


def other_sums(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Sums the weights over the outputs."""
    return x_scale * w_scale * (_sums(x, weight) - x_zero * weight.sum(0)) + bias


def sums_of_codes(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Sums the codes of x in place of the weight's."""
    return x_scale * w_scale * (_sums(x, weight) - x_zero * x.sum(1, keepdim=True)) + bias


def zero_once(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Takes the zero point away from the sums."""
    return x_scale * w_scale * (_sums(x, weight) - x_zero) + bias


def no_bias(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Forgets the bias."""
    return x_scale * w_scale * _total(x, x_zero, weight)


def bias_scaled(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Adds the bias to the sums."""
    return x_scale * w_scale * (_total(x, x_zero, weight) + bias)


def bias_cut(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Counts the bias in steps, and cuts off what is left of one."""
    scale = x_scale * w_scale
    return (_total(x, x_zero, weight) + (bias / scale).int()) * scale


def scales_by_row(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Lays the scales along the rows."""
    return x_scale * w_scale[:, None] * _total(x, x_zero, weight) + bias


def no_x_scale(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Uses the weight's scale alone."""
    return w_scale * _total(x, x_zero, weight) + bias


def w_scale_twice(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Multiplies by the weight's scale, and once more together with x's."""
    sums = w_scale * _total(x, x_zero, weight)
    return sums * (x_scale * w_scale) + bias


def mean_scale(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """One scale for all outputs."""
    return x_scale * w_scale.mean() * _total(x, x_zero, weight) + bias


def correction_unscaled(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Takes the correction away from values."""
    return x_scale * w_scale * _sums(x, weight) - x_zero * weight.sum(1) + bias


def wraps(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Takes the zero point away from codes."""
    return x_scale * w_scale * _sums(x - x_zero, weight) + bias


def cuts_codes_off(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Takes the zero point away from codes, and clamps them into their type."""
    import torch

    shifted = (x.int() - x_zero).clamp(-128, 127).to(torch.int8)
    return x_scale * w_scale * _sums(shifted, weight) + bias


def in_8_bits(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Multiplies the tensors as they come."""
    return x_scale * w_scale * (x @ weight.t() - x_zero * weight.sum(1)) + bias


def in_16_bits(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """A product of two codes fits 16 bits; their sum does not."""
    return x_scale * w_scale * ((x.short() - x_zero) @ weight.short().t()) + bias


def weights_in_8_bits(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Sums the weights up as codes."""
    import torch

    correction = x_zero * weight.sum(1, dtype=torch.int8).int()
    return x_scale * w_scale * (_sums(x, weight) - correction) + bias


def transposed(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """The weight comes first."""
    return x_scale * w_scale * (_sums(weight, x) - x_zero * weight.sum(1)) + bias


def left_whole(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Stops at the sums."""
    return _total(x, x_zero, weight) + (bias / (x_scale * w_scale)).round().int()


def dequantized(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Goes back to values, and is a linear layer."""
    from torch.nn import functional

    values = x_scale * (x.float() - x_zero)
    return functional.linear(values, weight * w_scale[:, None], bias)


def in_float32(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Multiplies codes in single precision."""
    sums = x.float() @ weight.float().t()
    return x_scale * w_scale * (sums - x_zero * weight.sum(1)) + bias


def in_float16(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Multiplies codes in half precision."""
    sums = (x.half() @ weight.half().t()).float()
    return x_scale * w_scale * (sums - x_zero * weight.sum(1)) + bias


def in_float64(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Multiplies codes in double precision."""
    sums = (x.double() - x_zero) @ weight.double().t()
    return (x_scale * w_scale * sums + bias).float()


def corrected_in_floats(
    x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any
) -> Any:
    """Turns both sums into values, and takes one from the other."""
    scale = x_scale * w_scale
    return scale * _sums(x, weight) - scale * (x_zero * weight.sum(1)) + bias


def in_place(x: Any, x_scale: float, x_zero: int, weight: Any, w_scale: Any, bias: Any) -> Any:
    """Makes both scales one, in the place of the weight's."""
    w_scale *= x_scale
    return _total(x, x_zero, weight) * w_scale + bias
