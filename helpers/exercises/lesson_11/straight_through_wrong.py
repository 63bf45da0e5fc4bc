"""The reference of exercise 11.6, and fake quantization with one thing wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def reference(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """The course's own."""
    from helpers.algorithms.quantization.fake_quantization import fake_quantize

    return fake_quantize(x, scale, zero_point, lowest, highest)


def _forward(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """The right values, and rounding's own gradient."""
    codes = (x / scale).round() + zero_point
    return (codes.clamp(lowest, highest) - zero_point) * scale


def _through(x: Any, values: Any) -> Any:
    """Some values, with x's gradient."""
    return x + (values - x).detach()


def _function(x: Any, values: Any, back: Callable[[Any], Any]) -> Any:
    """Some values, and what `back` makes of the gradient."""
    import torch

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return values.detach().clone()

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return back(gradients[0])

    return Straight.apply(x)


def _inside(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Where there is a code, before clamping."""
    codes = (x.detach() / scale).round() + zero_point
    return (codes >= lowest) & (codes <= highest)


def rounds(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Leaves it to autograd."""
    return _forward(x, scale, zero_point, lowest, highest)


def detached(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Goes through whole numbers."""
    import torch

    codes = (torch.round(x / scale) + zero_point).clamp(lowest, highest).to(torch.int32)
    return (codes - zero_point).float() * scale


def everywhere(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Clamps inside of the detach."""
    return _through(x, _forward(x, scale, zero_point, lowest, highest))


def gives_codes(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Returns the codes themselves."""
    codes = (x / scale).round() + zero_point
    return _through(x, codes.clamp(lowest, highest))


def times_scale(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Differentiates the multiplication alone."""
    inside = _inside(x, scale, zero_point, lowest, highest)
    values = _forward(x, scale, zero_point, lowest, highest)
    return _function(x, values, lambda gradient: gradient * inside * scale)


def over_scale(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Differentiates the division alone."""
    inside = _inside(x, scale, zero_point, lowest, highest)
    values = _forward(x, scale, zero_point, lowest, highest)
    return _function(x, values, lambda gradient: gradient * inside / scale)


def ends_as_values(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Clamps values to the ends of the codes."""
    clamped = x.clamp(lowest, highest)
    return _through(clamped, (clamped / scale).round() * scale)


def no_clamp(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Rounds, and no more."""
    return _through(x, (x / scale).round() * scale)


def no_zero_point(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """A grid around 0."""
    return _through(x, (x / scale).round().clamp(lowest, highest) * scale)


def zero_point_stays(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Multiplies codes by the scale."""
    codes = (x / scale).round() + zero_point
    return _through(x, codes.clamp(lowest, highest) * scale)


def truncates(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Rounds as a conversion to whole numbers does."""
    codes = (x / scale).trunc() + zero_point
    return _through(x, (codes.clamp(lowest, highest) - zero_point) * scale)


def inside_by_values(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Clamps x to the ends of the grid, and rounds what is left."""
    clamped = x.clamp((lowest - zero_point) * scale, (highest - zero_point) * scale)
    return _through(clamped, (clamped / scale).round() * scale)


def one_end(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Looks at the upper end alone."""
    inside = (x.detach() / scale).round() + zero_point <= highest
    values = _forward(x, scale, zero_point, lowest, highest)
    return _function(x, values, lambda gradient: gradient * inside)


def without_ends(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Takes whatever has the last code for cut off."""
    codes = ((x.detach() / scale).round() + zero_point).clamp(lowest, highest)
    values = _forward(x, scale, zero_point, lowest, highest)
    inside = (codes > lowest) & (codes < highest)
    return _function(x, values, lambda gradient: gradient * inside)


def mask_without_zero(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Compares before the zero point is added."""
    inside = _inside(x, scale, 0, lowest, highest)
    values = _forward(x, scale, zero_point, lowest, highest)
    return _function(x, values, lambda gradient: gradient * inside)


def mask_alone(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Returns the derivative, and not the gradient."""
    inside = _inside(x, scale, zero_point, lowest, highest)
    values = _forward(x, scale, zero_point, lowest, highest)
    return _function(x, values, lambda gradient: inside.to(gradient.dtype))


def in_place(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Clamps x itself."""
    half = 0.4999
    low, high = lowest - half - zero_point, highest + half - zero_point
    x.clamp_(low * scale, high * scale)
    return _through(x, _forward(x, scale, zero_point, lowest, highest))


def one_gradient(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """A gradient for x, and nothing for the other arguments."""
    grid = scale, zero_point, lowest, highest
    return _keeping(x, grid, lambda gradient, kept: gradient * kept[0])


def saved_tuple(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Multiplies by all that was kept, which is a tuple."""
    grid = scale, zero_point, lowest, highest
    return _keeping(x, grid, lambda gradient, kept: (gradient * kept, None, None, None, None))


def _keeping(x: Any, grid: tuple[Any, ...], back: Callable[[Any, Any], Any]) -> Any:
    """What `back` makes of the gradient and of all that was kept for backward."""
    import torch

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, *others: Any) -> Any:
            ctx.save_for_backward(_inside(x, *others))
            return _forward(x, *others)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return back(gradients[0], ctx.saved_tensors)

    return Straight.apply(x, *grid)


def last_call(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Keeps what backward needs in one place for all calls."""
    _KEPT["inside"] = _inside(x, scale, zero_point, lowest, highest)
    values = _forward(x, scale, zero_point, lowest, highest)
    return _function(x, values, lambda gradient: gradient * _KEPT["inside"])


_KEPT: dict[str, Any] = {}


def spoils(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    """Sets zeros in the gradient that comes."""
    inside = _inside(x, scale, zero_point, lowest, highest)

    def back(gradient: Any) -> Any:
        gradient[~inside] = 0
        return gradient

    return _function(x, _forward(x, scale, zero_point, lowest, highest), back)
