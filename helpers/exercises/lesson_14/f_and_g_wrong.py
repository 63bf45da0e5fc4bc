"""Pairs of functions with one thing wrong, for exercise 14.2, and hints for those that fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.exercises.lesson_14.shared import in_vain, stayed_away, summed, told_by_all
from helpers.exercises.spec import Case, Observation

Way = Callable[[Any, Any], Any]


def _keep(comm: Any, x: Any) -> Any:
    return x.view_as(x)


def _sum(comm: Any, x: Any) -> Any:
    import torch

    return summed(comm, x.clone(memory_format=torch.contiguous_format))


def _mean(comm: Any, x: Any) -> Any:
    return _sum(comm, x) / comm.size


def _nothing(comm: Any, x: Any) -> None:
    _sum(comm, x)


def _pair(f: Way = _keep, f_back: Way = _sum, g: Way = _sum, g_back: Way = _keep) -> Any:
    """What makes two functions that do this forward and backward; unchanged, the right ones."""

    def make_f_g(comm: Any) -> Any:
        import torch

        def function(there: Way, back: Way) -> Any:
            class Function(torch.autograd.Function):
                @staticmethod
                def forward(ctx: Any, x: Any) -> Any:
                    return there(comm, x)

                @staticmethod
                def backward(ctx: Any, *gradients: Any) -> Any:
                    return back(comm, gradients[0])

            return Function.apply

        return function(f, f_back), function(g, g_back)

    return make_f_g


_right = _pair()
no_sum_backward = _pair(f_back=in_vain)
backward_swapped = _pair(f_back=_keep, g_back=_sum)
sums_twice = _pair(g_back=_sum)
f_sums_forward = _pair(f=_sum, f_back=_keep)  # as many sums as in the right ones
swapped = _pair(_sum, _keep, _keep, _sum)
no_sum_forward = _pair(g=in_vain)
g_averages = _pair(g=_mean)
f_averages = _pair(f_back=_mean)
g_divides = _pair(g_back=lambda comm, x: x / comm.size)
f_gives_nothing = _pair(f_back=_nothing)
sends_in_vain = _pair(g_back=_mean)
plain_copies = _pair(
    f_back=lambda comm, x: summed(comm, x.clone()), g=lambda comm, x: summed(comm, x.clone())
)
f_in_place = _pair(f_back=summed)
g_in_place = _pair(g=summed)
g_in_place_backward = _pair(g_back=summed)
no_wait = _pair(g=lambda comm, x: sum(told_by_all(comm, x)))


def no_gradient(comm: Any) -> Any:
    return _right(comm)[0], lambda x: summed(comm, x.detach().clone())


def classes(comm: Any) -> Any:
    f, g = _right(comm)
    return f.__self__, g.__self__


def one_function(comm: Any) -> Any:
    return _right(comm)[0]


def rank_0_alone(comm: Any) -> Any:
    f, g = _right(comm)
    return (f if comm.rank == 0 else lambda x: x), g


def hook_on_x(comm: Any) -> Any:
    def f(x: Any) -> Any:
        if x.requires_grad:
            x.register_hook(lambda gradient: _sum(comm, gradient))
        return x

    return f, _right(comm)[1]


def two_dimensions(comm: Any) -> Any:
    f, g = _right(comm)

    def of_rows(x: Any) -> Any:
        rows, width = x.shape
        return g(x.view(rows, width))

    return f, of_rows


def flat_view(comm: Any) -> Any:
    f, g = _right(comm)
    return f, lambda x: g(x.view(-1)).view(x.shape)


# --- those that do not return ---------------------------------------------------------------------


def some_do_not_come(case: Case, seen: Observation) -> str | None:
    """Ranks that stay away."""
    away = stayed_away(case, seen)
    return away and (
        f"{case.name}, {away} did not come to a sum, and the others wait: f's backward and g's "
        "forward are called on every rank, and every rank sums."
    )


def turned_copy(case: Case, seen: Observation) -> str | None:
    """A plain copy of a transposed tensor."""
    *_, gaps = case.args[0]
    if seen.trouble != "failed" or not gaps or "lie in one row" not in seen.text:
        return None
    return (
        f"{case.name}, and with a transposed one, the ring refused a copy on rank {seen.rank}: a "
        "plain `clone()` of a transposed tensor is transposed as well. "
        "`clone(memory_format=torch.contiguous_format)` lies in one row."
    )


def another_form(case: Case, seen: Observation) -> str | None:
    """An exception for a tensor of three dimensions, or for a slice of a wider one."""
    x, *_, gaps = case.args[0]
    if seen.trouble != "failed" or (x.ndim == 2 and not gaps):
        return None
    said = seen.text.splitlines()[0].rstrip(".") if seen.text else seen.kind
    slices = ", and slices of wider tensors too" if gaps else ""
    return (
        f"{case.name}, rank {seen.rank} raised {seen.kind} ({said}): f and g take tensors of any "
        f"shape{slices}. They need not know it: `x.clone(memory_format=torch.contiguous_format)` "
        "and a sum work for all."
    )
