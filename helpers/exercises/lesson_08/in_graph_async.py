"""Exercise 08.2, in-graph asynchronous training.

`in_graph_async(devices, batches, loss, variables, step, make_optimizer) -> list of ops` to write.
The claim: one op a replica; a run of it changes the weights by that replica's gradient alone, at
the weights of that moment, counts one step, and needs nothing of the other replicas.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.drives_four_ways import in_graph_async
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import in_graph_async_wrong as wrong
from helpers.exercises.lesson_08 import line
from helpers.exercises.lesson_08.in_graph_sync import task
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 replicas whose ops are run in some order; hidden: one world of 2 to 4."""
    random = rng(seed, "08.2")
    made = []
    for replicas in (3, 1, 2, 5) if not seed else (int(random.integers(2, 5)),):
        rows, start, rate = line.world(random, replicas)
        order = [replicas - 1, 0, *random.integers(0, replicas, 2).tolist()]
        weights, want, means = start, [], []
        for replica in order:
            each = [line.gradient(r, weights) for r in rows]
            means.append(line.step(weights, each, rate, 1 / replicas))
            weights = line.step(weights, [each[replica]], rate, 1.0)
            want.append(weights)
        mine = [line.gradient(rows[order[0]], start)]
        made.append(
            Case(
                f"With {count(replicas, 'replica')}",
                ((rows, start, rate, order),),
                facts={
                    "replicas": replicas,
                    "order": order,
                    "want": want,
                    "mean": means[0],
                    "part": line.step(start, mine, rate, 1 / replicas),
                },
            )
        )
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """As many ops as replicas; each alone makes its replica's update; everything in its place."""
    got, replicas = seen.values[0], case.facts["replicas"]
    kinds = got["kinds"]
    if not isinstance(kinds, list) or len(kinds) != replicas:
        return f"{case.name}, it gave {describe(kinds)}, not a list of {count(replicas, 'op')}."
    if len(got["runs"]) != len(case.facts["order"]):
        return f"{case.name}, the ops cannot be run."
    for number, run in enumerate(got["runs"]):
        if not line.same(run["weights"], case.facts["want"][number]):
            return f"{case.name}, {_run(case, number)} the weights are not what they should be."
        if run["step"] != number + 1:
            return f"{case.name}, {_run(case, number)} the step is {run['step']}."
    return _needs_others(case, seen) or _placed(case, seen)


def _run(case: Case, number: int) -> str:
    order = case.facts["order"][: number + 1]
    return f"after {'a run' if not number else 'runs'} of op {listing(order)}"


def _kind(case: Case, seen: Observation) -> str | None:
    kinds, replicas = seen.values[0]["kinds"], case.facts["replicas"]
    if isinstance(kinds, list) and len(kinds) == replicas:
        if all(kind in ("operation", "tensor", "variable") for kind in kinds):
            return None
        return f"{case.name}, the list holds {describe(kinds)}: give what `minimize` gives."
    if kinds in ("operation", "tensor", "variable"):
        return (
            f"{case.name}, it gave one op for all: then one `session.run` makes all updates, and "
            f"the quickest waits for the slowest. Give a list of {replicas}, one a replica."
        )
    many = f"a list of {len(kinds)}" if isinstance(kinds, list) else f"a {describe(kinds)}"
    return f"{case.name}, it gave {many}. Give a list of {count(replicas, 'op')}, one a replica."


def _needs_others(case: Case, seen: Observation) -> str | None:
    nodes, ops = seen.values[0]["nodes"], seen.values[0]["ops"]
    for replica, op in enumerate(ops):
        above = facts.needs(nodes, op)
        others = facts.replicas_in(nodes, above) - {replica}
        if not others:
            continue
        if replica not in facts.replicas_in(nodes, above):
            return (
                f"{case.name}, op {replica} computes with the rows of replica {listing(others)} "
                f"and not with its own: take `zip(devices, batches)`."
            )
        if not facts.applied(nodes, above) - {replica}:
            return (
                f"{case.name}, op {replica} waits for what replica {min(others)} does, though it "
                "needs nothing of it. No control dependency between replicas: each goes its way."
            )
        return (
            f"{case.name}, op {replica} needs the gradients of replica {listing(sorted(others))} "
            "too. Then a run of it waits for all of them, and that is synchronous: apply each "
            "replica's gradients by themselves."
        )
    return None


def _part(case: Case, seen: Observation) -> str | None:
    n, run = case.facts["replicas"], seen.values[0]["runs"][0]
    if n == 1 or not line.same(run["weights"], case.facts["part"]):
        return None
    return (
        f"{case.name}, the update is one part in {n} of what it should be. Nothing is averaged "
        f"here: each gradient is an update of its own, undivided."
    )


def _placed(case: Case, seen: Observation) -> str | None:
    for replica in range(case.facts["replicas"]):
        hint = facts.placed_hint(seen.values[0]["nodes"], replica, task(replica))
        if hint:
            return f"{case.name}, {hint}"
    return None


def _still(case: Case, seen: Observation) -> bool:
    """Whether the first run leaves the weights as they were."""
    return line.same(seen.values[0]["runs"][0]["weights"], case.args[0][1])


def _changes_nothing(case: Case, seen: Observation) -> str | None:
    if not _still(case, seen):
        return None
    return (
        f"{case.name}, a run of op {case.facts['order'][0]} changes no weight. Collect what "
        "`minimize` returns: a loss alone only computes."
    )


def _step_for_variables(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "No gradients provided" not in seen.text:
        return None
    return (
        f"{case.name}, `minimize` was to change what the loss does not depend on. Its second "
        "argument is the step; the variables go by name, `var_list=variables`."
    )


def _no_step(case: Case, seen: Observation) -> str | None:
    if seen.values[0]["runs"][0]["step"] != 0 or _still(case, seen):
        return None
    return (
        f"{case.name}, the weights change, but the step stays 0. Hand it to `minimize` as "
        "`global_step`: without it nobody can say how stale a gradient is."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    order = listing(cases[0].facts["order"])
    return (
        "Passed with 1, 2, 3 and 5 replicas: each op makes an update of its own replica's "
        f"gradient and needs no other. With {cases[0].facts['replicas']} the ops were run in the "
        f"order {order}."
    )


EXERCISE = Exercise(
    number="08.2",
    title="One graph, an update a replica",
    stars=1,
    minutes=10,
    points=2,
    function="in_graph_async",
    asks=(
        "a list with an op for each replica: on its device it computes its own gradients, and "
        "applies them, undivided, without waiting for any other; a run counts one step."
    ),
    cases=cases,
    drive=in_graph_async,
    claim=claim,
    mistakes=(
        Mistake("the step for the variables", _step_for_variables, unfinished=True),
        Mistake("not an op a replica", _kind),
        Mistake("changes nothing", _changes_nothing),
        Mistake("an op needs other replicas", _needs_others),
        Mistake("divided by the replicas", _part),
        Mistake("a replica is not on its device", _placed),
        Mistake("steps not counted", _no_step),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("one op", wrong.one_op, hint="it gave one op for all"),
        WrongAnswer("the mean in each", wrong.mean_in_each, hint="that is synchronous"),
        WrongAnswer("one after the other", wrong.chained, hint="No control dependency"),
        WrongAnswer("divides", wrong.divides, hint="undivided."),
        WrongAnswer("the first batch for all", wrong.first_batch, hint="and not with its own"),
        WrongAnswer(
            "all on one device", wrong.one_device, hint="and should on `/job:worker/task:1`"
        ),
        WrongAnswer("no step", wrong.no_step, hint="the step stays 0"),
        WrongAnswer("the last one only", wrong.last_only, hint="it gave a list of 1"),
        WrongAnswer("the losses", wrong.losses, hint="changes no weight"),
        WrongAnswer("step for variables", wrong.step_for_variables, hint="go by name"),
    ),
    ranked=False,
    framework="tensorflow",
)
