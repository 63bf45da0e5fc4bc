"""Exercise 03.5, hooks and overlap: summing gradients while backward still runs.

The claim: results as for one big batch; one sum a bucket and step, on the communication thread, as
soon as the bucket is full; backward, of 1 ms a layer, never waits; and nothing of a step is kept.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from helpers.exercises.common import random_weights, rng
from helpers.exercises.compare import all_close, count, in_single_precision, worlds
from helpers.exercises.drives_training import on_hooks
from helpers.exercises.lesson_03 import overlap_timing as timing
from helpers.exercises.lesson_03 import overlap_wrong as wrong
from helpers.exercises.lesson_03.replicas import descend
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer
from helpers.exercises.trouble import waits

_LAYERS = (4, 8, 6, 2)
_WIDE = (4, 88, 88, 88, 2)  # 130 kB of gradients: what is kept of 5 steps is seen from outside
_GROUPS = [[5, 4], [3, 2], [1, 0]]
_TWO_GROUPS = [[5, 2, 3, 4], [1, 0]]  # not as they come
_TOLERANCE = 1e-10
_QUICK, _SLOW = 1e-4, 2e-3  # latency in seconds: a sum takes less than a layer, or longer


def cases(seed: int) -> list[Case]:
    """Seed 0: three layers, a bucket each, or two, on 3, 1, 2 and 5 ranks; else others too. On 5
    ranks the links are so slow that a sum outlasts a layer of backward."""
    random, made = rng(seed, "03.5"), []
    known = [_TWO_GROUPS, [[5], [4, 3, 2], [1, 0]], _GROUPS]
    settings = [(n, _LAYERS, 0.1) for n in (3, 1, 2, 5)]
    for n, layers, rate in [*settings, (2, _WIDE, 0.01)] if seed else settings:
        steps = 7 if layers is _WIDE else int(random.integers(3, 5)) if seed else 3
        # Where sums are slow they could queue up; on 2 ranks gradients do not come as listed.
        drawn = int(random.integers(3)) if seed and n != 5 else 2
        groups = _GROUPS if n == 5 else known[drawn * (n != 2)]
        groups = [[7, 6], *_GROUPS] if layers is _WIDE else groups
        weights = random_weights(random, layers)
        inputs = random.standard_normal((n, steps, 4, layers[0]))
        targets = random.standard_normal((n, steps, 4, layers[-1]))
        ranks = zip(inputs, targets, strict=True)
        args = tuple((weights, x, y, groups, rate, timing.SECONDS) for x, y in ranks)
        batches = zip(np.hstack([*inputs]), np.hstack([*targets]), strict=True)
        facts = {"want": descend(weights, [*batches], rate)}
        clock = {"latency": _SLOW if n == 5 else _QUICK, "bandwidth": 1e10}
        made.append(Case(f"On {count(n, 'rank')}", args, n, clock, facts))
    return made


def _sums(seen: Observation, rank: int, step: int) -> list[Any]:
    """The sums of one step, as (start, elements)."""
    return [(start, size) for at, start, size in seen.values[rank]["sums"] if at == step]


def _elements(case: Case) -> list[int]:
    weights, _, _, groups, _, _ = case.args[0]
    return [sum(weights[i].size for i in group) for group in groups]


def claim(case: Case, seen: Observation) -> str | None:
    """Right weights; a sum a bucket, begun on its thread during backward; nothing kept."""
    if not all(v["finish"] for v in seen.values):
        return f"{case.name}, `overlap` did not return a function."
    want = case.facts["want"]
    if not all(all_close(v["weights"], want, _TOLERANCE) for v in seen.values):
        return f"{case.name}, the weights are not those of one big batch after training."
    if case.ranks == 1:
        return None
    return _one_a_bucket(case, seen) or timing.claim(case, seen) or _keeps(case, seen)


def _one_a_bucket(case: Case, seen: Observation) -> str | None:
    """A rank that makes another number of sums in a step than there are buckets."""
    wanted, singly = sorted(_elements(case)), sorted(w.size for w in case.args[0][0])
    for rank, step in product(range(case.ranks), range(len(case.args[0][1]))):
        made = sorted(size for _, size in _sums(seen, rank, step))
        if case.ranks > 1 and made != wanted:
            why = "each is one flat tensor, of all its gradients and no others."
            if made == singly:
                why = "put a bucket's gradients into one flat tensor."
            elif len(made) > len(wanted):
                why = "start a bucket once, when its last gradient is there."
            elif step:
                why = "what counts a bucket's gradients has to start again at every step."
            elif not made:
                why = "the hooks that `overlap` sets start one for each, from step 0 on."
            sums = f"{count(len(made), 'sum')} in step {step}, for {len(wanted)} buckets"
            return f"{case.name}, rank {rank} made {sums}: {why}"
    return None


def _keeps(case: Case, seen: Observation) -> str | None:
    for rank, value in enumerate(seen.values):
        if value["kept"]:
            return (
                f"{case.name}, rank {rank} still holds at the end what step 0 has summed: finish() "
                "lets go of what it has written back, `started.clear()`."
            )
        if value["grows"]:
            return (
                f"{case.name}, rank {rank}'s parameters are in one more place after each step: a "
                "list that hooks fill, and that nobody clears, grows for ever."
            )
    return None


def compared(case: Case, seen: Observation) -> Any:
    """What each rank has, and the sums that it made; no times."""
    return [
        [v["weights"], v["finish"], sorted([step, size] for step, _, size in v["sums"])]
        for v in seen.values
    ]


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
        f"{case.name}, the buckets never meet: {waits(seen)}. Every rank starts every "
        "bucket, in the same order."
    )


def _does_not_wait(case: Case, seen: Observation) -> str | None:
    begun, buckets = _sums(seen, 0, 0), len(_elements(case))
    done = seen.values[0]["done"][0]
    if case.ranks == 1 or not begun or not done < buckets < len(seen.values[0]["sums"]):
        return None
    return (
        f"{case.name}, {done} of {buckets} sums were through when finish() returned, and the step "
        "was taken with what was still being summed: finish() waits for every request."
    )


def _rounded(case: Case, seen: Observation) -> str | None:
    if not all(in_single_precision(v["weights"], case.facts["want"]) for v in seen.values):
        return None
    return (
        f"{case.name}, the weights are those of one big batch to seven digits only, as with a "
        "`flat` in float32, which `torch.zeros` makes: `torch.cat` takes the gradients' type."
    )


_TWO_ORDERS = (
    "parameters got each other's gradients: `flat` is put together in one order and taken apart in "
    "another. Gradients come in any order: put them together, too, in that of the bucket."
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
            " waits for something that is no request: `comm.background(reduce, flat)` gives one, "
            "and `reduce(comm, flat)` sums at once, on the rank's own thread.",
        ),
        _raised(
            "starts before the bucket is full",
            "NoneType",
            " used a gradient that is not there yet (None): a bucket is full when the hook "
            "of each of its parameters has been called, not of one of them. "
            "(`register_hook` calls before `.grad` is there, "
            "`register_post_accumulate_grad_hook` after. And a hook that reads a loop "
            "variable sees its last value: make each hook with a function.)",
        ),
        Mistake("waits in the hook", timing.waits_in_the_hook),
        Mistake("does not wait", _does_not_wait),
        Mistake("not one sum a bucket", _one_a_bucket),
        Mistake("sums on the rank's own thread", timing.own_thread),
        Mistake("rounded to float32", _rounded),
        Mistake("starts after backward", timing.no_overlap),
        Mistake("starts with the next bucket", timing.late),
        Mistake("keeps what it started", _keeps),
    ),
    numbers=lambda case, seen: {"n": case.ranks},
    praise=lambda cases, seen: (
        f"Passed on {worlds(cases)}: equal to one big batch; on 3 ranks the first all-reduce "
        f"starts at {_sums(seen[0], 0, 0)[0][0] * 1e3:.1f} ms, and backward ends at "
        f"{seen[0].values[0]['ends'][0] * 1e3:.1f} ms."
    ),
    reference=wrong.reference,
    wrong=(
        WrongAnswer(
            "no function", wrong.no_finish, "`overlap` gave nothing to call: return `finish`."
        ),
        WrongAnswer(
            "sums", wrong.sums, "the steps were {n} times too long: divide the sum by the ranks."
        ),
        WrongAnswer(
            "steps with its own gradients",
            wrong.not_written_back,
            "the buckets were summed, but every rank stepped with its own gradients: finish() puts "
            "the average back into every `.grad`.",
        ),
        WrongAnswer(
            "writes back in the hook",
            wrong.written_at_once,
            "every rank stepped with its own gradients, divided by {n}: the sum is in `flat` once "
            "`request.wait()` has returned, in finish().",
        ),
        WrongAnswer("joined as they come", wrong.joined_as_they_come, _TWO_ORDERS),
        WrongAnswer("parted as they come", wrong.parted_as_they_come, _TWO_ORDERS),
        WrongAnswer("a call for a function", wrong.calls_it, hint="takes the function itself"),
        WrongAnswer("waits for a sum", wrong.waits_for_a_sum, hint="is no request"),
        WrongAnswer("first gradient", wrong.first_gradient, hint="not there yet (None)"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="the buckets never meet"),
        WrongAnswer("waits in the hook", wrong.waits_in_the_hook, hint="waiting is for finish()"),
        WrongAnswer("waits for the last one", wrong.waits_for_the_last, hint="sums queue up"),
        WrongAnswer("does not wait", wrong.does_not_wait, hint="still being summed"),
        WrongAnswer("starts twice", wrong.starts_twice, hint="start a bucket once"),
        WrongAnswer("first step only", wrong.first_step_only, hint="start again at every step"),
        WrongAnswer("no hooks", wrong.no_hooks, hint="hooks that `overlap` sets"),
        WrongAnswer("on its own thread", wrong.own_thread, hint="computes nothing meanwhile"),
        WrongAnswer("one sum for each", wrong.each_parameter, hint="gradients into one flat"),
        WrongAnswer("one sum for everything", wrong.one_for_all, hint="of all its gradients"),
        WrongAnswer("clears nothing", wrong.clears_nothing, hint="`started.clear()`"),
        WrongAnswer("a list that grows", wrong.list_grows, hint="grows for ever"),
        WrongAnswer("flat in float32", wrong.in_float32, hint="to seven digits only"),
        WrongAnswer("after backward", wrong.after_backward, hint="has ended is too late"),
        WrongAnswer("counts no more", wrong.counts_no_more, hint="has to begin anew"),
        WrongAnswer("hooks on rank 0 alone", wrong.hooks_on_rank_0, hint="belong on every rank"),
        WrongAnswer("with the next bucket", wrong.with_the_next, hint="first one comes too late"),
    ),
    figure=0,
    unseen={"grows": "lists in which parameters come once more with every step"},
)
