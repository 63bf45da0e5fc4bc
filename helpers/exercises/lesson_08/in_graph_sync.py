"""Exercise 08.1, in-graph synchronous training.

`in_graph_sync(devices, server, batches, loss, variables, step, optimizer) -> op` to write. The
claim: one run of the op changes the weights as one big batch would, and counts one step; each
replica's products of matrices lie on its device, and what brings replicas together on the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.drives_four_ways import in_graph_sync
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import in_graph_sync_wrong as wrong
from helpers.exercises.lesson_08 import line
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

RUNS = 3


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 replicas; one world of 2 to 4 where the seed is hidden."""
    random = rng(seed, "08.1")
    made = []
    for replicas in (3, 1, 2, 5) if not seed else (int(random.integers(2, 5)),):
        rows, start, rate = line.world(random, replicas)
        first, want = list(start), list[line.Weights]()
        for _ in range(RUNS):
            want.append(line.synchronous(rows, want[-1] if want else first, rate))
        each = [line.gradient(r, first) for r in rows]
        made.append(
            Case(
                f"With {count(replicas, 'replica')}",
                ((rows, start, rate, [0] * RUNS),),
                facts={
                    "replicas": replicas,
                    "want": want,
                    "sum": line.step(first, each, rate, 1.0),
                },
            )
        )
    return made


def task(replica: int) -> str:
    """A replica's device."""
    return f"/job:worker/task:{replica}"


def claim(case: Case, seen: Observation) -> str | None:
    """One op; the weights of a big batch; one step a run; everything in its place."""
    got, replicas = seen.values[0], case.facts["replicas"]
    if got["kinds"] not in ("operation", "tensor", "variable"):
        return f"{case.name}, it gave {describe(got['kinds'])}, not one op."
    if len(got["runs"]) != RUNS:
        return f"{case.name}, the op cannot be run."
    for number, (run, want) in enumerate(zip(got["runs"], case.facts["want"], strict=True), 1):
        if not line.same(run["weights"], want):
            return f"{case.name}, after run {number} the weights are not those of a big batch."
        if run["step"] != number:
            return f"{case.name}, after {count(number, 'run')} the step is {run['step']}."
    for replica in range(replicas):
        hint = facts.placed_hint(got["nodes"], replica, task(replica))
        if hint:
            return f"{case.name}, {hint}"
    return _elsewhere(case, seen)


def _kind(case: Case, seen: Observation) -> str | None:
    kinds = seen.values[0]["kinds"]
    if kinds in ("operation", "tensor", "variable"):
        return None
    if isinstance(kinds, list):
        return (
            f"{case.name}, it gave a list of {len(kinds)}. Give the one op that "
            "`optimizer.apply_gradients` gives: a run of it is a step."
        )
    return f"{case.name}, it gave a {describe(kinds)}. Give the op that makes the step."


def _first(case: Case, seen: Observation) -> Any:
    return seen.values[0]["runs"][0]["weights"]


def _left_out(case: Case, seen: Observation) -> str | None:
    nodes, (op,) = seen.values[0]["nodes"], seen.values[0]["ops"]
    there = facts.replicas_in(nodes, facts.needs(nodes, op))
    lost = [r for r in range(case.facts["replicas"]) if r not in there]
    if not lost:
        return None
    who = f"replica{'s' * (len(lost) > 1)} {listing(lost)}"
    if {replica for replica, *_ in facts.products(nodes)} >= set(lost):
        return (
            f"{case.name}, the gradients of {who} are computed, but no update needs them. Collect "
            "all of them in a list, then take their mean."
        )
    return (
        f"{case.name}, nobody computes with the rows of {who}. Each replica takes its own of the "
        "batches: `zip(devices, batches)`."
    )


def _several(case: Case, seen: Observation) -> str | None:
    step, replicas = seen.values[0]["runs"][0]["step"], case.facts["replicas"]
    if step < 2:
        return None
    return (
        f"{case.name}, one run of the op counts {step} steps: each replica's gradient is applied "
        f"by itself. Average the {replicas} first, then call `apply_gradients` once."
    )


def _sum(case: Case, seen: Observation) -> str | None:
    n = case.facts["replicas"]
    if n == 1 or not line.same(_first(case, seen), case.facts["sum"]):
        return None
    return (
        f"{case.name}, the update is {n} times too long: the gradients were summed. Divide by the "
        f"number of replicas, {n}."
    )


def _no_step(case: Case, seen: Observation) -> str | None:
    if seen.values[0]["runs"][0]["step"] != 0:
        return None
    return (
        f"{case.name}, the weights change, but the step stays 0: nobody counts the updates. Hand "
        "it to `apply_gradients` as `global_step=step`."
    )


def _shapes(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "Shapes must be equal" not in seen.text:
        return None
    return (
        f"{case.name}, a mean has not the shape of its variable. Add up one variable's gradients "
        "of all replicas, `zip(*replicas)`, element by element: `tf.add_n`, while "
        "`tf.reduce_mean` makes one number of them all."
    )


def _pairs(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "Trying to update a Tensor" not in seen.text:
        return None
    return (
        f"{case.name}, a pair is (gradient, variable), in this order: "
        "`apply_gradients(zip(means, variables), …)`."
    )


def _placed(case: Case, seen: Observation) -> str | None:
    for replica in range(case.facts["replicas"]):
        hint = facts.placed_hint(seen.values[0]["nodes"], replica, task(replica))
        if hint:
            return f"{case.name}, {hint}"
    return None


def _elsewhere(case: Case, seen: Observation) -> str | None:
    for kind, where in facts.mixed(seen.values[0]["nodes"]):
        if where != "/job:ps/task:0":
            there = f"on `{where}`" if where else "on no device that you named"
            return (
                f"{case.name}, `{kind}`, which brings the replicas' gradients together, lies "
                f"{there}. Average on the server's device, where the variables are."
            )
    return None


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    nodes = seen[0].values[0]["nodes"]
    return (
        f"Passed with 1, 2, 3 and 5 replicas: the weights are those of one big batch, each run one "
        f"step. With 3 replicas the graph has {len(nodes)} ops."
    )


EXERCISE = Exercise(
    number="08.1",
    title="One graph, one mean",
    stars=2,
    minutes=15,
    points=3,
    function="in_graph_sync",
    asks=(
        "one op whose run computes each replica's gradients on its device, averages them on the "
        "server's, applies the mean once and counts one step."
    ),
    cases=cases,
    drive=in_graph_sync,
    claim=claim,
    mistakes=(
        Mistake("not of the variable's shape", _shapes, unfinished=True),
        Mistake("pairs the other way round", _pairs, unfinished=True),
        Mistake("not one op", _kind),
        Mistake("a replica is left out", _left_out),
        Mistake("each gradient applied by itself", _several),
        Mistake("a sum", _sum),
        Mistake("a replica is not on its device", _placed),
        Mistake("averaged elsewhere", _elsewhere),
        Mistake("steps not counted", _no_step),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("sums", wrong.sums, hint="the gradients were summed"),
        WrongAnswer("no devices", wrong.nowhere, hint="computes on no device"),
        WrongAnswer(
            "all on one device", wrong.one_device, hint="and should on `/job:worker/task:1`"
        ),
        WrongAnswer("gradients outside", wrong.gradients_outside, hint="but its gradient lies"),
        WrongAnswer(
            "the first batch for all", wrong.first_batch, hint="nobody computes with the rows"
        ),
        WrongAnswer("the last gradient", wrong.last_gradient, hint="but no update needs them"),
        WrongAnswer(
            "averages on a worker", wrong.on_a_worker, hint="brings the replicas' gradients"
        ),
        WrongAnswer("applies each", wrong.applies_each, hint="one run of the op counts 3 steps"),
        WrongAnswer("no step", wrong.no_step, hint="the step stays 0"),
        WrongAnswer("gives the means", wrong.gives_means, hint="it gave a list of 2"),
        WrongAnswer("gives nothing", wrong.gives_nothing, hint="it gave a NoneType"),
        WrongAnswer("one number", wrong.one_number, hint="makes one number of them all"),
        WrongAnswer(
            "variables first", wrong.variables_first, hint="a pair is (gradient, variable)"
        ),
    ),
    ranked=False,
    framework="tensorflow",
)
