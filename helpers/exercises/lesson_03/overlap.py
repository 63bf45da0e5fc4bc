"""Exercise 03.5, hooks and overlap: summing gradients while backward still runs.

`overlap(comm, buckets, reduce) -> finish`: buckets are lists of parameters in the order in which
backward fills them; `reduce(comm, flat)` sums a flat tensor over the ranks, in place. Hooks start
`comm.background(reduce, flat)` as soon as a bucket's last gradient is there. `finish()` is called
after every backward: it waits for all of them and leaves the average in every `.grad`.

The claim: results as for one big batch; one sum a bucket and step, on the communication thread;
each as soon as its bucket is full; and backward never waits. It takes the driver 1 ms a layer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import all_close, count, in_single_precision, worlds
from helpers.exercises.drives_training import on_hooks
from helpers.exercises.lesson_03 import overlap_timing as timing
from helpers.exercises.lesson_03 import overlap_wrong as wrong
from helpers.exercises.lesson_03.replicas import descend, random_weights
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer
from helpers.exercises.trouble import waits

_LAYERS = (4, 8, 6, 2)
_GROUPS = [[5, 4], [3, 2], [1, 0]]
_TWO_GROUPS = [[5, 4, 3, 2], [1, 0]]
_STEPS, _RATE = 2, 0.1
_QUICK, _SLOW = 1e-4, 2e-3  # latency in seconds: a sum takes less than a layer, or longer
_TOLERANCE = 1e-10


def cases(seed: int) -> list[Case]:
    """Seed 0: three layers, a bucket each, or two, on 3, 1, 2 and 5 ranks; else others too.

    On 5 ranks the links are so slow that a sum outlasts a layer of backward.
    """
    random, made = rng(seed, "03.5"), []
    for n in (3, 1, 2, 5):
        groups, steps = _TWO_GROUPS if n == 2 else _GROUPS, _STEPS
        if seed:
            steps = int(random.integers(2, 4))
            known = [_GROUPS, [[5], [4, 3, 2], [1, 0]], _TWO_GROUPS]
            chosen = known[int(random.integers(3))]
            groups = _GROUPS if n == 5 else chosen  # where sums are slow they could queue up
        weights = random_weights(random, _LAYERS)
        inputs = random.standard_normal((n, steps, 4, _LAYERS[0]))
        targets = random.standard_normal((n, steps, 4, _LAYERS[-1]))
        args = tuple(
            (weights, inputs[r], targets[r], groups, _RATE, timing.SECONDS) for r in range(n)
        )
        batches = [
            (np.concatenate(inputs[:, step]), np.concatenate(targets[:, step]))
            for step in range(steps)
        ]
        facts = {"want": descend(weights, batches, _RATE)}
        clock = {"latency": _SLOW if n == 5 else _QUICK, "bandwidth": 1e7}
        made.append(Case(f"On {count(n, 'rank')}", args, n, clock, facts))
    return made


def _sums(seen: Observation, rank: int, step: int) -> list[Any]:
    """The sums of one step, as (start, elements)."""
    return [(start, size) for at, start, size in seen.values[rank]["sums"] if at == step]


def _elements(case: Case) -> list[int]:
    weights, _, _, groups, _, _ = case.args[0]
    return [sum(weights[i].size for i in group) for group in groups]


def claim(case: Case, seen: Observation) -> str | None:
    """Right weights; a sum a bucket, on the communication thread, begun during backward."""
    if not all(v["finish"] for v in seen.values):
        return f"{case.name}, `overlap` did not return a function."
    want = case.facts["want"]
    if not all(all_close(v["weights"], want, _TOLERANCE) for v in seen.values):
        return f"{case.name}, the weights are not those of one big batch after training."
    if case.ranks == 1:
        return None
    for rank in range(case.ranks):
        for step in range(len(case.args[0][1])):
            found = _sums(seen, rank, step)
            if sorted(size for _, size in found) != sorted(_elements(case)):
                return (
                    f"{case.name}, rank {rank} made {count(len(found), 'sum')} in step {step}; it "
                    f"should make one a bucket, {len(_elements(case))} in all."
                )
    return timing.claim(case, seen)


def compared(case: Case, seen: Observation) -> Any:
    """What each rank has, the sums that it made, and whether on a thread of their own; no times."""
    ranks = [
        [v["weights"], v["finish"], sorted([step, size] for step, _, size in v["sums"])]
        for v in seen.values
    ]
    return [ranks, any(event.lane == 1 for event in seen.events)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    first, second = (len(_sums(seen, 0, step)) for step in range(2))
    return {
        "n": case.ranks,
        "parameters": len(case.args[0][0]),
        "buckets": len(_elements(case)),
        "first": count(first, "sum"),
        "second": second,
    }


def _raised(name: str, piece: str, words: str) -> Mistake:
    """The family of exceptions whose text holds a piece."""

    def look(case: Case, seen: Observation) -> str | None:
        if seen.trouble != "failed" or piece not in seen.text:
            return None
        return f"{case.name}, rank {seen.rank}{words.format(text=seen.text)}"

    return Mistake(name, look, unfinished=True)


def _some_do_not_come(case: Case, seen: Observation) -> str | None:
    if not seen.waiting:
        return None
    return (
        f"{case.name}, the buckets never meet: {waits(seen)}. Every rank starts every bucket, in "
        "the same order."
    )


def _does_not_wait(case: Case, seen: Observation) -> str | None:
    made, buckets = len(seen.values[0]["sums"]), len(_elements(case))
    done = seen.values[0]["done"][0]
    if case.ranks == 1 or made <= buckets or done >= buckets:
        return None
    return (
        f"{case.name}, {done} of {buckets} sums were through when finish() returned, and the step "
        "was taken with gradients that were still being summed: finish() has to wait for every "
        "request."
    )


def _more_and_more(case: Case, seen: Observation) -> str | None:
    first, second = (len(_sums(seen, 0, step)) for step in range(2))
    buckets = len(_elements(case))
    if case.ranks == 1 or (first <= buckets and second <= first):
        return None
    return (
        f"{case.name}, step 0 made {count(first, 'sum')} and step 1 {second}, for {buckets} "
        "buckets: start a bucket once, when its last gradient is there."
    )


def _rounded(case: Case, seen: Observation) -> str | None:
    if not all(in_single_precision(v["weights"], case.facts["want"]) for v in seen.values):
        return None
    return (
        f"{case.name}, the weights are those of one big batch to seven digits only: `flat` is "
        "float32, as `torch.zeros` makes it, and the gradients are float64. `torch.cat` of the "
        "gradients takes their type."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    first, end = _sums(seen[0], 0, 0)[0][0], seen[0].values[0]["ends"][0]
    return (
        f"Passed on {worlds(cases)}: equal to one big batch; on 3 ranks the first all-reduce "
        f"starts at {first * 1e3:.1f} ms, and backward ends at {end * 1e3:.1f} ms."
    )


EXERCISE = Exercise(
    number="03.5",
    title="Overlap",
    stars=3,
    minutes=30,
    points=5,
    function="overlap",
    asks=(
        "each bucket's gradients are summed by one `comm.background(reduce, flat)`, started by the "
        "hook that brings its last gradient; `finish()` waits for all of them and leaves the "
        "average over the ranks in every `.grad`, step after step."
    ),
    cases=cases,
    drive=on_hooks,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("buckets that never meet", _some_do_not_come, unfinished=True),
        _raised(
            "a call where a function belongs",
            "not callable",
            ": {text}. `comm.background(reduce, flat)` takes the function itself and not "
            "its call, and a function that makes a hook has to return it.",
        ),
        _raised(
            "no request",
            "no attribute 'wait'",
            " waits for something that is no request: `reduce(comm, flat)` sums at once, on "
            "the rank's own thread. `comm.background(reduce, flat)` starts it on the "
            "communication thread and gives the request.",
        ),
        _raised(
            "starts before the bucket is full",
            "NoneType",
            " used a gradient that is not there yet (None): a bucket is full when the hook "
            "of each of its parameters has been called, not of the first one. "
            "(`register_hook` calls before `.grad` is there, "
            "`register_post_accumulate_grad_hook` after. And a hook that reads a loop "
            "variable sees its last value: make each hook with a function.)",
        ),
        Mistake("waits in the hook", timing.waits_in_the_hook),
        Mistake("does not wait", _does_not_wait),
        Mistake("starts a bucket more than once", _more_and_more),
        Mistake("rounded to float32", _rounded),
        Mistake("starts after backward", timing.no_overlap),
        Mistake("starts with the next bucket", timing.late),
    ),
    numbers=numbers,
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer(
            "returns no function",
            wrong.no_finish,
            "`overlap` returned nothing to call: return your `finish` function.",
        ),
        WrongAnswer(
            "sums on the rank's own thread",
            wrong.own_thread,
            "the sums ran on the rank's own thread, so backward stood still meanwhile: hand them "
            "to the communication thread, `comm.background(reduce, flat)`.",
        ),
        WrongAnswer(
            "one sum for each parameter",
            wrong.each_parameter,
            "there was one all-reduce for each of {parameters} parameters: put a bucket's "
            "gradients into one flat tensor, which makes {buckets}.",
        ),
        WrongAnswer(
            "sums in the first step only",
            wrong.first_step_only,
            "step 0 made {first} and step 1 {second}: what counts a bucket's gradients has to "
            "start again at every step.",
        ),
        WrongAnswer(
            "sums without dividing",
            wrong.sums,
            "the steps were about {n} times too long: `reduce` sums, so divide by the number of "
            "ranks.",
        ),
        WrongAnswer(
            "never calls reduce",
            wrong.no_hooks,
            "`reduce` was never called: no hook started a bucket.",
        ),
        WrongAnswer(
            "steps with its own gradients",
            wrong.not_written_back,
            "the buckets were summed, but every rank stepped with its own gradients: finish() has "
            "to put the average back into every `.grad`.",
        ),
        WrongAnswer("a call for a function", wrong.calls_it, hint="takes the function itself"),
        WrongAnswer("waits for a sum", wrong.waits_for_a_sum, hint="is no request"),
        WrongAnswer("first gradient", wrong.first_gradient, hint="not there yet (None)"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="the buckets never meet"),
        WrongAnswer(
            "waits in the hook", wrong.waits_in_the_hook, hint="the waiting is for finish()"
        ),
        WrongAnswer("waits for the last one", wrong.waits_for_the_last, hint="sums queue up"),
        WrongAnswer("does not wait", wrong.does_not_wait, hint="still being summed"),
        WrongAnswer("starts twice", wrong.starts_twice, hint="start a bucket once"),
        WrongAnswer("flat in float32", wrong.in_float32, hint="to seven digits only"),
        WrongAnswer("after backward", wrong.after_backward, hint="gradient, not in finish()"),
        WrongAnswer("counts no more", wrong.counts_no_more, hint="still counts on from step 0"),
        WrongAnswer("hooks on rank 0 alone", wrong.hooks_on_rank_0, hint="belong on every rank"),
        WrongAnswer(
            "with the next bucket", wrong.with_the_next, hint="the next bucket's first one"
        ),
    ),
    figure=0,
)
