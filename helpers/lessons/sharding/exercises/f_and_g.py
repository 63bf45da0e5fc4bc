"""Exercise 14.2, the two functions that carry a cut layer through forward and backward.

`make_f_g(comm) -> (f, g)`: f(x) is x, and its backward sums the gradient over the ranks; g(x) is
the sum of all ranks' x, and its backward is the gradient as it is. The claim: in a residual network
of two cut layers, output and all gradients are the dense network's to 1e-10, on every rank; what
f and g are given stays as it is, of any shape; no more bytes and messages than two all-reduces a
layer, and every message waited for. Single numbers in float32, without a gradient and with one,
give what they give, and keep it. What makes this file long is that, and 23 ways to go wrong.
"""

from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import all_close, close, count, rounded
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN, Requests, not_waited
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.sharding.algorithms.tensor_parallel import (
    _Copy,
    _Sum,
    copy_to_ranks,
    sum_over_ranks,
)
from helpers.lessons.sharding.exercises.shared import stay_away, told_by_all
from helpers.lessons.sharding.exercises.single_numbers import call_alone, not_alone, pairs

LAYERS = 2
TOLERANCE = 1e-10
CHANGED = {
    "input": "g changed the tensor that it was given: the all-reduce works in place, so give it a "
    "copy, which `.contiguous()` and `.reshape()` make at times only, and "
    "`.clone(memory_format=torch.contiguous_format)` always.",
    "f": "f's backward changed the gradient that it was given, which autograd may hand to others "
    "too: sum a copy, which `.contiguous()` and `.reshape()` make at times only, and "
    "`.clone(memory_format=torch.contiguous_format)` always.",
    "g": "g's backward changed the gradient that it was given, which others are handed too: it "
    "gives the gradient as it is, without a sum.",
}
_DEEP = " with three dimensions"
_SLICES = " with slices of wider tensors"


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks first, then 1, 2 and 5; uneven parts, on 5 ranks an empty one.

    Then x of three dimensions, and f and g given slices of wider tensors as well, and transposed
    ones. Last two single numbers in float32, one call after the other.
    """
    random, made = rng(seed, "14.2"), []
    for n, form in [(3, ""), (1, ""), (2, ""), (5, ""), (2, _DEEP), (3, _SLICES)]:
        rows, width = (3, 4) if not seed else (int(random.integers(2, 5)), 4)
        hidden = {3: 7, 1: 4, 2: 5, 5: 4}[n] + (int(random.integers(0, 3)) if seed else 0)
        shape = (2, rows, width) if form else (rows, width)
        x = random.standard_normal(shape)
        scale = 1 + 0.2 * random.standard_normal(width)
        weights = random.standard_normal(shape)
        sizes = LAYERS * [(width, hidden), (hidden, width)]
        whole = [random.standard_normal(size) / 2 for size in sizes]
        cuts = [slice(r * hidden // n, (r + 1) * hidden // n) for r in range(n)]
        parts = [[w[:, c] if i % 2 == 0 else w[c] for i, w in enumerate(whole)] for c in cuts]
        args = tuple((x, scale, part, weights, form == _SLICES) for part in parts)
        made.append(Case(f"On {count(n, 'rank')}{form}", args, n))
    name, each = "On 3 ranks with single numbers in float32", pairs(random, 3)
    return [*made, Case(name, tuple((own, None, [], None, False) for own in each), 3)]


def dense_of(case: Case) -> Any:
    """The dense network's output and gradients; of parts, each rank's."""
    x, scale, _, weights, _ = tensors(case.args[0])
    cut = [tensors(args[2]) for args in case.args]
    with torch.enable_grad():
        for leaf in (x, scale, *chain(*cut)):
            leaf.requires_grad_()
        whole, out = [torch.cat(w, 1 - i % 2) for i, w in enumerate(zip(*cut, strict=True))], x
        for a, b in zip(whole[::2], whole[1::2], strict=True):
            out = out * scale + torch.tanh(out * scale @ a) @ b
        (out * weights).sum().backward()
    parts = [[part.grad for part in own] for own in cut]
    return plain({"out": out, "x": x.grad, "scale": scale.grad, "parts": parts})


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The dense network's output and gradients; nothing changed; two all-reduces a layer."""
    if not all(v["pair"] == "functions" for v in seen.values):
        yield "`make_f_g` did not return two functions."
    if not case.args[0][2]:
        yield not_alone(case, seen)
        yield not_waited(case, seen)
        return
    for look in (_not_dense, changes, sends_more, not_waited):
        yield look(case, seen)


def _not_dense(case: Case, seen: Observation) -> str | None:
    """The first thing that is not right: "rank 1's output", "rank 0's gradient of x"."""
    dense = dense_of(case)
    for rank, value in enumerate(seen.values):
        names = {"out": "output", "x": "gradient of x", "scale": "gradient of scale"}
        for key, name in names.items():
            if not close(value[key], dense[key], TOLERANCE):
                more = rounded([value[key]], [dense[key]])
                return f"rank {rank}'s {name} is not the dense network's{more}."
    parts = zip(seen.values, dense["parts"], strict=True)
    if all(all_close(v["parts"], want, TOLERANCE) for v, want in parts):
        return None
    return "the gradients of the cut matrices are not the dense network's."


def changes(case: Case, seen: Observation) -> str | None:
    """Something that was given has changed."""
    return next((hint for key, hint in CHANGED.items() if any(v[key] for v in seen.values)), None)


def sends_more(case: Case, seen: Observation) -> str | None:
    """Right, with more than two all-reduces a layer, over all ranks, with padding."""
    n, size = case.ranks, case.args[0][0].size
    most = 2 * LAYERS * 2 * (n - 1) * n
    sent, limit = f"{sum(seen.bytes)} B", most * -(-size // n) * 8
    enough = f"{limit} B"
    if sum(seen.bytes) <= limit:
        sent, enough = f"{sum(seen.messages)} messages", f"{most}"
    if (sum(seen.bytes) <= limit and sum(seen.messages) <= most) or _not_dense(case, seen):
        return None
    return (
        f"all numbers are right, but {sent} were sent where {enough} are enough: f sends nothing "
        "forward and g nothing backward, since what they pass on is the same on every rank. The "
        "other two make one all-reduce each, of the whole tensor."
    )


def no_gradient(case: Case, seen: Observation) -> Iterator[str]:
    """Matrices that got no gradient."""
    for rank, value in enumerate(seen.values):
        if any(part is None for part in value["parts"]):
            yield (
                f"rank {rank}'s matrices have no gradient: autograd did not see what f or g did. "
                "Write each as a `torch.autograd.Function` with a forward and a backward, and call "
                "its `apply`."
            )


some_do_not_come = stay_away(
    "{away} did not come to a sum, and the others wait: f's backward and g's forward are called on "
    "every rank, and every rank sums."
)


def turned_copy(case: Case, seen: Observation) -> str | None:
    """A tensor with gaps or in another order, such as a plain copy of a transposed one."""
    *_, gaps = case.args[0]
    if seen.trouble != "failed" or not gaps or "lie in one row" not in seen.text:
        return None
    return (
        f"and with a transposed one, the ring refused a tensor on rank {seen.rank}, which does not "
        "lie in one row: what `clone()`, `empty_like` or arithmetic make of a transposed tensor is "
        "transposed as well. `clone(memory_format=torch.contiguous_format)` lies in one row."
    )


def another_form(case: Case, seen: Observation) -> str | None:
    """An exception for a single number, one of three dimensions, or a slice of a wider one."""
    x, _, cut, _, gaps = case.args[0]
    if seen.trouble != "failed" or (x.ndim == 2 and cut and not gaps):
        return None
    said = seen.text.splitlines()[0].rstrip(".") if seen.text else seen.kind
    if "require" in said and not cut:
        return (
            f"rank {seen.rank} raised {seen.kind} ({said}): f and g also take a tensor that needs "
            "no gradient, as all are under `torch.no_grad()`."
        )
    slices = ", and slices of wider tensors too" if gaps else ""
    return (
        f"rank {seen.rank} raised {seen.kind} ({said}): f and g take tensors of any shape{slices}. "
        "They need not know it: neither a copy by "
        "`x.clone(memory_format=torch.contiguous_format)` nor a sum hangs on it."
    )


def compared(case: Case, seen: Observation) -> Any:
    """No pair, or wrong outputs, or what gradients came out of right ones."""
    if any(v["pair"] != "functions" for v in seen.values):
        return [v["pair"] for v in seen.values]
    if not case.args[0][2]:
        return None
    outputs, want = [v["out"] for v in seen.values], dense_of(case)["out"]
    if not all(close(out, want, TOLERANCE) for out in outputs):
        return outputs
    return [[v["x"], v["scale"], v["parts"]] for v in seen.values]


Pairs = list[tuple[Tensor, Tensor]]


@partial(Ranked, arguments=1)
def on_f_and_g(
    fn: Function, comm: Any, x: Tensor, scale: Tensor, cut: list[Tensor], above: Tensor, gaps: bool
) -> Any:
    """A residual network of `f, g = fn(comm)`, forward and backward.

    A rank's arguments: x and scale, the same on all ranks; cut, [A, B, A, B, …] of this rank;
    above, the gradient of the output; gaps, whether f and g are given slices of wider tensors,
    and where a layer's number is odd, transposed ones. Without any A and B x is pairs of a number
    and its gradient, for calls of f and g alone; out, as `call_alone` has it.
    `values[rank]`: pair, "functions", "classes" or "" for anything else; where it was functions,
    out, the gradients of x, scale and cut (`parts`), whether g changed what it was given (`input`),
    and f's and g's backward the gradient that they were given (`f`, `g`); open, how many messages
    nobody waited for.
    """
    requests = Requests(comm)
    pair = fn(comm)
    if not (isinstance(pair, tuple | list) and len(pair) == 2 and all(map(callable, pair))):
        return {"pair": ""}
    if any(isinstance(one, type) or getattr(one, "is_type", False) for one in pair):
        return {"pair": "classes"}
    f, g = pair
    if not cut:
        return {"pair": "functions", "out": call_alone(f, g, x), OPEN: requests.end()}
    for leaf in (x, scale, *cut):
        leaf.requires_grad_()
    given: dict[str, Pairs] = {"input": [], "f": [], "g": []}
    out = x
    for layer, (a, b) in enumerate(zip(cut[::2], cut[1::2], strict=True)):
        scaled = _with_gaps(out * scale) if gaps else out * scale
        turned = gaps and layer % 2 == 1
        copied = _Noted.apply(f(scaled), given["f"], turned)
        part = torch.tanh(copied @ a) @ b
        part = _turned(part) if turned else _with_gaps(part) if gaps else part
        given["input"].append((part.detach(), part.detach().clone()))
        out = scaled + _Noted.apply(g(part), given["g"], False)
    (out * above).sum().backward()
    return {
        "pair": "functions",
        "out": out,
        "x": x.grad,
        "scale": scale.grad,
        "parts": [part.grad for part in cut],
        **{k: any(not torch.equal(now, then) for now, then in v) for k, v in given.items()},
        OPEN: requests.end(),
    }


def _with_gaps(tensor: Tensor) -> Tensor:
    """The same numbers as a slice of a tensor that is twice as wide, whose copies have no gaps."""
    return torch.cat([tensor, tensor.detach()], -1)[..., : tensor.shape[-1]]


def _turned(tensor: Tensor) -> Tensor:
    """The same numbers as a transposed tensor, whose plain copies are transposed as well."""
    return tensor.transpose(-1, -2).contiguous().transpose(-1, -2)


class _Noted(torch.autograd.Function):
    """Gives a tensor as it is; notes the gradient that goes to who made it, and a copy of it.

    No hook on the tensor, before which others on it come. turned: let it be a transposed one.
    """

    @staticmethod
    def forward(ctx: Any, tensor: Tensor, notes: Pairs, turned: bool) -> Tensor:
        ctx.notes, ctx.turned = notes, turned
        return tensor.view_as(tensor)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        given = _turned(gradients[0]) if ctx.turned else gradients[0]
        ctx.notes.append((given, given.clone()))
        return given, None, None


def reference(comm: Any) -> Any:
    """The course's own."""
    return partial(copy_to_ranks, comm), partial(sum_over_ranks, comm)


WRONG = """
classes
    | partial(copy_to_ranks, comm), partial(sum_over_ranks, comm) => _Copy, _Sum
    `make_f_g` returned classes: return `F.apply, G.apply`.
no pair
    | , partial(sum_over_ranks, comm) =>
    return the pair `f, g` of two functions.
nothing comes back through f
    | if comm.size == 1: return x *=>
    | None, total, None => None, None, None
    no gradient comes back through f, only past it: its forward gives x itself, not `x.detach()`,
    and its backward returns the sum.
the wrong way round
    | partial(copy_to_ranks, comm), partial(sum_over_ranks, comm)
        => partial(sum_over_ranks, comm), partial(copy_to_ranks, comm)
    f and g are the wrong way round: f is x forward and sums backward, g sums forward. Return `f, g`
    in this order.
g averages
    | return total => return total / comm.size
    g takes the mean: each rank has a term of a sum here, not another batch, so do not divide by
    {n}.
f averages
    | None, total, None => None, total / ctx.comm.size, None
    f's backward takes the mean: each rank has a term of a sum here, not another batch, so do not
    divide by {n}.
f sums forward
    | partial(copy_to_ranks, comm) => partial(sum_over_ranks, comm)
    f sums in the forward pass: every rank has the same x already, and the sum is {n} times it.
    Forward, f gives x as it is.
f does not sum backward
    | ctx.reduce(ctx.comm, total) => ctx.reduce(ctx.comm, total.clone())
    the output is right, but the gradient of x on each rank is only the part that came through its
    own columns: f's backward sums the gradient over the ranks.
sums backward in g and not in f
    | partial(copy_to_ranks, comm), partial(sum_over_ranks, comm)
        => lambda x: x, lambda x: copy_to_ranks(comm, sum_over_ranks(comm, x))
    the output is right, but g's backward sums the gradient and f's does not: f's backward sums it
    over the ranks, and g's gives it as it is.
sums what goes past f
    | partial(copy_to_ranks, comm)
        => lambda x: x.requires_grad and x.register_hook(partial(sum_over_ranks, comm)) and x or x
    the gradient of x is too large: all of it was summed over the ranks, also what goes past f on
    the residual path, y = x + g(…f(x)…), which is whole already. A hook on x itself sees both; f
    needs a tensor of its own, such as that of a `torch.autograd.Function`.
no sum
    | reduce(comm, total) => reduce(comm, total.clone())
    every rank goes on with its own term: sum.
g sums backward
    | partial(sum_over_ranks, comm) => lambda x: copy_to_ranks(comm, sum_over_ranks(comm, x))
    g's backward sums as well, and gradients of the cut matrices come out {n} times too large or
    more: after the sum all ranks go on alike, so the gradient is whole already. g's backward gives
    it as it is.
g divides backward
    | reduce(comm, total) => reduce(comm, total); ctx.comm = comm
    | gradients[0], None => gradients[0] / ctx.comm.size, None
    g's backward divides the gradient by {n}: each rank's term enters the sum with factor 1, so its
    gradient is that of the sum, as it is.
no gradient at all
    | partial(sum_over_ranks, comm) => lambda x: sum_over_ranks(comm, x.detach())
    ? have no gradient
g in place
    | x.clone(memory_format=torch.contiguous_format) => x.contiguous()
    ? g changed the tensor
f in place
    | gradients[0].clone(memory_format=torch.contiguous_format) => gradients[0]
    ? f's backward changed
sends anyway
    | reduce(comm, total) => reduce(comm, total); ctx.comm = comm
    | gradients[0], None => sum_over_ranks(ctx.comm, gradients[0]) / ctx.comm.size, None
    ? all numbers are right
g in place backward
    | reduce(comm, total) => reduce(comm, total); ctx.comm = comm
    | gradients[0], None => all_reduce_ring(ctx.comm, gradients[0]), None
    ? without a sum
rank 0 alone
    | partial(copy_to_ranks, comm)
        => partial(copy_to_ranks, comm) if comm.rank == 0 else lambda x: x
    ? did not come to a sum
two dimensions
    | total = x.clone => rows, width = x.shape; total = x.view(rows, width).clone
    ? (too many values
a view
    | total = x.clone => total = x.view(-1).clone
    | return total => return total.view(x.shape)
    ? slices of wider tensors too
plain copies
    | memory_format=torch.contiguous_format *=>
    ? is transposed as well
no wait
    | partial(sum_over_ranks, comm) => lambda x: sum(told_by_all(comm, x))
    ? without waiting for
"""

EXERCISE = Exercise(
    number="14.2",
    title="f and g",
    size=Size(stars=3, minutes=20, points=4),
    function="make_f_g",
    asks=(
        "f gives x as it is, and its backward sums the gradient over the ranks; g sums x over the "
        "ranks, and its backward gives the gradient as it is; both leave what they are given."
    ),
    cases=cases,
    drive=on_f_and_g,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("not every rank takes part", some_do_not_come, unfinished=True),
        Mistake("a transposed copy", turned_copy, unfinished=True),
        Mistake("not of any shape", another_form, unfinished=True),
        Mistake("no gradient", no_gradient),
        Mistake("messages not waited for", not_waited),
        Mistake("sends in vain", sends_more),
        Mistake("changes what it is given", changes),
    ),
    numbers=lambda case, seen: {"n": case.ranks},
    praise=(
        "Passed on {worlds}: output and gradients of the dense network to 10 digits, in two "
        f"dimensions and three; two layers, and no more bytes and messages than {2 * LAYERS} "
        "all-reduces."
    ),
    reference=reference,
    wrong=wrong_answers(
        "14.2", WRONG, (reference, copy_to_ranks, sum_over_ranks, _Copy, _Sum, told_by_all)
    ),
    figure=0,
)
