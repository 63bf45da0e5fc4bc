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

from helpers.exercises.common import rng
from helpers.exercises.compare import all_close, count, in_single_precision, worlds
from helpers.exercises.drives_training import on_hooks
from helpers.exercises.lesson_03 import overlap_failed as failed
from helpers.exercises.lesson_03 import overlap_timing as timing
from helpers.exercises.lesson_03 import overlap_wrong as wrong
from helpers.exercises.lesson_03.replicas import random_weights, train
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

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
        facts = {
            "weights": weights,
            "groups": groups,
            "steps": steps,
            "layers": len(_LAYERS) - 1,
            "slow": n == 5,
            "batches": [[(inputs[r, s], targets[r, s]) for r in range(n)] for s in range(steps)],
        }
        clock = {"latency": _SLOW if n == 5 else _QUICK, "bandwidth": 1e7}
        made.append(Case(f"On {count(n, 'rank')}", args, n, clock, facts))
    return made


def _is(case: Case, seen: Observation, shares: list[float] | None) -> bool:
    """Whether all ranks ended where gradients combined so would have led."""
    if seen.trouble:
        return False
    pairs = zip(seen.values, _ends(case, shares), strict=True)
    return all(all_close(got["weights"], want, _TOLERANCE) for got, want in pairs)


def _ends(case: Case, shares: list[float] | None) -> list[list[Any]]:
    """Every rank's weights at the end, with gradients combined so."""
    starts = [case.facts["weights"]] * case.ranks
    return train(starts, case.facts["batches"], _RATE, shares)


def _sums(seen: Observation, rank: int, step: int) -> list[Any]:
    """The sums of one step, as (start, elements)."""
    return [(start, size) for at, start, size in seen.values[rank]["sums"] if at == step]


def _elements(case: Case) -> list[int]:
    weights = case.facts["weights"]
    return [sum(weights[i].size for i in group) for group in case.facts["groups"]]


def claim(case: Case, seen: Observation) -> str | None:
    """Right weights; a sum a bucket, on the communication thread, begun during backward."""
    if not all(v["finish"] for v in seen.values):
        return f"{case.name}, `overlap` did not return a function."
    if not _is(case, seen, [1 / case.ranks] * case.ranks):
        return f"{case.name}, the weights are not those of one big batch after training."
    if case.ranks == 1:
        return None
    for rank in range(case.ranks):
        for step in range(case.facts["steps"]):
            found = _sums(seen, rank, step)
            if sorted(size for _, size in found) != sorted(_elements(case)):
                return (
                    f"{case.name}, rank {rank} made {count(len(found), 'sum')} in step {step}; it "
                    f"should make one a bucket, {len(_elements(case))} in all."
                )
    return timing.claim(case, seen)


def _no_finish(case: Case, seen: Observation) -> str | None:
    if seen.trouble or all(v["finish"] for v in seen.values):
        return None
    return f"{case.name}, `overlap` returned nothing to call: return your `finish` function."


def _blocking(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks == 1 or not seen.values[0]["sums"]:
        return None
    if any(e.lane == 1 for e in seen.events):
        return None
    return (
        f"{case.name}, the sums ran on the rank's own thread, so backward stood still meanwhile: "
        "hand them to the communication thread, `comm.background(reduce, flat)`."
    )


def _each_parameter(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks == 1:
        return None
    sizes = [size for _, size in _sums(seen, 0, 0)]
    if sorted(sizes) != sorted(w.size for w in case.facts["weights"]):
        return None
    return (
        f"{case.name}, there was one all-reduce for each of {len(sizes)} parameters: put a "
        f"bucket's gradients into one flat tensor, which makes {len(_elements(case))}."
    )


def _summed(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _is(case, seen, [1.0] * case.ranks):
        return None
    return (
        f"{case.name}, the steps were about {case.ranks} times too long: `reduce` sums, so divide "
        "by the number of ranks."
    )


def _rounded(case: Case, seen: Observation) -> str | None:
    if seen.trouble:
        return None
    pairs = zip(seen.values, _ends(case, [1 / case.ranks] * case.ranks), strict=True)
    if not all(in_single_precision(got["weights"], want) for got, want in pairs):
        return None
    return (
        f"{case.name}, the weights are those of one big batch to seven digits only: `flat` is "
        "float32, as `torch.zeros` makes it, and the gradients are float64. `torch.cat` of the "
        "gradients takes their type."
    )


def _own_gradients(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _is(case, seen, None):
        return None
    if not seen.values[0]["sums"]:
        return f"{case.name}, `reduce` was never called: no hook started a bucket."
    return (
        f"{case.name}, the buckets were summed, but every rank stepped with its own gradients: "
        "finish() has to put the average back into every `.grad`."
    )


def _does_not_wait(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks == 1:
        return None
    made, buckets = len(seen.values[0]["sums"]), len(_elements(case))
    done = seen.values[0]["done"]
    if made <= buckets or done[0] >= buckets:
        return None
    return (
        f"{case.name}, {done[0]} of {buckets} sums were through when finish() returned, and the "
        "step was taken with gradients that were still being summed: finish() has to wait for "
        "every request."
    )


def _one_step_only(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks == 1:
        return None
    first, second = _sums(seen, 0, 0), _sums(seen, 0, 1)
    if not first or len(second) >= len(first):
        return None
    return (
        f"{case.name}, step 0 made {count(len(first), 'sum')} and step 1 {len(second)}: what "
        "counts a bucket's gradients has to start again at every step."
    )


def _more_and_more(case: Case, seen: Observation) -> str | None:
    if seen.trouble or case.ranks == 1:
        return None
    first, second = _sums(seen, 0, 0), _sums(seen, 0, 1)
    if len(first) <= len(_elements(case)) and len(second) <= len(first):
        return None
    return (
        f"{case.name}, step 0 made {count(len(first), 'sum')} and step 1 {len(second)}, for "
        f"{len(_elements(case))} buckets: start a bucket once, when its last gradient is there."
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
    mistakes=(
        Mistake("buckets that never meet", failed.some_do_not_come, unfinished=True),
        Mistake("a call where a function belongs", failed.not_callable, unfinished=True),
        Mistake("no request", failed.no_request, unfinished=True),
        Mistake("starts before the bucket is full", failed.too_early, unfinished=True),
        Mistake("returns no function", _no_finish),
        Mistake("sums on the rank's own thread", _blocking),
        Mistake("one sum for each parameter", _each_parameter),
        Mistake("waits in the hook", timing.waits_in_the_hook),
        Mistake("does not wait", _does_not_wait),
        Mistake("sums in the first step only", _one_step_only),
        Mistake("starts a bucket more than once", _more_and_more),
        Mistake("sums without dividing", _summed),
        Mistake("rounded to float32", _rounded),
        Mistake("steps with its own gradients", _own_gradients),
        Mistake("starts after backward", timing.no_overlap),
        Mistake("starts with the next bucket", timing.late),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("after backward", wrong.after_backward, hint="gradient, not in finish()"),
        WrongAnswer("own thread", wrong.own_thread, hint="backward stood still"),
        WrongAnswer(
            "waits in the hook", wrong.waits_in_the_hook, hint="the waiting is for finish()"
        ),
        WrongAnswer("a sum a parameter", wrong.each_parameter, hint="one all-reduce for each of 6"),
        WrongAnswer("sums", wrong.sums, hint="so divide"),
        WrongAnswer("not written back", wrong.not_written_back, hint="put the average back"),
        WrongAnswer("does not wait", wrong.does_not_wait, hint="still being summed"),
        WrongAnswer("first step only", wrong.first_step_only, hint="start again at every step"),
        WrongAnswer("a call for a function", wrong.calls_it, hint="takes the function itself"),
        WrongAnswer("waits for a sum", wrong.waits_for_a_sum, hint="is no request"),
        WrongAnswer("first gradient", wrong.first_gradient, hint="not there yet (None)"),
        WrongAnswer("no finish", wrong.no_finish, hint="returned nothing to call"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="the buckets never meet"),
        WrongAnswer("counts no more", wrong.counts_no_more, hint="still counts on from step 0"),
        WrongAnswer("hooks on rank 0 alone", wrong.hooks_on_rank_0, hint="belong on every rank"),
        WrongAnswer(
            "with the next bucket", wrong.with_the_next, hint="the next bucket's first one"
        ),
        WrongAnswer("waits for the last one", wrong.waits_for_the_last, hint="sums queue up"),
        WrongAnswer("flat in float32", wrong.in_float32, hint="to seven digits only"),
    ),
    figure=0,
)
