"""Exercise 14.2, the two functions that carry a cut layer through forward and backward.

`make_f_g(comm) -> (f, g)`: f(x) is x, and its backward sums the gradient over the ranks; g(x) is
the sum of all ranks' x, and its backward is the gradient as it is. The claim: in a residual network
of two cut layers, output and all gradients are the dense network's to 1e-10, on every rank; what
f and g are given stays as it is, of any shape; no more bytes than two all-reduces a layer, and
every message waited for.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_tensor_parallel import on_f_and_g
from helpers.exercises.lesson_14 import f_and_g_mistakes as look
from helpers.exercises.lesson_14 import f_and_g_wrong as wrong
from helpers.exercises.lesson_14.residual_net import TOLERANCE, fits, run
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_DEEP = " with three dimensions"
_SLICES = " with slices of wider tensors"


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks first, then 1, 2 and 5; uneven parts, on 5 ranks an empty one.

    Then x of three dimensions, and f and g given slices of wider tensors as well, and transposed
    ones.
    """
    random, made = rng(seed, "14.2"), []
    for n, form in [(3, ""), (1, ""), (2, ""), (5, ""), (2, _DEEP), (3, _SLICES)]:
        rows, width = (3, 4) if not seed else (int(random.integers(2, 5)), 4)
        hidden = {3: 7, 1: 4, 2: 5, 5: 4}[n] + (int(random.integers(0, 3)) if seed else 0)
        shape = (2, rows, width) if form else (rows, width)
        x = random.standard_normal(shape)
        scale = 1 + 0.2 * random.standard_normal(width)
        weights = random.standard_normal(shape)
        whole = []
        for _ in range(look.LAYERS):
            whole.append(random.standard_normal((width, hidden)) / 2)
            whole.append(random.standard_normal((hidden, width)) / 2)
        cuts = [slice(r * hidden // n, (r + 1) * hidden // n) for r in range(n)]
        parts = [
            [np.ascontiguousarray(w[:, c] if i % 2 == 0 else w[c]) for i, w in enumerate(whole)]
            for c in cuts
        ]
        args = tuple((x, scale, part, weights, form == _SLICES) for part in parts)
        made.append(Case(f"On {count(n, 'rank')}{form}", args, n, facts={"hidden": hidden}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The dense network's output and gradients; nothing changed; two all-reduces a layer."""
    if not all(v["pair"] == "functions" for v in seen.values):
        return f"{case.name}, `make_f_g` did not return two functions."
    if not fits(seen, run(case)):
        return f"{case.name}, {_what_is_wrong(case, seen)} not the dense network's."
    if any(v["input"] or v["f"] or v["g"] for v in seen.values):
        return f"{case.name}, a tensor that f or g was given has changed."
    if sum(seen.bytes) > look.limit(case):
        return (
            f"{case.name}, {sum(seen.bytes)} B were sent in all, and two all-reduces for each of "
            f"the {look.LAYERS} layers take {look.limit(case)} B."
        )
    return not_waited(case, seen)


def _what_is_wrong(case: Case, seen: Observation) -> str:
    """The first thing that is not right: "rank 1's output is", "rank 0's gradient of x is"."""
    for rank, (value, want) in enumerate(zip(seen.values, run(case), strict=True)):
        for key, right in (("out", want.out), ("x", want.x), ("scale", want.scale)):
            if not close(value[key], right, TOLERANCE):
                name = "output" if key == "out" else f"gradient of {key}"
                return f"rank {rank}'s {name} is"
    return "the gradients of the cut matrices are"


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: output and gradients of the dense network to 10 digits, in "
        f"two dimensions and three; two layers, and {2 * look.LAYERS} all-reduces at most."
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
        Mistake("not every rank takes part", look.some_do_not_come, unfinished=True),
        Mistake("a transposed copy", look.turned_copy, unfinished=True),
        Mistake("not of any shape", look.another_form, unfinished=True),
        Mistake("returns no pair", look.no_pair),
        Mistake("no gradient", look.no_gradient),
        Mistake("nothing comes back through f", look.nothing_through_f),
        Mistake("the wrong way round", look.swapped),
        Mistake("messages not waited for", not_waited),
        Mistake("sends in vain", look.sends_in_vain),
        Mistake("changes what it is given", look.in_place),
        Mistake("averages", look.averages),
        Mistake("f sums forward", look.f_sums_forward),
        Mistake("f does not sum backward", look.f_keeps),
        Mistake("sums what goes past f", look.sums_the_rest),
        Mistake("g does not sum", look.g_keeps),
        Mistake("g sums backward", look.g_sums_backward),
        Mistake("g divides backward", look.g_divides),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("f is nothing", wrong.no_sum_backward, hint="only the part that came"),
        WrongAnswer("g sums twice", wrong.sums_twice, hint="gradient is whole already"),
        WrongAnswer("f sums forward", wrong.f_sums_forward, hint="f sums in the forward pass"),
        WrongAnswer("swapped", wrong.swapped, hint="the wrong way round"),
        WrongAnswer("g averages", wrong.g_averages, hint="g takes the mean"),
        WrongAnswer("f averages", wrong.f_averages, hint="f's backward takes the mean"),
        WrongAnswer("no gradient", wrong.no_gradient, hint="have no gradient"),
        WrongAnswer("g in place", wrong.g_in_place, hint="g changed the tensor"),
        WrongAnswer("f in place", wrong.f_in_place, hint="f's backward changed"),
        WrongAnswer("sends in vain", wrong.sends_in_vain, hint="all numbers are right"),
        WrongAnswer("g in place backward", wrong.g_in_place_backward, hint="without a sum"),
        WrongAnswer("f gives nothing", wrong.f_gives_nothing, hint="back through f, only past"),
        WrongAnswer("classes", wrong.classes, hint="`make_f_g` returned classes"),
        WrongAnswer("one function", wrong.one_function, hint="return the pair"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="did not come to a sum"),
        WrongAnswer("hook on x", wrong.hook_on_x, hint="goes past f"),
        WrongAnswer("g divides", wrong.g_divides, hint="enters the sum with factor 1"),
        WrongAnswer("two dimensions", wrong.two_dimensions, hint="(too many values"),
        WrongAnswer("a view", wrong.flat_view, hint="slices of wider tensors too"),
        WrongAnswer("plain copies", wrong.plain_copies, hint="is transposed as well"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
    ),
    figure=0,
)
