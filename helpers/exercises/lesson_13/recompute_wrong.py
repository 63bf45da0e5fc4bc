"""Wrong answers to exercise 13.5: recomputations that people really write."""

from __future__ import annotations

from collections.abc import Callable
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
        if kind == "all of it":
            with torch.enable_grad():
                ctx.out = fn(x.detach().requires_grad_())
            return ctx.out.detach()
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
        if kind == "outside":
            (out * gradient).sum().backward()
        out.backward(torch.ones_like(out) if kind == "of a sum" else gradient)
        found = {"no input": None, "its own gradient": gradient}.get(kind, x.grad)
        return {"swapped": (None, found, None), "one": (found,)}.get(kind, (found, None, None))


def _own(kind: str) -> Callable[[Any, Any], Any]:
    def recompute(fn: Any, x: Any) -> Any:
        return _Own.apply(x, fn, kind)

    return recompute


other_random_numbers = _own("other random numbers")
random_state_left = _own("random state left")
the_same_tensor = _own("the same tensor")
without_autograd = _own("without autograd")
input_alone = _own("input alone")
of_a_sum = _own("of a sum")
no_input_gradient = _own("no input")
keeps_the_result = _own("the result")
keeps_its_output = _own("all of it")
keeps_a_copy = _own("a copy")
no_leaf = _own("no leaf")
outside = _own("outside")
swapped = _own("swapped")
one_alone = _own("one")
its_own_gradient = _own("its own gradient")
state_too_late = _own("state too late")
twice_there = _own("twice there")


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
