"""Exercise 04.1, Horovod with torch.

`prepare(hvd, model, optimizer) -> optimizer` to write. Every rank starts with weights and a
learning rate of its own. The claim: afterwards all ranks hold rank 0's, each step moves them as one
process on all rows would, in float64 to 1e-10, and every gradient is averaged once, not twice,
which the bytes show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.compare import all_close, describe, worlds
from helpers.exercises.drives_frameworks_runs import on_prepare
from helpers.exercises.lesson_04 import prepare_wrong as wrong
from helpers.exercises.lesson_04 import replicas
from helpers.exercises.lesson_04.prepare_cases import cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10


def claim(case: Case, seen: Observation) -> str | None:
    """Rank 0's start everywhere, one process's steps, each gradient averaged once."""
    facts = case.facts
    for rank, value in enumerate(seen.values):
        if value["returned"] != "an optimizer":
            return f"{case.name}, rank {rank}'s `prepare` gave {value['returned']}, no optimizer."
        if not all_close(value["start"], facts["starts"][0], 0.0):
            return f"{case.name}, rank {rank} did not start from rank 0's weights."
        if value["rates"] != [facts["rates"][0]]:
            return f"{case.name}, rank {rank}'s learning rate is not rank 0's."
        for step, (got, want) in enumerate(zip(value["weights"], facts["ends"], strict=True), 1):
            if not all_close(got, want, _TOLERANCE):
                return (
                    f"{case.name}, rank {rank}'s weights after step {step} are not those of one "
                    "process on all rows."
                )
    if replicas.averages(seen, facts["steps"], facts["tensors"]):
        return f"{case.name}, more bytes were sent than one average a step takes."
    return None


def _no_optimizer(case: Case, seen: Observation) -> str | None:
    kinds = [v["returned"] for v in seen.values if v["returned"] != "an optimizer"]
    if not kinds:
        return None
    what = "nothing" if kinds[0] == "NoneType" else f"a {kinds[0]}"
    return (
        f"`prepare` gave {what}, and the loop needs an optimizer to step with: return what "
        "`hvd.DistributedOptimizer` gives."
    )


def own_root(case: Case, seen: Observation) -> str | None:
    """Each rank broadcasts its own: all wait for the others to come to it."""
    words = list(seen.waiting.values())
    if len(words) < case.ranks or not all("receive" in each for each in words):
        return None
    return (
        f"{case.name}, every rank sends its own and nobody takes it: root_rank says whose tensors "
        "all ranks get, so it is the same number everywhere, 0, and not this rank's own."
    )


def not_all_come(case: Case, seen: Observation) -> str | None:
    """Ranks that wait for ranks which call something else, or nothing."""
    if seen.trouble == "failed" and "Mismatched calls" in seen.text:
        why = f"rank {seen.rank} came to a call that another rank did not come to"
    elif seen.waiting:
        waits = [f"rank {r} {words}" for r, words in sorted(seen.waiting.items())]
        why = f"{'; '.join(waits)}, and it will not come"
    else:
        return None
    return (
        f"{case.name}, {why}: a broadcast or an all-reduce is called by every rank, in the same "
        "order, also by those that only receive."
    )


def _no_broadcast(case: Case, seen: Observation) -> str | None:
    starts = case.facts["starts"]
    for rank, value in enumerate(seen.values):
        if rank == 0 or all_close(value["start"], starts[0], 0.0):
            continue
        same = [
            np.array_equal(got, want)
            for got, want in zip(value["start"], starts[rank], strict=True)
        ]
        if all(same):
            return (
                f"{case.name}, the initial broadcast is missing: rank {rank} starts from weights "
                "of its own. Equal gradients do not make unequal replicas equal. Give all ranks "
                "rank 0's parameters, `hvd.broadcast_parameters`."
            )
        if any(same):
            return (
                f"{case.name}, the initial broadcast is not whole: rank {rank} keeps {sum(same)} "
                f"of its {len(same)} tensors. `model.state_dict()` holds them all."
            )
    return None


def _other_root(case: Case, seen: Observation) -> str | None:
    for root, start in enumerate(case.facts["starts"]):
        if root and all(all_close(v["start"], start, 0.0) for v in seen.values):
            return (
                f"{case.name}, all ranks start from rank {root}'s weights: root_rank is 0, since "
                "rank 0 is the one that read the checkpoint."
            )
    return None


def _mean_start(case: Case, seen: Observation) -> str | None:
    starts = replicas.mean(case.facts["starts"])
    if case.ranks == 1 or not all(all_close(v["start"], starts, 1e-8) for v in seen.values):
        return None
    return (
        f"{case.name}, you averaged the starting weights: the mean of {case.ranks} random models "
        "is one more random model, and no checkpoint. Send rank 0's, `hvd.broadcast_parameters`."
    )


def _momentum(case: Case, seen: Observation) -> str | None:
    want, got = case.facts["momentum"], seen.values[0]["momentum"]
    if got == [want]:
        return None
    return (
        f"{case.name}, momentum was lost: yours has {describe(got[0])} and the optimizer that you "
        f"were given {want}. Do not make a new one; wrap the optimizer that you were given."
    )


def _rounded(case: Case, seen: Observation) -> str | None:
    if not replicas.is_rounded([v["weights"][0] for v in seen.values], case.facts["ends"][0]):
        return None
    return (
        f"{case.name}, the weights are those of one process to three digits only: gradients that "
        "travel in 16 bits are rounded. Leave compression out, or take hvd.Compression.none."
    )


def _rates(case: Case, seen: Observation) -> str | None:
    rates, n = case.facts["rates"], case.ranks
    got = [v["rates"][0] if v["rates"] else None for v in seen.values]
    if n > 1 and all(replicas.is_near(g, rates[0] / n) for g in got):
        return (
            f"{case.name}, averaged twice: the optimizer divides the sum of the gradients by {n} "
            f"already, and the learning rate was divided by {n} as well, so each step is {n} times "
            "too short."
        )
    if n > 1 and all(replicas.is_near(g, rates[0] * n) for g in got):
        return (
            f"{case.name}, the learning rate was multiplied by {n}. That belongs to a batch that "
            "grows with the ranks; here the batch of all ranks stays as it is."
        )
    if n > 1 and got[1:] == rates[1:]:
        return (
            f"{case.name}, the optimizer's state was not sent: rank 1 goes on with a learning "
            f"rate of {got[1]:.3g} and rank 0 with {got[0]:.3g}. Call "
            "`hvd.broadcast_optimizer_state`."
        )
    return None


def _used(case: Case, seen: Observation) -> list[Any]:
    """For each rank, the gradient of the first step."""
    start = case.facts["starts"][0]
    return [
        replicas.used_gradient(start, v["weights"][0], case.facts["rates"][0]) for v in seen.values
    ]


def _alone(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1:
        return None
    for used, local in zip(_used(case, seen), case.facts["local"], strict=True):
        if not all_close(used, local, 1e-8):
            return None
    return (
        f"{case.name}, every rank steps with the gradient of its own rows: nothing is averaged. "
        "The wrapped optimizer averages; the one that was given does not."
    )


def _factor(case: Case, seen: Observation) -> str | None:
    n = case.ranks
    want = replicas.mean(case.facts["local"])
    times = [replicas.factor(used, want) for used in _used(case, seen)]
    if n == 1 or times[0] is None:
        return None
    if replicas.is_near(times[0], *[n**-k for k in (1, 2, 3)]):
        return (
            f"{case.name}, averaged twice: the gradients are {1 / times[0]:.0f} times too small. "
            f"The wrapped optimizer divides their sum by {n} already; do not divide again."
        )
    if replicas.is_near(times[0], n, n**2):
        return (
            f"{case.name}, the gradients are {times[0]:.0f} times those of one process on all "
            "rows: they were summed and not averaged. hvd.Average is the default."
        )
    if replicas.is_near(times[0], 1.0):
        return None
    return f"{case.name}, the gradients are {times[0]:.3g} times those of one process on all rows."


def _too_many_bytes(case: Case, seen: Observation) -> str | None:
    facts = case.facts
    times = replicas.averages(seen, facts["steps"], facts["tensors"])
    if not times:
        return None
    ends = [v["weights"][-1] for v in seen.values]
    if not all(all_close(end, facts["ends"][-1], _TOLERANCE) for end in ends):
        return None
    return (
        f"{case.name}, averaged twice: the weights are right, for the mean of a mean is the mean, "
        f"but the gradients crossed the network {replicas.often(times)} in each step. The wrapped "
        "optimizer does it once, by itself."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: all ranks started as rank 0 and stayed equal to one process "
        "on all rows; every gradient was averaged once."
    )


EXERCISE = Exercise(
    number="04.1",
    title="Horovod with torch",
    stars=2,
    minutes=10,
    points=3,
    function="prepare",
    asks=(
        "every rank gets rank 0's parameters and its optimizer's state, and what is returned is "
        "the optimizer that averages gradients in each step."
    ),
    cases=cases,
    drive=on_prepare,
    framework="tensorflow",  # its ranks have loaded what optimizers need
    claim=claim,
    mistakes=(
        Mistake("root is each rank's own", own_root, unfinished=True),
        Mistake("not every rank takes part", not_all_come, unfinished=True),
        Mistake("returns no optimizer", _no_optimizer),
        Mistake("another root", _other_root),
        Mistake("mean of the starts", _mean_start),
        Mistake("no initial broadcast", _no_broadcast),
        Mistake("learning rates", _rates),
        Mistake("momentum lost", _momentum),
        Mistake("nothing is averaged", _alone),
        Mistake("averaged twice or summed", _factor),
        Mistake("averaged twice, bytes", _too_many_bytes),
        Mistake("rounded", _rounded),
    ),
    praise=praise,
    figure=2,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no broadcast", wrong.no_broadcast, hint="initial broadcast is missing"),
        WrongAnswer("half a broadcast", wrong.half, hint="initial broadcast is not whole"),
        WrongAnswer("no optimizer state", wrong.no_state, hint="optimizer's state was not sent"),
        WrongAnswer("divides again", wrong.divides_again, hint="do not divide again"),
        WrongAnswer("averages by hand", wrong.by_hand, hint="the mean of a mean is the mean"),
        WrongAnswer("divides the rate", wrong.divides_rate, hint="learning rate was divided by"),
        WrongAnswer(
            "multiplies the rate", wrong.multiplies_rate, hint="learning rate was multiplied"
        ),
        WrongAnswer("sums", wrong.sums, hint="summed and not averaged"),
        WrongAnswer("not returned", wrong.not_returned, hint="gave nothing"),
        WrongAnswer("the optimizer given", wrong.the_given, hint="nothing is averaged"),
        WrongAnswer("last rank is the root", wrong.last_root, hint="root_rank is 0"),
        WrongAnswer("own root", wrong.own_root, hint="every rank sends its own"),
        WrongAnswer("averages the starts", wrong.mean_start, hint="averaged the starting weights"),
        WrongAnswer("an optimizer of its own", wrong.new_optimizer, hint="momentum was lost"),
        WrongAnswer("in 16 bits", wrong.in_16_bits, hint="travel in 16 bits"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="also by those that only receive"),
    ),
)
