"""Wrong answers to exercise 13.5: recomputations that people really write."""

from __future__ import annotations

from typing import Any

import torch


class _Own(torch.autograd.Function):
    """A right one, whose parts the wrong ones change."""

    @staticmethod
    def forward(ctx: Any, x: Any, fn: Any, kind: str) -> Any:
        ctx.fn, ctx.kind, ctx.random = fn, kind, torch.get_rng_state()
        ctx.save_for_backward(x)
        if kind == "twice there":
            fn(x)
            torch.set_rng_state(ctx.random)
        out = fn(x)
        if kind == "state too late":
            ctx.random = torch.get_rng_state()
        if kind == "a copy":
            ctx.out = out.clone()
        if kind == "the result":
            ctx.save_for_backward(x, out)
        return out

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (x, *_), kind, gradient = ctx.saved_tensors, ctx.kind, gradients[0]
        after = torch.get_rng_state()
        if kind != "other random numbers":
            torch.set_rng_state(ctx.random)
        if kind == "the same tensor":
            x.retain_grad()
        else:
            x = x.detach().requires_grad_(kind != "no leaf")
        if kind == "without autograd":
            ctx.fn(x).backward(gradient)
        with torch.enable_grad():
            out = ctx.fn(x)
        if kind not in ("random state left", "other random numbers"):
            torch.set_rng_state(after)
        if kind == "input alone":
            return torch.autograd.grad(out, x, gradient)[0], None, None
        if kind == "of a sum":
            out.backward(torch.ones_like(out))
        else:
            out.backward(gradient)
        return (None if kind == "no input" else x.grad), None, None


def plain(fn: Any, x: Any) -> Any:
    """Computes, and keeps all."""
    return fn(x)


def no_gradients(fn: Any, x: Any) -> Any:
    """Keeps nothing, and has no way back."""
    with torch.no_grad():
        return fn(x)


def cut_off(fn: Any, x: Any) -> Any:
    """Begins a graph of its own."""
    return fn(x.detach().requires_grad_())


def keeps_its_output(fn: Any, x: Any) -> Any:
    """Runs again, and has kept all the same."""
    return _Kept.apply(x, fn)


class _Kept(_Own):
    @staticmethod
    def forward(ctx: Any, x: Any, fn: Any) -> Any:  # type: ignore[override]
        ctx.fn, ctx.kind, ctx.random = fn, "", torch.get_rng_state()
        ctx.save_for_backward(x)
        with torch.enable_grad():
            ctx.out = fn(x.detach().requires_grad_())
        return ctx.out.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return _Own.backward(ctx, *gradients)[:2]


def other_random_numbers(fn: Any, x: Any) -> Any:
    """Draws again."""
    return _Own.apply(x, fn, "other random numbers")


def random_state_left(fn: Any, x: Any) -> Any:
    """Goes on from the random state of forward."""
    return _Own.apply(x, fn, "random state left")


def the_same_tensor(fn: Any, x: Any) -> Any:
    """Runs again from the tensor that came, with all that is before it."""
    return _Own.apply(x, fn, "the same tensor")


def without_autograd(fn: Any, x: Any) -> Any:
    """Runs again where autograd is off."""
    return _Own.apply(x, fn, "without autograd")


def input_alone(fn: Any, x: Any) -> Any:
    """Leaves the parameters out."""
    return _Own.apply(x, fn, "input alone")


def of_a_sum(fn: Any, x: Any) -> Any:
    """Forgets what comes from behind."""
    return _Own.apply(x, fn, "of a sum")


def no_input_gradient(fn: Any, x: Any) -> Any:
    """Gives nothing back."""
    return _Own.apply(x, fn, "no input")


def keeps_the_result(fn: Any, x: Any) -> Any:
    """Saves the output beside x, as many functions do."""
    return _Own.apply(x, fn, "the result")


def keeps_a_copy(fn: Any, x: Any) -> Any:
    """Keeps the output too."""
    return _Own.apply(x, fn, "a copy")


def no_leaf(fn: Any, x: Any) -> Any:
    """Does not ask for the gradient of x."""
    return _Own.apply(x, fn, "no leaf")


def state_too_late(fn: Any, x: Any) -> Any:
    """Takes the random state when the numbers are drawn."""
    return _Own.apply(x, fn, "state too late")


def twice_there(fn: Any, x: Any) -> Any:
    """Runs once for nothing."""
    return _Own.apply(x, fn, "twice there")
