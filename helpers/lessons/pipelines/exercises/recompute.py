"""Exercise 13.5, recompute.

`recompute(fn, x)`: what `fn(x)` gives, with the same gradients, and only x kept for the way back
(Chen et al. 2016, section 4; Huang et al. 2019, section 2.3). The claim: the output; after forward
nothing that was made inside `fn` is held any more, by whatever; `fn` runs once there and once on
the way back; the gradients of the input and of what `fn` uses are right, dropout or not; and the
random numbers that come afterwards are those that would have come anyway. Twenty ways to go wrong
in as many places, each with its sentence, make this file long.
"""

import gc
from collections.abc import Iterator, Sequence
from itertools import chain
from re import findall
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.checks.common import fails_with
from helpers.checks.compare import all_close, close, count, describe, rounded
from helpers.checks.drives.calling import Function
from helpers.checks.drives.handed import Handed
from helpers.checks.drives.values import plain
from helpers.checks.random_states import seed_all, states
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.pipelines.algorithms.recompute import recompute as reference
from helpers.lessons.pipelines.exercises.blocks import Block, Blocks, Made

_TOLERANCE = 1e-10


def _recomputed(fn: Function, hands: Any, *case: Any) -> Any:
    """Call `fn(block, x)` for one block of layers after the other, and go back through all.

    A case's arguments: the input; for each block its weights; the gradient of the last output; the
    share that is dropped; a seed. x is no leaf: the input goes through tanh before. `values[0]`:
    "out", "gradients" (the input's, then what was added to the weights'), "kept" (outputs inside
    the blocks that are held after forward), "results" (what the blocks gave, held by the answer
    after the driver has let it go), "copies" (blocks after which the answer holds more of its own
    than their input takes), "asked" (whether the blocks' last inputs asked for a gradient), "late"
    (as `drew` of all blocks, "other" where they differ), "calls" (of the blocks in forward, and in
    backward), "linked", whether there is a way back from the output, and "drawn", whether backward
    left other random numbers to come than there were before it. `{"gave": value}` where a block's
    output is no tensor.
    """
    start, weights, gradient, drop, seed = case
    start.requires_grad_()
    elsewhere = None if isinstance(hands, Blocks) else hands
    if elsewhere:
        weights = [[torch.zeros(size).double() for size in sizes] for sizes in hands.shapes()]
    weights = [[nn.Parameter(weight) for weight in group] for group in weights]
    for weight in chain(*weights):
        weight.grad = torch.ones_like(weight)  # of a microbatch before
    blocks = [Block(group, drop, len(start), elsewhere, n) for n, group in enumerate(weights)]
    seed_all(seed)
    try:
        out, copies = torch.tanh(start), 0
        for block in blocks:
            given = out
            with Made(block) as made:
                out = fn(block, given)
            if not isinstance(out, Tensor):
                return {"gave": plain(out)}
            copies += made.held(given, out) > given.nbytes
            out = out.clone()  # so that the block's own is there only where the answer holds it
        del given
        if any(block.kept() or block.result_kept() for block in blocks):
            gc.collect()  # what only a cycle holds is nobody's
        kept = sum(block.kept() for block in blocks)
        results = sum(block.result_kept() for block in blocks)
        calls = sum(block.calls for block in blocks)
        hands.turn()
        left = states()["torch"]
        if out.requires_grad:
            out.backward(gradient)
        drawn = states()["torch"] != left
    except Exception as error:
        again = [block.tracked for block in blocks if block.calls > 1]
        if again and "does not require grad" in str(error):
            mode = "on" if all(again) else "off"
            said = f"{str(error).rstrip('. ')}, and fn ran again with autograd {mode}"
            error.args = (said,)
        raise
    drew = {block.drew() for block in blocks if block.states}
    found = {
        "out": out,
        "gradients": [start.grad, *(_more(each.grad) for each in chain(*weights))],
        "kept": kept,
        "calls": [calls, sum(block.calls for block in blocks) - calls],
        "linked": out.requires_grad,
        "copies": copies,
        "results": results,
        "asked": all(block.asked for block in blocks),
        "late": drew.pop() if len(drew) == 1 else "other" if drew else "",
        "drawn": drawn,
    }
    return found


def _more(gradient: Any) -> Any:
    """What was added to ones; None where nothing was, as of a weight that has no gradient."""
    more = gradient - 1 if isinstance(gradient, Tensor) else None
    return more if more is not None and more.any() else None


recomputed = Handed(_recomputed, 2, Blocks)


def cases(seed: int) -> list[Case]:
    """Seed 0: two blocks with dropout, then one without, three, and one of a single layer."""
    random, made = rng(seed, "13.5"), list[Case]()
    shapes = [([3, 2], 0.25), ([4], 0.0), ([2, 3, 2], 0.5), ([1], 0.0)]
    if seed:
        shapes = [([int(random.integers(2, 5)) for _ in range(n)], 0.0) for n in (1, 2)]
        shapes += [([int(random.integers(2, 5)) for _ in range(n)], 0.3) for n in (2, 3)]
    for layers, drop in shapes:
        rows, width = int(random.integers(3, 6)), int(random.integers(2, 6))
        start, blocks = random.standard_normal((rows, width)), list[list[np.ndarray]]()
        for number in layers:
            blocks.append([])
            for at in range(number):
                out = int(random.integers(2, 6))
                if len(blocks) == 1 and at == number - 1:
                    out = max(out, start.shape[1] + 1)  # the first block's output is wider than x
                blocks[-1].append(0.8 * random.standard_normal((width, out)))
                width = out
        words = f"{count(len(layers), 'block')} of {' and '.join(map(str, layers))} layers"
        if sum(layers) == 1:
            words = "one block of a single layer"
        name = f"With {words}" + (f" that drop {100 * drop:.0f} %" if drop else "")
        made.append(_case(random, name, start, blocks, drop))
    return made


def _case(
    random: np.random.Generator,
    name: str,
    start: np.ndarray,
    blocks: list[list[np.ndarray]],
    drop: float,
) -> Case:
    """A case, with the output and the gradients that there are without any recomputation."""
    gradient = random.standard_normal((len(start), blocks[-1][-1].shape[1]))
    seed = int(random.integers(1, 10**6))
    generator = torch.Generator().manual_seed(seed)
    x, *weights = [torch.tensor(each, requires_grad=True) for each in (start, *chain(*blocks))]
    out = torch.tanh(x)
    for weight in weights:
        out = torch.tanh(out @ weight)
        if drop:  # the numbers that torch draws with that seed
            out = out * (torch.rand(out.shape, generator=generator) >= drop) / (1 - drop)
    found = torch.autograd.grad(out, [x, *weights], torch.from_numpy(gradient))
    facts = {
        "out": out.detach().numpy(),
        "gradients": [each.numpy() for each in found],
        "inside": len(weights) - len(blocks),
        "blocks": len(blocks),
    }
    return Case(name, ((start, blocks, gradient, drop, seed),), facts=facts)


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The output, what is held, how often it runs, the gradients, the random numbers."""
    got, facts = seen.values[0], case.facts
    if "gave" in got:
        yield f"`recompute` gave {describe(got['gave'])} instead of what `fn` gives."
    if not close(got["out"], facts["out"], _TOLERANCE):
        yield "the output is not that of `fn`."
    if not got["linked"]:
        yield "there is no way back from the output."
    if got["kept"]:
        yield f"{_kept(case, got)} held after forward; none should be."
    if got["calls"] != [facts["blocks"]] * 2:
        yield (
            f"`fn` ran {got['calls'][0]} times there and {got['calls'][1]} times on the way back; "
            f"once a block, {facts['blocks']}, is enough each way."
        )
    if got["copies"] or got["results"]:
        yield "more is held after forward than x."
    mine, right, last = got["gradients"], facts["gradients"], -len(case.args[0][1][-1])
    if not all_close(mine, right, _TOLERANCE):
        yield (
            f"{_against(mine[last:], right[last:], 'the weights of the last block')}, and "
            f"{_against(mine[:1], right[:1], 'the input')}{rounded(mine, right)}."
        )
    if got["drawn"]:
        yield "backward has moved the random numbers that come after it."


def _against(got: list[Any], right: list[Any], whose: str) -> str:
    """Gradients beside the right ones, in words: right, none, so many times as large, others."""
    if any(each is None for each in got):
        return f"there is no gradient of {whose}"
    ratio = np.vdot(right[0], got[0]) / np.vdot(right[0], right[0])
    if not all_close(got, [ratio * each for each in right], _TOLERANCE):
        return f"the gradient of {whose} is another than that of `fn`"
    how = "right" if abs(ratio - 1) < _TOLERANCE else f"{ratio:.3g} times what it should be"
    return f"the gradient of {whose} is {how}"


def _kept(case: Case, got: dict[str, Any]) -> str:
    inside = count(case.facts["inside"], "activation")
    return f"{got['kept']} of {inside} inside {'is' if got['kept'] == 1 else 'are'}"


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what is held, and how often `fn` ran."""
    if seen.trouble:
        return {}
    got, blocks = seen.values[0], case.facts["blocks"]
    named = {"there": got["calls"][0], "blocks": count(blocks, "block")}
    return {"kept": _kept(case, got), **named}


_same_tensor = fails_with(
    "second time",
    "the second run goes back further than `fn`, into what made x: begin at `x.detach()`, which "
    "asks for a gradient of its own.",
)


def _returned(case: Case, seen: Observation) -> str | None:
    """What torch says of the gradients that backward returns, in the lesson's words."""
    if seen.trouble != "failed" or "Backward returned" not in seen.text:
        return None
    said = "a gradient for an argument that is no tensor"
    if "number of gradients" in seen.text:
        said = "another number of values than forward takes arguments"
    elif shapes := findall(r"\[[\d, ]*\]", seen.text):
        said = f"a gradient of shape {shapes[0]} for x, which is {shapes[-1]}"
    return (
        f"backward gives {said}. It returns a value for each argument of forward, in their order: "
        "None for `fn`, and for x the `.grad` of what the second run began with."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The first thing that is wrong: what else is wrong behind it may be anything."""
    got = seen.values[0]
    if not got["linked"]:
        return "no way back"
    if got["calls"][0] > case.facts["blocks"]:
        return "more than once there"
    held = next((key for key in ("kept", "copies", "results") if got[key]), "")
    first, *others = got["gradients"]
    none = [first is None, all(each is None for each in others)]
    if held or any(none):
        again = got["calls"][1] > 0
        return [held, none, again, got["asked"] if again else None]
    if got["late"]:
        return got["late"]
    return [got["gradients"], got["drawn"]]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    return (
        f"Passed: none of {facts['inside']} activations inside {facts['blocks']} blocks is held "
        "after forward, each block runs once more, and the gradients are right with dropout too."
    )


class Again(torch.autograd.Function):
    """What the patches change: as the course's own, for one tensor on the CPU."""

    @staticmethod
    def forward(ctx: Any, x: Any, fn: Any) -> Any:
        ctx.fn, ctx.random = fn, torch.get_rng_state()
        ctx.save_for_backward(x)
        return fn(x)

    @staticmethod
    def backward(ctx: Any, *gradient: Any) -> Any:
        x = ctx.saved_tensors[0].detach().requires_grad_()
        after = torch.get_rng_state()
        torch.set_rng_state(ctx.random)
        with torch.enable_grad():
            out = ctx.fn(x)
        torch.set_rng_state(after)
        out.backward(*gradient)
        return x.grad, None


def recompute(fn: Any, x: Any) -> Any:
    return Again.apply(x, fn)


WRONG = """
runs again without autograd
    | torch.enable_grad() => torch.no_grad()
    `fn` ran again and left no graph to go back through: autograd is off inside a Function's
    backward. Turn it on with `torch.enable_grad()`.
goes back from what has no graph
    | out.backward(*gradient) => (out * gradient[0]).sum().backward()
    `fn` ran again with autograd on, and `backward` begins at a tensor without a graph. Begin at the
    output of that run itself, and hand it the gradient.
the same tensor
    | .detach().requires_grad_() => ; x.retain_grad()
    ? into what made x
swapped
    | return x.grad, None => return None, x.grad
    ? for an argument that is no tensor
one alone
    | return x.grad, None => return x.grad
    ? another number of values
its own
    | return x.grad, None => return *gradient, None
    ? for x, which is
no way back
    | return Again.apply(x, fn) => with torch.no_grad(): return fn(x)
    the output has no `grad_fn`, so no gradient ever comes back. An `autograd.Function` says what
    backward does.
cuts the graph off
    | Again.apply(x, fn) => fn(x.detach().requires_grad_())
    the input gets no gradient: `detach` cuts the graph off in front of `fn`, and all that is inside
    is still kept.
keeps everything
    | Again.apply(x, fn) => fn(x)
    {kept} still held after forward, and backward runs nothing again: autograd keeps what `fn` made.
    Run `fn` where autograd is off, and keep x.
runs again and keeps everything
    | return fn(x) => with torch.enable_grad(): ctx.out = fn(x.detach().requires_grad_());
        return ctx.out.detach()
    backward runs `fn` again, and {kept} held after forward all the same: something keeps an output
    with its graph.
runs more than once there
    | return fn(x) => fn(x); return fn(x)
    `fn` ran {there} times on the way there, for {blocks}: give back what the first run made; only
    backward runs it again.
keeps a copy of the output
    | return fn(x) => out = fn(x); ctx.out = out.clone(); return out
    nothing from inside `fn` is held, and yet more than x: a copy of the output counts too. Backward
    needs x alone.
keeps the output
    | return fn(x) => out = fn(x); ctx.save_for_backward(x, out); return out
    the output of `fn` is still held when everybody else has let go of it: keep x alone.
begins with what asks for no gradient
    | .requires_grad_() =>
    backward gives no gradient for x: what the second run began with did not ask for it.
no gradient for the input
    | return x.grad, None => return None, None
    backward gives no gradient for x, so nothing in front of `fn` learns: return the one that the
    second run left in the input's `.grad`.
no gradients for the weights
    | out.backward(*gradient) => return *torch.autograd.grad(out, x, gradient), None
    x has its gradient, and the weights that `fn` uses have none: `torch.autograd.grad` gives what
    it is asked for alone. `backward` reaches all of them.
the gradients of before gone
    | out = ctx.fn(x) => out = ctx.fn(x); ctx.fn.zero_grad()
    the weights' gradients of before are gone: a microbatch adds its own to what lies in `.grad`, as
    `backward` does. Clear none, and put none in their place.
the gradients of a sum
    | out.backward(*gradient) => out.backward(torch.ones_like(out))
    the gradients are those of the output's sum: give the gradient that backward is called with to
    the second run's `backward`.
the random state of afterwards
    | return fn(x) => out = fn(x); ctx.random = torch.get_rng_state(); return out
    the second run of `fn` drew the random numbers that come after the first: the state was taken
    too late. Take it in forward, and in front of `fn`.
other random numbers
    | torch.set_rng_state(ctx.random) =>
    | torch.set_rng_state(after) =>
    the gradients belong to another output: dropout drew other numbers the second time. Keep
    `torch.get_rng_state()` of before, and set it for the second run.
leaves another random state
    | torch.set_rng_state(after) =>
    all gradients are right, but backward leaves another random state than it found: take that one
    before you set the old one, and put it back after the second run.
"""

EXERCISE = Exercise(
    number="13.5",
    title="Recompute",
    size=Size(stars=2, minutes=15, points=3),
    function="recompute",
    asks=(
        "`fn(x)` with the right gradients for x and for all that `fn` uses, while nothing but x "
        "is kept: backward runs `fn` once more, with the same random numbers."
    ),
    cases=cases,
    drive=recomputed,
    claim=claim,
    mistakes=(
        Mistake("runs again from the tensor that came", _same_tensor, unfinished=True),
        Mistake("returns other gradients", _returned, unfinished=True),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("13.5", WRONG, (recompute, Again)),
    ranked=False,
)
