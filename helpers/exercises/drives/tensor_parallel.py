"""Drivers for lesson 14: a cut MLP, f and g inside a small network, a loss over cut scores."""

from __future__ import annotations

import math
from itertools import chain
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import OPEN, Requests
from helpers.exercises.drives.values import Remote

_PRODUCTS = {"matmul", "__matmul__", "mm", "bmm", "mv", "dot", "linear", "inner"}
_ADDED = {"addmm", "baddbmm", "addmv"}


class _Products(TorchFunctionMode):
    """Counts the multiplications in matrix products: so many for each number that comes out."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = getattr(func, "__name__", "")
        operands = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor)]
        if name in _PRODUCTS:
            self.count += result.numel() * operands[0].shape[-1]
        elif name in _ADDED:
            self.count += result.numel() * operands[1].shape[-1]
        elif name == "einsum" and isinstance(args[0], str):
            letters = args[0].replace(" ", "").partition("->")[0].split(",")
            named = zip(map(_spelt_out, letters, operands), operands, strict=True)
            sizes = dict(chain.from_iterable(zip(w, t.shape, strict=True) for w, t in named))
            self.count += math.prod(sizes.values())
        elif name == "tensordot":
            # Every size is in two of the three: those summed over, and those that stay.
            self.count += math.isqrt(math.prod(t.numel() for t in (*operands[:2], result)))
        return result


def _spelt_out(letters: str, operand: Tensor) -> str:
    """An operand of an einsum with a letter for each dimension that "..." stands for."""
    more = operand.dim() - len(letters.replace("...", ""))
    return letters.replace("...", "".join(chr(0x3B1 + place) for place in reversed(range(more))))


def _counting(fn: Function, comm: Any, *args: Any) -> Any:
    """What `fn(comm, *args)` did.

    `values[rank]`: out, what it returned; products, its multiplications, None where they are made
    in another process; changed, the place of the
    first argument that it wrote into, None where it left all alone; open, how many messages nobody
    waited for.
    """
    if isinstance(fn, Remote):
        _hide_others(comm, *args)
    before, requests = [arg.clone() for arg in args], Requests(comm)
    with _Products() as products:
        out = fn(comm, *args)
    still = requests.end()
    pairs = enumerate(zip(args, before, strict=True))
    changed = next((place for place, (now, then) in pairs if not _same(now, then)), None)
    count = None if isinstance(fn, Remote) else products.count
    return {"out": out, "products": count, "changed": changed, OPEN: still}


def _hide_others(comm: Any, x: Tensor, up: Tensor, up_bias: Tensor, down: Tensor, _: Any) -> None:
    """Put no numbers where hidden units are not a rank's own: who multiplies by them sees it."""
    low, high = (part * len(up) // comm.size for part in (comm.rank, comm.rank + 1))
    for others in (slice(None, low), slice(high, None)):
        up[others], up_bias[others], down[:, others] = math.nan, math.nan, math.nan


def _same(now: Tensor, then: Tensor) -> bool:
    return bool(torch.isclose(now, then, rtol=0, atol=0, equal_nan=True).all())


def _on_f_and_g(
    fn: Function,
    comm: Any,
    x: Tensor,
    scale: Tensor,
    parts: list[Tensor],
    weights: Tensor,
    gaps: bool,
) -> Any:
    """A residual network of `f, g = fn(comm)`, forward and backward.

    A rank's arguments: x and scale, the same on all ranks; parts, [A, B, A, B, …] of this rank;
    weights, of the output in the loss; gaps, whether f and g are given slices of wider tensors,
    and where a layer's number is odd, transposed ones.
    `values[rank]`: pair, "functions", "classes" or "" for anything else; where it was functions,
    out, the gradients x, scale and parts, whether g changed what it was given (`input`), and f's
    and g's backward the gradient that they were given (`f`, `g`); open, how many messages nobody
    waited for.
    """
    requests = Requests(comm)
    pair = fn(comm)
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(map(callable, pair))):
        return {"pair": ""}
    if any(isinstance(one, type) or getattr(one, "is_type", False) for one in pair):
        return {"pair": "classes"}
    f, g = pair
    for leaf in (x, scale, *parts):
        leaf.requires_grad_()
    changed, out = False, x
    given: dict[str, list[tuple[Tensor, Tensor]]] = {"f": [], "g": []}
    for layer, (a, b) in enumerate(zip(parts[::2], parts[1::2], strict=True)):
        scaled = _with_gaps(out * scale) if gaps else out * scale
        copied, turned = f(scaled), gaps and layer % 2 == 1
        _note_gradient(copied, given["f"], turned)
        part = torch.tanh(copied @ a) @ b
        part = _turned(part) if turned else _with_gaps(part) if gaps else part
        before = part.detach().clone()
        total = g(part)
        _note_gradient(total, given["g"])
        changed = changed or not torch.equal(part.detach(), before)
        out = scaled + total
    (out * weights).sum().backward()
    return {
        "pair": "functions",
        "out": out,
        "x": x.grad,
        "scale": scale.grad,
        "parts": [part.grad for part in parts],
        "input": changed,
        **{k: any(not torch.equal(now, then) for now, then in v) for k, v in given.items()},
        OPEN: requests.end(),
    }


def _with_gaps(tensor: Tensor) -> Tensor:
    """The same numbers as a slice of a tensor that is twice as wide, whose copies have no gaps."""
    return torch.cat([tensor, tensor.detach()], -1)[..., : tensor.shape[-1]]


def _turned(tensor: Tensor) -> Tensor:
    """The same numbers as a transposed tensor, whose plain copies are transposed as well."""
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


def _note_gradient(
    tensor: Tensor, notes: list[tuple[Tensor, Tensor]], turned: bool = False
) -> None:
    """Note the gradient that the function which made a tensor will be given, and a copy of it.

    turned: let it be a transposed one.
    """

    def note(gradient: Tensor) -> Tensor:
        given = _turned(gradient) if turned else gradient
        notes.append((given, given.clone()))
        return given

    if tensor.requires_grad:
        tensor.register_hook(note)


def _on_scores(fn: Function, comm: Any, scores: Tensor, targets: Tensor, first: int) -> Any:
    """`{"returned": …, "changed": whether the scores or targets were changed, "open": …}`.

    open: how many messages nobody waited for.
    """
    before = scores.clone(), targets.clone()
    requests = Requests(comm)
    returned = fn(comm, scores, targets, first)
    still = requests.end()
    changed = not (torch.equal(scores, before[0]) and torch.equal(targets, before[1]))
    return {"returned": returned, "changed": changed, OPEN: still}


counting = Ranked(_counting)
on_f_and_g = Ranked(_on_f_and_g, arguments=1)
on_scores = Ranked(_on_scores)
