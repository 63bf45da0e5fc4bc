"""Exercise 03.5, hooks and overlap: summing gradients while backward still runs.

The claim: results as for one big batch; one sum a bucket and step, on the communication thread, as
soon as the bucket is full; backward, of 1 ms a layer, never waits; and nothing of a step is kept.
What makes this file long are 26 wrong answers, most of which a family tells.
"""

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import torch

from helpers.checks.common import raised, random_weights
from helpers.checks.compare import all_close, count, in_single_precision, worlds
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.checks.trouble import waits
from helpers.lessons.data_parallel.exercises.hooks import on_hooks
from helpers.lessons.data_parallel.exercises.replicas import descend

_LAYERS = (4, 8, 6, 2)
_GROUPS = [[5, 4], [3, 2], [1, 0]]
_QUICK, _SLOW = 1e-4, 2e-3  # latency in seconds: a sum takes less than a layer, or longer


SECONDS = 1e-3
_EPS = 1e-9


def _backwards(case: Case, seen: Observation) -> Iterator[tuple[int, int, float, list[float]]]:
    """All backwards, rank after rank: (rank, step, seconds, when sums start on that rank, reckoned
    from this backward's start). None where no sum runs beside one."""
    layers = _layers(case)
    for rank in range(case.ranks) if _beside(case, seen) else ():
        mine: list[Any] = [event for event in seen.events if event.rank == rank]
        work = [e for e in mine if e.lane == 0 and e.kind == "computing"]
        for step in range(len(work) // layers):
            start, end = work[step * layers].start, work[(step + 1) * layers - 1].end
            sums = [event.start - start for event in mine if event.lane == 1]
            yield rank, step, end - start, sums


def _layers(case: Case) -> int:
    return len(case.args[0][0]) // 2


def _beside(case: Case, seen: Observation) -> bool:
    return case.ranks > 1 and any(event.lane == 1 for event in seen.events)


def _is_slow(case: Case) -> bool:
    """Whether a sum outlasts a layer of backward."""
    return bool(case.options["latency"] > SECONDS)


def on_time(case: Case, seen: Observation) -> Iterator[str | None]:
    """No backward waits, each overlaps with a sum, and every bucket starts when it is full."""
    for look in (own_thread, waits_in_the_hook, no_overlap, late):
        yield first_said(look, case, seen)
    if len([*_backwards(case, seen)]) != case.ranks * len(case.args[0][1]):
        yield "backward computed something else than the layers."


def own_thread(case: Case, seen: Observation) -> str | None:
    """No sum on the communication thread."""
    if case.ranks == 1 or _beside(case, seen):
        return None
    return (
        "the sums ran on the rank's own thread, which computes nothing meanwhile: hand each, in "
        "its hook, to the communication thread, `comm.background(reduce, flat)`."
    )


def waits_in_the_hook(case: Case, seen: Observation) -> Iterator[str]:
    """A backward that takes longer than its layers do."""
    computing = SECONDS * _layers(case)
    how = "A hook only starts the sum and keeps the request; the waiting is for finish()."
    if _is_slow(case):
        how = (
            "On links as slow as these a bucket is full before the last one is through: start it "
            "all the same, sums queue up on the communication thread."
        )
    for rank, step, took, _ in _backwards(case, seen):
        if took > computing + _EPS:
            yield (
                f"rank {rank}'s backward of step {step} computes for {computing * 1e3:.1f} ms and "
                f"took {took * 1e3:.1f} ms: it waited. {how}"
            )


def no_overlap(case: Case, seen: Observation) -> Iterator[str]:
    """A backward in which no sum starts, though some are made."""
    for rank, step, took, sums in _backwards(case, seen):
        first = next((each for each in sums if each >= 0), 0.0)
        why = "Start a bucket in the hook of its last gradient: when backward has ended is too late"
        if step:
            why = "In step 0 something did: what counts gradients has to begin anew in every step"
        elif rank:
            why = "On rank 0 something does: hooks belong on every rank"
        if first >= took:
            yield (
                f"rank {rank}'s first all-reduce of step {step} starts {first * 1e3:.2f} ms into "
                f"its backward, which takes {took * 1e3:.2f} ms: nothing overlaps. {why}."
            )


def late(case: Case, seen: Observation) -> Iterator[str]:
    """A bucket that does not start when it is full; on slow links one may queue behind another."""
    for rank, step, _, sums in _backwards(case, seen) if not _is_slow(case) else ():
        for number, group in enumerate(case.args[0][3]):
            # The parameters of layer k are 2k and 2k + 1, and the last layer comes first.
            full = SECONDS * (_layers(case) - min(group) // 2)
            if not any(full - _EPS <= each < full + SECONDS / 2 for each in sums):
                yield (
                    f"rank {rank} has bucket {number} full {full * 1e3:.0f} ms into backward of "
                    f"step {step}, and no sum starts then: start it in the hook of its last "
                    "gradient; the next bucket's first one comes too late."
                )


def cases(seed: int) -> list[Case]:
    """Seed 0: three layers, a bucket each, or two, on 3, 1, 2 and 5 ranks; else others too. On 5
    ranks the links are so slow that a sum outlasts a layer of backward."""
    random, made = rng(seed, "03.5"), []
    known = [[[5, 2, 3, 4], [1, 0]], [[5], [4, 3, 2], [1, 0]], _GROUPS]
    layers, rate = _LAYERS, 0.1
    for number, n in enumerate((3, 1, 2, 5, 2)):
        steps = int(random.integers(3, 5)) if seed else 3
        # Where sums are slow they could queue up; on 2 ranks gradients do not come as listed.
        drawn = int(random.integers(3)) if seed and n != 5 else 2
        groups = _GROUPS if n == 5 else known[1 if number == 4 else drawn * (n != 2)]
        weights = random_weights(random, layers)
        inputs = random.standard_normal((n, steps, 4, layers[0]))
        targets = random.standard_normal((n, steps, 4, layers[-1]))
        ranks = zip(inputs, targets, strict=True)
        args = tuple((weights, x, y, groups, rate, SECONDS) for x, y in ranks)
        batches = zip(np.hstack([*inputs]), np.hstack([*targets]), strict=True)
        facts = {"want": descend(weights, [*batches], rate)}
        clock = {"latency": _SLOW if n == 5 else _QUICK, "bandwidth": 1e10}
        name = f"On {count(n, 'rank')}{' with other buckets' * (number == 4)}"
        made.append(Case(name, args, n, clock, facts))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Right weights; a sum a bucket, begun on its thread during backward; nothing kept."""
    if not all(v["finish"] for v in seen.values):
        yield "`overlap` did not return a function."
    want = case.facts["want"]
    if not all(all_close(v["weights"], want, 1e-10) for v in seen.values):
        yield "the weights are not those of one big batch after training."
    if case.ranks > 1:
        for look in (_one_a_bucket, on_time, _keeps):
            yield first_said(look, case, seen)


def _one_a_bucket(case: Case, seen: Observation) -> Iterator[str]:
    """A rank that makes another number of sums in a step than there are buckets."""
    weights, inputs, _, groups, *_ = case.args[0]
    wanted = sorted(sum(weights[i].size for i in group) for group in groups)
    for rank, step in product(range(case.ranks), range(len(inputs))):
        made = sorted(size for at, _, size in seen.values[rank]["sums"] if at == step)
        if case.ranks > 1 and made != wanted:
            why = "each is one flat tensor, of all its gradients and no others."
            if made == sorted(w.size for w in weights):
                why = "put a bucket's gradients into one flat tensor."
            elif len(made) > len(wanted):
                why = "start a bucket once, when its last gradient is there."
            elif step:
                why = "what counts a bucket's gradients has to start again at every step."
            elif not made:
                why = "the hooks that `overlap` sets start one for each, from step 0 on."
            sums = f"{count(len(made), 'sum')} in step {step}, for {len(wanted)} buckets"
            yield f"rank {rank} made {sums}: {why}"


def _keeps(case: Case, seen: Observation) -> Iterator[str]:
    for rank, value in enumerate(seen.values):
        if value["kept"]:
            yield (
                f"rank {rank} still holds at the end what step 0 has summed: finish() lets go of "
                "what it has written back, `started.clear()`."
            )
        if value["grows"]:
            yield (
                f"rank {rank}'s parameters are in one more place after each step: a list that "
                "hooks fill, and that nobody clears, grows for ever."
            )


def _some_do_not_come(case: Case, seen: Observation) -> str | None:
    if not seen.waiting:
        return None
    return (
        f"the buckets never meet: {waits(seen)}. Every rank starts every bucket, in the same order."
    )


def _does_not_wait(case: Case, seen: Observation) -> str | None:
    (sums, done), buckets = (seen.values[0][key] for key in ("sums", "done")), len(case.args[0][3])
    weights, made = case.args[0][0], {size for *_, size in sums}
    every = all(sum(weights[i].size for i in group) in made for group in case.args[0][3])
    if case.ranks == 1 or not sums or sums[0][0] or done[0] >= buckets or not every:
        return None
    return (
        f"{done[0]} of {buckets} sums were through when finish() returned, and the step was taken "
        "with what was still being summed: finish() waits for every request."
    )


def _rounded(case: Case, seen: Observation) -> str | None:
    if not all(in_single_precision(v["weights"], case.facts["want"]) for v in seen.values):
        return None
    return (
        "the weights are those of one big batch to seven digits only, as with a `flat` in float32, "
        "which `torch.zeros` makes: `torch.cat` takes the gradients' type."
    )


def reference(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
    """The course's own."""
    arrived = [0] * len(buckets)
    started: list[tuple[Any, Any, Any]] = []

    def start(number: int) -> None:
        bucket = buckets[number]
        flat = torch.cat([p.grad.reshape(-1) for p in bucket])
        started.append((bucket, flat, comm.background(reduce, flat)))

    def put(bucket: Any, flat: Any) -> None:
        parts = flat.split([p.numel() for p in bucket])
        for parameter, part in zip(bucket, parts, strict=True):
            parameter.grad = (part / comm.size).reshape(parameter.shape)

    def hook(number: int) -> Callable[[Any], None]:
        def arrive(parameter: Any) -> None:
            arrived[number] += 1
            if arrived[number] == len(buckets[number]):
                start(number)

        return arrive

    for number, bucket in enumerate(buckets):
        for parameter in bucket:
            parameter.register_post_accumulate_grad_hook(hook(number))

    def finish() -> None:
        arrived[:] = [0] * len(buckets)
        for bucket, flat, request in started:
            request.wait()
            put(bucket, flat)
        started.clear()

    return finish


WRONG = """
no function
    | return finish => return None
    `overlap` gave nothing to call: return `finish`.
sums
    | part / comm.size => part
    the steps were {n} times too long: divide the sum by the ranks.
steps with its own gradients
    | put(bucket, flat) =>
    the buckets were summed, but every rank stepped with its own gradients: finish() puts the
    average back into every `.grad`.
writes back in the hook
    | put(bucket, flat) =>
    | comm.background(reduce, flat))) => comm.background(reduce, flat))); put(bucket, flat)
    every rank stepped with its own gradients, divided by {n}: the sum is in `flat` once
    `request.wait()` has returned, in finish().
joined as they come
    | arrived[number] += 1 => arrived[number] += 1; parameter.came = arrived[number]
    | [p.grad.reshape(-1) for p in bucket]
        => [p.grad.reshape(-1) for p in sorted(bucket, key=lambda p: p.came)]
    parameters got each other's gradients: `flat` is put together in one order and taken apart in
    another. Gradients come in any order: put them together, too, in that of the bucket.
parted as they come
    | arrived[number] += 1 => arrived[number] += 1; parameter.came = arrived[number]
    | parts = flat => bucket = sorted(bucket, key=lambda p: p.came); parts = flat
    ! joined as they come
a call for a function
    | comm.background(reduce, flat) => comm.background(reduce(comm, flat), flat)
    ? takes the function itself
waits for a sum
    | comm.background(reduce, flat) => reduce(comm, flat)
    ? is no request
first gradient
    | == len(buckets[number]) => == 1
    ? not there yet (None)
rank 0 alone
    | if arrived => if comm.rank == 0 and arrived
    ? the buckets never meet
waits in the hook
    | comm.background(reduce, flat))) => comm.background(reduce, flat))); started[-1][2].wait()
    ? waiting is for finish()
waits for the last one
    | started.append( => [last.wait() for *_, last in started[-1:]]; started.append(
    ? sums queue up
does not wait
    | request.wait() =>
    ? still being summed
starts twice
    | started.append( => comm.background(reduce, flat.clone()); started.append(
    ? start a bucket once
first step only
    | arrived[:] = [0] * len(buckets) =>
    ? start again at every step
no hooks
    | parameter.register_post_accumulate_grad_hook(hook(number)) => pass
    ? hooks that `overlap` sets
on its own thread
    | comm.background(reduce, flat) => reduce(comm, flat)
    | request.wait() =>
    ? computes nothing meanwhile
one sum for each
    | arrived = => buckets = [[p] for bucket in buckets for p in bucket]; arrived =
    ? gradients into one flat
one sum for everything
    | arrived = => buckets = [[p for bucket in buckets for p in bucket]]; arrived =
    ? of all its gradients
clears nothing
    | started.clear() =>
    ? `started.clear()`
a list that grows
    | arrived = => come: list[Any] = []; arrived =
    | arrived[number] += 1 => arrived[number] += 1; come.append(parameter)
    ? grows for ever
flat in float32
    | for p in bucket]) started => for p in bucket]).float(); started
    | .reshape(parameter.shape) => .reshape(parameter.shape).to(parameter.dtype)
    ? to seven digits only
after backward
    | if arrived[number] == len(buckets[number]): start(number) => pass
    | arrived[:] = => [start(n) for n in range(len(started), len(buckets))]; arrived[:] =
    ? has ended is too late
counts no more
    | arrived[:] = [0] * len(buckets) => [start(n) for n in range(len(started), len(buckets))]
    ? has to begin anew
hooks on rank 0 alone
    | if arrived => if comm.rank == 0 and arrived
    | arrived[:] = => [start(n) for n in range(len(started), len(buckets))]; arrived[:] =
    ? belong on every rank
with the next bucket
    | if arrived[number] == len(buckets[number]): start(number)
        => if number and arrived[number] == 1: start(number - 1)
    | arrived[:] = => [start(n) for n in range(len(started), len(buckets))]; arrived[:] =
    ? first one comes too late
"""

EXERCISE = Exercise(
    number="03.5",
    title="Overlap",
    size=Size(stars=3, minutes=30, points=5),
    function="overlap",
    asks=(
        "each bucket's gradients are summed by one `comm.background(reduce, flat)`, started by the "
        "hook that brings its last gradient; `finish()` waits for all of them and leaves the "
        "average over the ranks in every `.grad`, step after step."
    ),
    cases=cases,
    drive=on_hooks,
    claim=claim,
    # Without what depends on the clock.
    compared=lambda case, seen: [
        [v["weights"], v["finish"], sorted([step, size] for step, _, size in v["sums"])]
        for v in seen.values
    ],
    mistakes=(
        Mistake("buckets that never meet", _some_do_not_come, unfinished=True),
        raised(
            "a call where a function belongs",
            "not callable",
            "rank {rank}: {text}. `comm.background(reduce, flat)` takes the function itself and "
            "not its call, and a function that makes a hook has to return it.",
        ),
        raised(
            "no request",
            "no attribute 'wait'",
            "rank {rank} waits for something that is no request: `comm.background(reduce, flat)` "
            "gives one, and `reduce(comm, flat)` sums at once, on the rank's own thread.",
        ),
        raised(
            "starts before the bucket is full",
            "NoneType",
            "rank {rank} used a gradient that is not there yet (None): a bucket is full when the "
            "hook of each of its parameters has been called, not of one of them. (`register_hook` "
            "calls before `.grad` is there, `register_post_accumulate_grad_hook` after. And a hook "
            "that reads a loop variable sees its last value: make each hook with a function.)",
        ),
        Mistake("waits in the hook", waits_in_the_hook),
        Mistake("does not wait", _does_not_wait),
        Mistake("not one sum a bucket", _one_a_bucket),
        Mistake("sums on the rank's own thread", own_thread),
        Mistake("rounded to float32", _rounded),
        Mistake("starts after backward", no_overlap),
        Mistake("starts with the next bucket", late),
        Mistake("keeps what it started", _keeps),
    ),
    numbers=lambda case, seen: {"n": case.ranks},
    praise=lambda cases, seen: (
        f"Passed on {worlds(cases)}: equal to one big batch; on 3 ranks the first all-reduce "
        f"starts at {seen[0].values[0]['sums'][0][1] * 1e3:.1f} ms, and backward ends at "
        f"{seen[0].values[0]['ends'][0] * 1e3:.1f} ms."
    ),
    reference=reference,
    wrong=wrong_answers("03.5", WRONG, reference),
    figure=0,
)
