"""Exercise 14.2, the two functions that carry a cut layer through forward and backward.

`make_f_g(comm) -> (f, g)`: f(x) is x, and its backward sums the gradient over the ranks; g(x) is
the sum of all ranks' x, and its backward is the gradient as it is. The claim: in a residual network
of two cut layers, output and all gradients are the dense network's to 1e-10, on every rank; what
f and g are given stays as it is; and no more bytes than two all-reduces a layer.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, listing, worlds
from helpers.exercises.drives_tensor_parallel import on_f_and_g
from helpers.exercises.lesson_14 import f_and_g_wrong as wrong
from helpers.exercises.lesson_14.residual_net import TOLERANCE, Ways, fits, recognise, run
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_LAYERS = 2


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks first, then 1, 2 and 5; uneven parts, on 5 ranks an empty one."""
    random, made = rng(seed, "14.2"), []
    for n in (3, 1, 2, 5):
        rows, width = (3, 4) if not seed else (int(random.integers(2, 5)), 4)
        hidden = {3: 7, 1: 4, 2: 5, 5: 4}[n] + (int(random.integers(0, 3)) if seed else 0)
        x = random.standard_normal((rows, width))
        scale = 1 + 0.2 * random.standard_normal(width)
        weights = random.standard_normal((rows, width))
        whole = []
        for _ in range(_LAYERS):
            whole.append(random.standard_normal((width, hidden)) / 2)
            whole.append(random.standard_normal((hidden, width)) / 2)
        cuts = [slice(r * hidden // n, (r + 1) * hidden // n) for r in range(n)]
        args = tuple(
            (
                x,
                scale,
                [
                    np.ascontiguousarray(w[:, c] if i % 2 == 0 else w[c])
                    for i, w in enumerate(whole)
                ],
                weights,
            )
            for c in cuts
        )
        made.append(Case(f"On {count(n, 'rank')}", args, n, facts={"hidden": hidden}))
    return made


def _limit(case: Case) -> int:
    """Bytes of the all-reduces that are needed, over all ranks, with room for padding."""
    n, size = case.ranks, case.args[0][0].size
    return 2 * _LAYERS * 2 * (n - 1) * n * -(-size // n) * 8


def claim(case: Case, seen: Observation) -> str | None:
    """The dense network's output and gradients; nothing changed; two all-reduces a layer."""
    if not all(v["pair"] == "functions" for v in seen.values):
        return f"{case.name}, `make_f_g` did not return two functions."
    if not fits(seen, run(case)):
        return f"{case.name}, {_what_is_wrong(case, seen)} not the dense network's."
    if any(v["input"] or v["f"] or v["g"] for v in seen.values):
        return f"{case.name}, a tensor that f or g was given has changed."
    if sum(seen.bytes) > _limit(case):
        return (
            f"{case.name}, {sum(seen.bytes)} B were sent in all, and two all-reduces for each of "
            f"the {_LAYERS} layers take {_limit(case)} B."
        )
    return None


def _what_is_wrong(case: Case, seen: Observation) -> str:
    """The first thing that is not right: "rank 1's output is", "rank 0's gradient of x is"."""
    for rank, (value, want) in enumerate(zip(seen.values, run(case), strict=True)):
        for key, right in (("out", want.out), ("x", want.x), ("scale", want.scale)):
            if not close(value[key], right, TOLERANCE):
                name = "output" if key == "out" else f"gradient of {key}"
                return f"rank {rank}'s {name} is"
    return "the gradients of the cut matrices are"


def _no_pair(case: Case, seen: Observation) -> str | None:
    if seen.trouble or all(v["pair"] == "functions" for v in seen.values):
        return None
    if any(v["pair"] == "classes" for v in seen.values):
        return (
            f"{case.name}, `make_f_g` returned classes: what is called on a tensor is their "
            "`apply`, so return `F.apply, G.apply`."
        )
    return f"{case.name}, `make_f_g` did not return two functions: return the pair `f, g`."


def _no_gradient(case: Case, seen: Observation) -> str | None:
    lost = [r for r, v in enumerate(seen.values) if any(part is None for part in v["parts"])]
    if not lost:
        return None
    return (
        f"{case.name}, rank {lost[0]}'s matrices have no gradient: autograd did not see what f or "
        "g did. Write each as a `torch.autograd.Function` with a forward and a backward, and call "
        "its `apply`."
    )


def _swapped(case: Case, seen: Observation) -> str | None:
    if recognise(case, seen) != ("sum", "keep", "keep", "sum"):
        return None
    return (
        f"{case.name}, f and g are the wrong way round: f is x forward and sums backward, g sums "
        "forward. Return `f, g` in this order."
    )


def _is(case: Case, seen: Observation, place: int, *hows: str) -> bool:
    """Whether the four words are known, and this one of them is one of these."""
    ways: Ways | None = recognise(case, seen)
    return ways is not None and ways[place] in hows


def _averages(case: Case, seen: Observation) -> str | None:
    ways = recognise(case, seen)
    if ways is None or "mean" not in (ways[1], ways[2]) or ways[0] != "keep":
        return None
    where = "g takes the mean" if ways[2] == "mean" else "f's backward takes the mean"
    return (
        f"{case.name}, {where}: each rank has a term of a sum here, not another batch, so do not "
        f"divide by {case.ranks}."
    )


def _f_sums_forward(case: Case, seen: Observation) -> str | None:
    if not _is(case, seen, 0, "sum", "mean"):
        return None
    return (
        f"{case.name}, f sums in the forward pass: every rank has the same x already, and the sum "
        f"is {case.ranks} times it. Forward, f gives x as it is."
    )


def _f_keeps(case: Case, seen: Observation) -> str | None:
    if not _is(case, seen, 1, "keep"):
        return None
    return (
        f"{case.name}, the output is right, but the gradient of x on each rank is only the part "
        "that came through its own columns: f's backward sums the gradient over the ranks."
    )


def _g_keeps(case: Case, seen: Observation) -> str | None:
    if not _is(case, seen, 2, "keep"):
        return None
    return f"{case.name}, g does not sum: every rank goes on with its own term."


def _g_sums_backward(case: Case, seen: Observation) -> str | None:
    if not _is(case, seen, 3, "sum"):
        return None
    return (
        f"{case.name}, g's backward sums as well, and gradients of the cut matrices come out "
        f"{case.ranks} times too large or more: after the sum all ranks go on alike, so the "
        "gradient is whole already. g's backward gives it as it is."
    )


def _in_place(case: Case, seen: Observation) -> str | None:
    if seen.trouble:
        return None
    if any(v["input"] for v in seen.values):
        return (
            f"{case.name}, g changed the tensor that it was given: the all-reduce works in place, "
            "so give it a `.clone()`."
        )
    if any(v["f"] for v in seen.values):
        return (
            f"{case.name}, f's backward changed the gradient that it was given, which autograd may "
            "hand to others too: sum a copy, `gradient.clone()`."
        )
    if any(v["g"] for v in seen.values):
        return (
            f"{case.name}, g's backward changed the gradient that it was given, which others are "
            "handed too: it gives the gradient as it is, without a sum."
        )
    return None


def _nothing_through_f(case: Case, seen: Observation) -> str | None:
    if seen.trouble or not any(v["scale"] is None for v in seen.values):
        return None
    return (
        f"{case.name}, no gradient comes back through f: its forward gives x itself, not "
        "`x.detach()`, and its backward returns the sum."
    )


def _sends_in_vain(case: Case, seen: Observation) -> str | None:
    if seen.trouble or not fits(seen, run(case)) or sum(seen.bytes) <= _limit(case):
        return None
    return (
        f"{case.name}, all numbers are right, but {sum(seen.bytes)} B were sent where "
        f"{_limit(case)} B are enough: f sends nothing forward and g nothing backward, since what "
        "they pass on is the same on every rank."
    )


def _some_do_not_come(case: Case, seen: Observation) -> str | None:
    if not seen.waiting or len(seen.waiting) == case.ranks:
        return None
    away = sorted(set(range(case.ranks)) - set(seen.waiting))
    return (
        f"{case.name}, {'rank' if len(away) == 1 else 'ranks'} {listing(away)} did not come to a "
        "sum, and the others wait: f's backward and g's forward are called on every rank, and "
        "every rank sums."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: output and gradients of the dense network to 10 digits; two "
        f"layers, and {2 * _LAYERS} all-reduces at most."
    )


EXERCISE = Exercise(
    number="14.2",
    title="f and g",
    stars=3,
    minutes=20,
    points=4,
    function="make_f_g",
    asks=(
        "f gives x as it is, and its backward sums the gradient over the ranks; g sums x over the "
        "ranks, and its backward gives the gradient as it is; both leave what they are given."
    ),
    cases=cases,
    drive=on_f_and_g,
    claim=claim,
    mistakes=(
        Mistake("not every rank takes part", _some_do_not_come, unfinished=True),
        Mistake("returns no pair", _no_pair),
        Mistake("no gradient", _no_gradient),
        Mistake("nothing comes back through f", _nothing_through_f),
        Mistake("the wrong way round", _swapped),
        Mistake("sends in vain", _sends_in_vain),
        Mistake("changes what it is given", _in_place),
        Mistake("averages", _averages),
        Mistake("f sums forward", _f_sums_forward),
        Mistake("f does not sum backward", _f_keeps),
        Mistake("g does not sum", _g_keeps),
        Mistake("g sums backward", _g_sums_backward),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("f is nothing", wrong.no_sum_backward, "only the part that came"),
        WrongAnswer("g sums twice", wrong.sums_twice, "gradient is whole already"),
        WrongAnswer("f sums forward", wrong.f_sums_forward, "f sums in the forward pass"),
        WrongAnswer("swapped", wrong.swapped, "the wrong way round"),
        WrongAnswer("g averages", wrong.g_averages, "g takes the mean"),
        WrongAnswer("f averages", wrong.f_averages, "f's backward takes the mean"),
        WrongAnswer("no gradient", wrong.no_gradient, "have no gradient"),
        WrongAnswer("g in place", wrong.g_in_place, "g changed the tensor"),
        WrongAnswer("f in place", wrong.f_in_place, "f's backward changed"),
        WrongAnswer("sends in vain", wrong.sends_in_vain, "all numbers are right"),
        WrongAnswer("g in place backward", wrong.g_in_place_backward, "without a sum"),
        WrongAnswer("f gives nothing", wrong.f_gives_nothing, "comes back through f"),
        WrongAnswer("classes", wrong.classes, "`make_f_g` returned classes"),
        WrongAnswer("one function", wrong.one_function, "return the pair"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, "did not come to a sum"),
    ),
    figure=0,
)
