"""Wrong answers to exercise 11.6: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch


class Grid(NamedTuple):
    scale: float
    zero: int
    lowest: int
    highest: int

    def code(self, x: Any) -> Any:
        return torch.round(x / self.scale) + self.zero

    def clamp(self, codes: Any) -> Any:
        return codes.clamp(self.lowest, self.highest)

    def holds(self, codes: Any) -> Any:
        return (codes >= self.lowest) & (codes <= self.highest)

    def value(self, codes: Any) -> Any:
        return (codes - self.zero) * self.scale

    def nearest(self, x: Any) -> Any:
        return self.value(self.clamp(self.code(x)))


def _on_grid(answer: Callable[[Any, Grid], Any]) -> Callable[..., Any]:
    def fake_quantize(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
        return answer(x, Grid(scale, zero_point, lowest, highest))

    return fake_quantize


def _straight(gradient: Any, x: Any, grid: Grid) -> Any:
    return gradient * grid.holds(grid.code(x))


def _with(
    forward: Callable[[Any, Grid], Any] = lambda x, grid: grid.nearest(x),
    back: Callable[[Any, Any, Grid], Any] = _straight,
    given: Callable[[Any], Any] = lambda gradient: (gradient, None),
) -> Callable[..., Any]:
    """The values of x, what becomes of the gradient, and what backward gives."""

    class Straight(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any, grid: Any) -> Any:
            ctx.save_for_backward(x)
            ctx.grid = grid
            return forward(x, grid)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            (x,) = ctx.saved_tensors
            return given(back(gradients[0], x, ctx.grid))

    return _on_grid(Straight.apply)


def _back(back: Callable[[Any, Any, Grid], Any]) -> Callable[..., Any]:
    """With the right values."""
    return _with(back=back)


# --- the values -----------------------------------------------------------------------------------

gives_codes = _with(lambda x, grid: grid.clamp(grid.code(x)))
GIVES_CODES = "{value}: these are codes, or steps; values are scale · (q − zero_point)."
gives_all_codes = _with(lambda x, grid: grid.code(x))
gives_steps = _with(lambda x, grid: grid.clamp(grid.code(x)) - grid.zero)
no_clamp = _with(lambda x, grid: grid.value(grid.code(x)))
NO_CLAMP = "{value}: q is not clamped: beyond lowest and highest there are no codes."
ends_as_values = _with(lambda x, grid: torch.round(grid.clamp(x) / grid.scale) * grid.scale)
ENDS_AS_VALUES = "{value}: lowest and highest are codes: clamp round(x / scale) + zero_point."
ends_as_values_late = _with(lambda x, grid: grid.clamp(grid.value(grid.code(x))))
no_zero_point = _with(lambda x, grid: grid.clamp(torch.round(x / grid.scale)) * grid.scale)
NO_ZERO_POINT = (
    "{value}: the zero point is left out, and the grid lies elsewhere: add it before you clamp, "
    "and take it away again afterwards."
)
zero_point_stays = _with(lambda x, grid: grid.clamp(grid.code(x)) * grid.scale)
ZERO_POINT_STAYS = "{value}: the zero point was never taken away again: scale · (q − zero_point)."
zero_point_leaves = _with(lambda x, grid: grid.value(grid.clamp(torch.round(x / grid.scale))))
ZERO_POINT_LEAVES = "{value}: the zero point has to be added: round(x / scale) + zero_point."
zero_point_negated = _with(lambda x, grid: grid._replace(zero=-grid.zero).nearest(x))
truncates = _with(lambda x, grid: grid.value(grid.clamp((x / grid.scale).trunc() + grid.zero)))
TRUNCATES = (
    "{value}: the fraction was cut off and not rounded: up to a whole step is lost, where "
    "`torch.round` loses half a step at most."
)
cuts_codes = _with(lambda x, grid: grid.value(grid.clamp((x / grid.scale + grid.zero).trunc())))
rounds_down = _with(lambda x, grid: grid.value(grid.clamp((x / grid.scale).floor() + grid.zero)))
rounds_up = _with(lambda x, grid: grid.value(grid.clamp((x / grid.scale).ceil() + grid.zero)))
not_rounded = _with(lambda x, grid: x.clone())
NOT_ROUNDED = "{value}: x was not rounded: only whole codes q are there."
only_clamped = _with(lambda x, grid: grid.value(grid.clamp(x / grid.scale + grid.zero)))

# --- the way back ---------------------------------------------------------------------------------

detached = _on_grid(lambda x, grid: grid.nearest(x).detach())
DETACHED = (
    "the values are right, but what you returned has no `grad_fn`. No way leads back to x: that "
    "is what `detach`, `no_grad` and whole numbers do. Take x's own way round the rounding."
)
rounds = _on_grid(lambda x, grid: grid.nearest(x))
ROUNDS = (
    "{gradient}: nothing comes back at all. Rounding has the gradient 0: say what backward does, "
    "in an `autograd.Function`, or by x + (rounded − x).detach() where x may learn."
)
everywhere = _back(lambda g, x, grid: g)
EVERYWHERE = (
    "{gradient}: the gradient is 1 everywhere. A value beyond the grid is cut off: moving it a "
    "little changes nothing: its gradient is 0. Codes tell which, before they are clamped."
)
times_scale = _back(lambda g, x, grid: _straight(g, x, grid) * grid.scale)
TIMES_SCALE = "{gradient}: it was multiplied by scale. Forward divides by it too: they cancel."
times_scale_everywhere = _back(lambda g, x, grid: g * grid.scale)
over_scale = _back(lambda g, x, grid: _straight(g, x, grid) / grid.scale)
OVER_SCALE = "{gradient}: it was divided by scale. Forward multiplies by it too: they cancel."
over_scale_everywhere = _back(lambda g, x, grid: g / grid.scale)
inside_by_values = _back(lambda g, x, grid: g * grid.holds(x / grid.scale + grid.zero))
INSIDE_BY_VALUES = (
    "{gradient}: x lies beyond the end value by less than half a step and still rounds to the last "
    "code, so nothing is cut off. Compare codes with lowest and highest, not x with end values."
)
one_end = _back(lambda g, x, grid: g * (grid.code(x) <= grid.highest))
ONE_END = "{gradient}: one end alone was looked at: a code is at least lowest and at most highest."
other_end = _back(lambda g, x, grid: g * (grid.code(x) >= grid.lowest))
without_ends = _back(lambda g, x, on: g * (on.code(x) > on.lowest) * (on.code(x) < on.highest))
WITHOUT_ENDS = "{gradient}: the last codes are codes as well: lowest ≤ q ≤ highest, with both ends."
without_upper_end = _back(lambda g, x, grid: _straight(g, x, grid) * (grid.code(x) < grid.highest))
without_lower_end = _back(lambda g, x, grid: _straight(g, x, grid) * (grid.code(x) > grid.lowest))
mask_without_zero = _back(lambda g, x, grid: g * grid.holds(torch.round(x / grid.scale)))
MASK_WITHOUT_ZERO = "{gradient}: round(x / scale) was compared without the zero point."
x_as_codes = _back(lambda g, x, grid: g * grid.holds(x))
X_AS_CODES = "{gradient}: x itself was compared, and lowest and highest are codes."
turned_round = _back(lambda g, x, grid: g * ~grid.holds(grid.code(x)))
TURNED_ROUND = "{gradient}: it came back where values were cut off: the other way round."
mask_alone = _back(lambda g, x, grid: grid.holds(grid.code(x)).to(g.dtype))
MASK_ALONE = "{gradient}: backward returned 1 and 0: multiply its argument, the gradient, by them."
ones = _back(lambda g, x, grid: torch.ones_like(g))


def _spoils(gradient: Any, x: Any, grid: Grid) -> Any:
    gradient[~grid.holds(grid.code(x))] = 0
    return gradient


spoils = _back(_spoils)
SPOILS = (
    "your backward wrote into the gradient that it was given, which another branch of the model "
    "may be given too: make a new one, such as gradient * inside."
)
_kept: dict[str, Any] = {}  # in one place for all calls
_with_the_last = _back(lambda g, x, grid: _straight(g, _kept["x"], grid))


def last_call(x: Any, scale: float, zero_point: int, lowest: int, highest: int) -> Any:
    _kept["x"] = x.detach().clone()
    return _with_the_last(x, scale, zero_point, lowest, highest)


LAST_CALL = (
    "{gradient}: `fake_quantize` was called once more before backward, as in a model with two "
    "layers, and backward used what the later call had left. Keep it in `ctx`, by "
    "`save_for_backward`, which each call has for itself."
)


def _clamps_x(x: Any, grid: Grid) -> Any:
    ends = torch.tensor([grid.lowest - 0.4999, grid.highest + 0.4999])
    x.clamp_(*grid.value(ends).tolist())
    return x + (grid.nearest(x) - x).detach()


in_place = _on_grid(_clamps_x)
IN_PLACE = (
    "you wrote into x, which other layers may use and autograd may have kept: work on a new "
    "tensor, without `_` at the end of a method's name."
)

by_torch = _on_grid(
    lambda x, grid: torch.fake_quantize_per_tensor_affine(
        x, grid.scale, grid.zero, quant_min=grid.lowest, quant_max=grid.highest
    )
)
BY_TORCH = (
    "the values and the gradient are right, and they are torch's: its own function for this was "
    "called. Here you write what that does: an `autograd.Function` out of round, clamp and a mask."
)


# --- what autograd refuses ------------------------------------------------------------------------

one_gradient = _with(given=lambda gradient: gradient)
saved_tuple = _back(lambda g, x, grid: g * (grid.holds(grid.code(x)),))


class _Forward(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any, grid: Any) -> Any:
        return grid.nearest(x)


no_backward = _on_grid(_Forward.apply)
NO_BACKWARD = "your Function has no backward: write `backward(ctx, gradient)` too."
