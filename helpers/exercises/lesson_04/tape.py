"""Exercise 04.2, one step with a gradient tape.

`tape_step(hvd, model, optimizer, loss, inputs, targets, first) -> loss` to write. Every rank starts
with weights and momenta of its own. The claim: each step moves all ranks as one process would move
from rank 0's weights on all rows, the first step too, in float64 to 1e-10; the variables are sent
once and every gradient is averaged once, which the bytes show.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.compare import all_close, number, worlds
from helpers.exercises.drives_frameworks_keras import on_tape
from helpers.exercises.lesson_04 import replicas
from helpers.exercises.lesson_04 import tape_wrong as wrong
from helpers.exercises.lesson_04.prepare import not_all_come, own_root
from helpers.exercises.lesson_04.replicas import Arrays
from helpers.exercises.lesson_04.tape_cases import cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10
_NEAR = 1e-8
_SMALL = 100  # bytes a step for counters, a loss and the like


def claim(case: Case, seen: Observation) -> str | None:
    """One process's steps from rank 0's variables; each gradient averaged once."""
    facts = case.facts
    for rank, value in enumerate(seen.values):
        fault = _held(facts, value) if value["weights"] is not None else None
        if fault:
            return f"{case.name}, rank {rank}{fault}"
        for step, want in enumerate(facts["losses"][rank]):
            loss = number(value["losses"][step])
            if loss is None or abs(loss - want) > 1e-6 * want:
                said = "return this rank's loss, the mean over its own rows"
                return f"{case.name}, rank {rank} gave another loss in step {step + 1}: {said}."
    if replicas.averages(seen, facts["calls"], facts["tensors"]) or _sends(case, seen):
        return f"{case.name}, more bytes were sent than one average a step takes."
    return None


def _held(facts: Any, value: Any) -> str | None:
    """What a rank's model and optimizer should not hold; a grader knows by the losses alone."""
    if not all_close(value["frozen"], [facts["frozen"][0]] * facts["steps"], 0.0):
        return " has not rank 0's frozen layer."
    for step, (weights, momenta) in enumerate(facts["ends"]):
        if not all_close(value["weights"][step], weights, _TOLERANCE):
            said = "are not those of one process on all rows"
            return f"'s weights after step {step + 1} {said}."
        if not all_close(value["momenta"][step], momenta, _TOLERANCE):
            return f"'s momenta after step {step + 1} are not those of one process."
    return None


def _sends(case: Case, seen: Observation) -> bool:
    """Whether rank 0 sent its variables more than once."""
    facts = case.facts
    variables = 2 * facts["tensors"] + facts["frozen"][0].nbytes
    once = variables + facts["calls"] * (facts["tensors"] + _SMALL)
    return seen.bytes[0] > (case.ranks - 1) * once


def _first(case: Case, seen: Observation) -> list[Arrays]:
    """Every rank's weights after the first step."""
    return [value["weights"][0] for value in seen.values]


def _stepped(case: Case, rank: int, start: int, state: int, gradient: Arrays) -> Arrays:
    """Weights after a first step from one rank's weights with one rank's momenta."""
    facts = case.facts
    parts = zip(facts["starts"][start], facts["momenta"][state], gradient, strict=True)
    return [w + facts["momentum"] * m - facts["rate"] * g for w, m, g in parts]


def _all(case: Case, seen: Observation, want: Any) -> bool:
    pairs = enumerate(_first(case, seen))
    return case.ranks > 1 and all(all_close(got, want(rank), _NEAR) for rank, got in pairs)


def _minus(one: Any, other: Any) -> Arrays:
    return [a - b for a, b in zip(one, other, strict=True)]


def _no_broadcast(case: Case, seen: Observation) -> str | None:
    """Whatever the gradients were: the ranks are still as far apart as at the start."""
    facts, n = case.facts, case.ranks
    if n == 1:
        return None
    got, apart = _first(case, seen), _minus(facts["starts"][1], facts["starts"][0])
    moved = [facts["momentum"] * m for m in _minus(facts["momenta"][1], facts["momenta"][0])]
    more = [a + b for a, b in zip(apart, moved, strict=True)]
    found = any(all_close(_minus(got[1], got[0]), each, _NEAR) for each in (apart, more))
    for state in (0, 1):
        found |= all_close(got[1], _stepped(case, 1, 1, state, facts["own"][1]), _NEAR)
    if not found:
        return None
    return (
        f"{case.name}, the initial broadcast is missing: rank 1 went on from weights of its own. "
        "In the first step, give all ranks rank 0's variables before anything is computed with "
        "them."
    )


def _too_late(case: Case, seen: Observation) -> str | None:
    got = _first(case, seen)
    if case.ranks == 1 or not all(all_close(each, got[0], _NEAR) for each in got):
        return None
    if replicas.factor(_used(case, seen), replicas.mean(case.facts["own"])) is None:
        return None
    return (
        f"{case.name}, the broadcast came after the first gradients. The ranks are equal now, but "
        "those were taken at different weights, and their average is no step of one process. Send "
        "the variables before the first gradient."
    )


def _frozen(case: Case, seen: Observation) -> str | None:
    pairs = zip(seen.values, case.facts["frozen"], strict=True)
    if case.ranks == 1 or not all(all_close(v["frozen"][-1:], [own], 0.0) for v, own in pairs):
        return None
    return (
        f"{case.name}, each rank keeps a frozen layer of its own: `model.trainable_variables` "
        "leaves out what is not trained. Send `model.variables`."
    )


def _exchanged(case: Case, seen: Observation) -> str | None:
    want = replicas.mean(case.facts["exchanged"])
    if not replicas.is_near(replicas.factor(_used(case, seen), want), 1.0):
        return None
    return (
        f"{case.name}, the loss was given the outputs for targets: here it is "
        "loss(targets, outputs), targets first, as Keras has it."
    )


def _used(case: Case, seen: Observation) -> Arrays:
    """The gradient of rank 0's first step."""
    nothing = [0 * w for w in case.facts["starts"][0]]
    before = _stepped(case, 0, 0, 0, nothing)
    return replicas.used_gradient(before, seen.values[0]["weights"][0], case.facts["rate"])


def _no_state(case: Case, seen: Observation) -> str | None:
    want = replicas.mean(case.facts["local"])
    if not _all(case, seen, lambda rank: _stepped(case, rank, 0, rank, want)):
        return None
    return (
        f"{case.name}, the optimizer's variables were not sent: the ranks have equal weights and "
        "equal gradients, but momenta of their own, and drift apart. They are in "
        "`optimizer.variables`."
    )


def _alone(case: Case, seen: Observation) -> str | None:
    local = case.facts["local"]
    for state in (True, False):
        if _all(case, seen, lambda r, s=state: _stepped(case, r, 0, 0 if s else r, local[r])):
            return (
                f"{case.name}, every rank steps with the gradient of its own rows: nothing is "
                "averaged. Ask the tape that `hvd.DistributedGradientTape` gives for the gradients."
            )
    return None


def _other_root(case: Case, seen: Observation) -> str | None:
    got = _first(case, seen)
    if case.ranks == 1 or not all(all_close(each, got[0], _NEAR) for each in got):
        return None
    for root in range(1, case.ranks):
        start = case.facts["starts"][root]
        if max(_size(_minus(got[0], start))) < 0.5 * max(
            _size(_minus(got[0], case.facts["starts"][0]))
        ):
            return f"{case.name}, all ranks went on from rank {root}'s weights: root_rank is 0."
    return None


def _size(arrays: Arrays) -> list[float]:
    return [float(abs(a).max()) for a in arrays]


def _factor(case: Case, seen: Observation) -> str | None:
    facts, n = case.facts, case.ranks
    times = replicas.factor(_used(case, seen), replicas.mean(facts["local"]))
    if n == 1 or times is None or replicas.is_near(times, 1.0):
        return None
    if replicas.is_near(times, *[n**-k for k in (1, 2, 3)]):
        return (
            f"{case.name}, averaged twice: the gradients are {1 / times:.0f} times too small. The "
            f"distributed tape divides their sum by {n} already; do not divide again."
        )
    if replicas.is_near(times, n, n**2):
        return (
            f"{case.name}, the gradients are {times:.0f} times those of one process on all rows: "
            "they were summed and not averaged. hvd.Average is the default."
        )
    return f"{case.name}, the gradients are {times:.3g} times those of one process on all rows."


def _too_many_bytes(case: Case, seen: Observation) -> str | None:
    facts = case.facts
    ends = [end[0] for end in facts["ends"]]
    if any(not all_close(v["weights"][-1], ends[-1], _TOLERANCE) for v in seen.values):
        return None
    if times := replicas.averages(seen, facts["calls"], facts["tensors"]):
        return (
            f"{case.name}, averaged twice: the weights are right, for the mean of a mean is the "
            f"mean, but the gradients crossed the network {replicas.often(times)} in each step. "
            "The distributed tape does it once, by itself."
        )
    if _sends(case, seen):
        return (
            f"{case.name}, the variables were sent in every step. Replicas that are equal and take "
            "equal steps stay equal: send them once, where `first` is true."
        )
    return None


def _no_update(case: Case, seen: Observation) -> str | None:
    first = seen.values[0]["weights"]
    if not all_close(first[0], case.facts["starts"][0], 0.0):
        return None
    return f"{case.name}, no weight has moved: apply the gradients, `optimizer.apply_gradients`."


def _no_loss(case: Case, seen: Observation) -> str | None:
    if seen.values[0]["losses"][0] is not None:
        return None
    return f"{case.name}, nothing was returned: return this rank's loss."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        f"Passed on {worlds(cases)}: from the first step on all ranks moved as one process on all "
        "rows, and every gradient was averaged once."
    )


EXERCISE = Exercise(
    number="04.2",
    title="A step with a gradient tape",
    stars=2,
    minutes=15,
    points=3,
    function="tape_step",
    asks=(
        "in the first step all ranks get rank 0's variables, the model's and the optimizer's, "
        "before a gradient is computed; in every step the gradients are averaged and applied."
    ),
    cases=cases,
    drive=on_tape,
    framework="tensorflow",
    claim=claim,
    mistakes=(
        Mistake("root is each rank's own", own_root, unfinished=True),
        Mistake("not every rank takes part", not_all_come, unfinished=True),
        Mistake("Keras 3's apply", replicas.keras_2, unfinished=True),
        Mistake("no update", _no_update),
        Mistake("no initial broadcast", _no_broadcast),
        Mistake("broadcast after the first step", _too_late),
        Mistake("frozen variables not sent", _frozen),
        Mistake("optimizer's variables not sent", _no_state),
        Mistake("nothing is averaged", _alone),
        Mistake("outputs for targets", _exchanged),
        Mistake("averaged twice or summed", _factor),
        Mistake("another root", _other_root),
        Mistake("sends too much", _too_many_bytes),
        Mistake("no loss", _no_loss),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no broadcast", wrong.no_broadcast, hint="initial broadcast is missing"),
        WrongAnswer(
            "broadcast afterwards", wrong.afterwards, hint="came after the first gradients"
        ),
        WrongAnswer("no optimizer state", wrong.no_state, hint="variables were not sent"),
        WrongAnswer("the tape given", wrong.own_tape, hint="nothing is averaged"),
        WrongAnswer("divides again", wrong.divides_again, hint="do not divide again"),
        WrongAnswer("averages by hand", wrong.by_hand, hint="the mean of a mean is the mean"),
        WrongAnswer("sums", wrong.sums, hint="summed and not averaged"),
        WrongAnswer("sends in every step", wrong.every_step, hint="sent in every step"),
        WrongAnswer("last rank is the root", wrong.last_root, hint="root_rank is 0"),
        WrongAnswer("rank 0 alone", wrong.rank_0_alone, hint="also by those that only receive"),
        WrongAnswer("trained variables alone", wrong.trained_alone, hint="keeps a frozen layer"),
        WrongAnswer("outputs for targets", wrong.exchanged, hint="targets first"),
        WrongAnswer("as in Keras 3", wrong.keras_3, hint="it is of tf_keras"),
        WrongAnswer("no update", wrong.no_update, hint="no weight has moved"),
        WrongAnswer("no loss", wrong.no_loss, hint="nothing was returned"),
    ),
)
