"""Layers in slices with one thing wrong, for exercise 14.6, and hints for families of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import repeat
from typing import Any

from helpers.exercises.compare import close, listing
from helpers.exercises.lesson_14.shared import chunk, gathered, scattered, summed, told_by_all
from helpers.exercises.spec import Case, Observation


def _among_zeros(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
    """A row with this rank's slice in its place."""
    whole = own.new_zeros(shape[0] * shape[1])
    chunk(comm, whole).copy_(own)
    return whole


def _whole(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
    """The weight, gathered."""
    return gathered(comm, _among_zeros(comm, own.detach(), shape)).view(shape)


def _scattered(comm: Any, of_weight: Any) -> Any:
    """This rank's slice of the sum, which holds on to nothing."""
    return scattered(comm, of_weight.reshape(-1)).clone()


def _layer(
    gather: Callable[..., Any] = _whole,
    of_own: Callable[[Any, Any], Any] = _scattered,
    *,
    of_weight: Callable[[Any, Any], Any] = lambda gradient, x: gradient.T @ x,
    end: Callable[..., Any] = lambda comm, of_x, of_own: (of_x, of_own),
    saves: bool = False,
    holds: bool = False,
    again: bool = True,
) -> Callable[..., Any]:
    """The right one, with one thing exchanged.

    gather: the weight, of `own` and its shape. of_own: of the weight's gradient, the slice's.
    of_weight: the weight's gradient. end: what backward returns. saves, holds: keep the weight,
    where autograd knows of it and where it does not. again: whether backward gathers.
    """

    def sharded_linear(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
        import torch

        class Linear(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any, own: Any) -> Any:
                weight = gather(comm, own, shape)
                ctx.save_for_backward(x, own, *([weight] if saves else []))
                ctx.weight = weight if holds else None
                return x @ weight.T

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                x, own, *saved = ctx.saved_tensors
                before = saved[0] if saves else ctx.weight
                weight = gather(comm, own, shape) if again else before
                mine = of_own(comm, of_weight(gradients[0], x))
                return end(comm, gradients[0] @ weight, mine)

        return Linear.apply(x, own)

    return sharded_linear


def _own_gradient(comm: Any, of_weight: Any) -> Any:
    mine = chunk(comm, of_weight.reshape(-1)).clone()
    _scattered(comm, of_weight)
    return mine


def _at_the_start(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
    whole = own.new_zeros(shape[0] * shape[1])
    whole[: len(own)] = own
    return gathered(comm, whole).view(shape)


def _in_even_slices(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
    whole, each = own.new_zeros(shape[0] * shape[1]), shape[0] * shape[1] // comm.size
    whole[comm.rank * each : (comm.rank + 1) * each] = own
    return gathered(comm, whole).view(shape)


def _in_messages(comm: Any, own: Any, shape: tuple[int, int], to_itself: bool = False) -> Any:
    import torch

    return torch.cat(told_by_all(comm, own, to_itself=to_itself)).view(shape)


right = _layer()
saves_the_weight = _layer(saves=True, again=False)
keeps_in_ctx = _layer(holds=True, again=False)
gathers_and_keeps = _layer(saves=True)
holds_and_gathers = _layer(holds=True)
own_gradient = _layer(of_own=_own_gradient)
averages = _layer(of_own=lambda comm, of_weight: _scattered(comm, of_weight) / comm.size)
by_all_reduce = _layer(
    of_own=lambda comm, of_weight: chunk(comm, summed(comm, of_weight.reshape(-1))).clone()
)
view_of_the_gradient = _layer(of_own=lambda comm, of_weight: scattered(comm, of_weight.view(-1)))
whole_gradient = _layer(of_own=lambda comm, of_weight: summed(comm, of_weight.reshape(-1)))
turned = _layer(of_weight=lambda gradient, x: x.T @ gradient)
sums_x = _layer(end=lambda comm, of_x, of_own: (summed(comm, of_x), of_own))
no_x = _layer(end=lambda comm, of_x, of_own: (None, of_own))
other_order = _layer(end=lambda comm, of_x, of_own: (of_own, of_x))
gathers_by_a_sum = _layer(
    lambda comm, own, shape: summed(comm, _among_zeros(comm, own, shape)).view(shape)
)
other_view = _layer(lambda comm, own, shape: _whole(comm, own, (shape[1], shape[0])).T)
at_the_start = _layer(_at_the_start)
even_slices = _layer(_in_even_slices)
no_wait = _layer(_in_messages)
to_itself = _layer(lambda comm, own, shape: _in_messages(comm, own, shape, True))


def plain(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    return x @ _whole(comm, own, shape).T


def no_gather(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    return x @ _among_zeros(comm, own, shape).view(shape).T


def keeps_in_backward(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    times, stays = [], comm.__dict__.setdefault("_stays", [])

    def gather(comm: Any, own: Any, shape: tuple[int, int]) -> Any:
        times.append(1)
        whole = _whole(comm, own, shape)
        if len(times) == 2:
            stays.append(whole)
        return whole

    return _layer(gather)(comm, x, own, shape)


def scales_x(comm: Any, x: Any, own: Any, shape: tuple[int, int]) -> Any:
    out = right(comm, x.view_as(x) * 1.0, own, shape)
    x.data.mul_(1.5)
    return out


# --- families of them -----------------------------------------------------------------------------


def phase(seen: Observation, name: str) -> int:
    """Bytes sent in "forward" or "backward", over all ranks."""
    return sum(v[name] for v in seen.values)


def nothing_gathered(case: Case, seen: Observation) -> str | None:
    """No message in forward."""
    if case.ranks == 1 or phase(seen, "forward"):
        return None
    return (
        f"{case.name}, forward sent nothing, so a rank cannot know the others' slices of the "
        "weight: all-gather them first."
    )


def other_slices(case: Case, seen: Observation) -> str | None:
    """Slices of another length."""
    if seen.trouble != "failed" or not any(
        words in seen.text for words in ("must match", "invalid gradient", "expanded size")
    ):
        return None
    elements = case.facts["elements"]
    whole = (f"got [{elements}]", f"got {list(case.args[0][2])}")
    if "invalid gradient" not in seen.text:
        sizes = listing(b - a for a, b in case.facts["bounds"])
        return (
            f"{case.name}, two slices differ in length ({seen.text.splitlines()[0].rstrip('.')}). "
            f"`chunk_bounds` gives the ranks {sizes} numbers, and `own` is as long."
        )
    if any(words in seen.text for words in whole) and case.ranks > 1:
        return (
            f"{case.name}, backward returned a gradient for all {elements} numbers of the weight, "
            "and `own` is a slice of them: reduce-scatter it, and return this rank's chunk."
        )
    return (
        f"{case.name}, backward returned a gradient of another shape than its argument has "
        f"({seen.text.splitlines()[0].rstrip('.')}): it returns one for each argument of forward, "
        "in their order, and None for what needs none."
    )


def no_graph(case: Case, seen: Observation) -> str | None:
    """Autograd does not come to the slice."""
    pairs = zip(seen.values, case.facts["out"], strict=True)
    if all(v["reached"] and v["own"] is not None for v in seen.values):
        return None
    if not all(close(v["out"], want, 1e-10) for v, want in pairs):
        return None
    return (
        f"{case.name}, forward is right, but backward does not come to `own`: messages are outside "
        "autograd, which sees a new tensor without a past. Write a `torch.autograd.Function` and "
        "call its `apply`."
    )


def _right_slices(case: Case, seen: Observation) -> bool:
    """Whether the outputs are right, and every rank's gradient is its slice of the sum."""
    if not all(map(close, [v["out"] for v in seen.values], case.facts["out"], repeat(1e-10))):
        return False
    pairs = zip(seen.values, case.facts["bounds"], strict=True)
    return all(close(v["own"], case.facts["sum"][a:b], 1e-10) for v, (a, b) in pairs)


def kept(case: Case, seen: Observation) -> str | None:
    """The whole weight outlives forward, known to autograd or not."""
    n, elements = case.ranks, case.facts["elements"]
    if n == 1 or not _right_slices(case, seen):
        return None
    again = phase(seen, "backward") >= 2 * (n - 1) * elements * 8
    saved, held = (max(v[key] or 0 for v in seen.values) for key in ("saved", "held"))
    if saved >= elements + seen.values[0]["out"].size:
        then = "" if not again else " It is gathered again in backward, and yet never freed."
        return (
            f"{case.name}, {saved} numbers are saved between forward and backward, and the whole "
            f"weight has {elements}: it is among them.{then} Save x and `own` only."
        )
    if not again:
        return (
            f"{case.name}, backward sent {phase(seen, 'backward')} B, which the gradients alone "
            "take: the whole weight was kept from forward, outside what autograd knows of. Let go "
            "of it, and gather again."
        )
    if held >= elements:
        return (
            f"{case.name}, backward gathers again, but a tensor with all {elements} numbers of the "
            "weight was still in memory after forward: something holds on to it, such as `ctx`, a "
            "list, or a variable that `backward` or another inner function refers to. Gather "
            "inside forward and backward, into a local variable that ends with them."
        )
    return None


def kept_after(case: Case, seen: Observation) -> str | None:
    """Something whole outlives backward."""
    elements = case.facts["elements"]
    if case.ranks == 1 or not _right_slices(case, seen):
        return None
    row, after = (max(v[key] or 0 for v in seen.values) for key in ("row", "after"))
    if row >= elements:
        rank = next(r for r, v in enumerate(seen.values) if v["row"] >= elements)
        return (
            f"{case.name}, rank {rank}'s gradient of `own` has {seen.values[rank]['own'].size} "
            f"numbers and is a view of a tensor with {row}, so the unsharded gradient stays in "
            "memory as long as the slice does: return `reduce_scatter_ring(…).clone()`."
        )
    if after >= elements:
        return (
            f"{case.name}, the numbers are right, but after backward a tensor with {after} numbers "
            "is still in memory: the whole weight, or its whole gradient, was put where it stays."
        )
    return None
