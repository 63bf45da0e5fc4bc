"""Exercise 08.2, in-graph asynchronous training.

`in_graph_async(devices, batches, loss, variables, step, make_optimizer) -> list of ops` to write.
The claim: one op a replica; a run of it changes the weights by that replica's gradient alone, at
the weights of that moment, counts one step, and needs nothing of the other replicas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from helpers.algorithms.devices.four_ways import in_graph_async as reference
from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.drives.built import Built
from helpers.exercises.drives.calling import Function, wrong_signature
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import graphs, line
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, first_said
from helpers.exercises.table import wrong_answers


def _builds_async(fn: Function, case: Case) -> Observation:
    """`fn(devices, batches, loss, variables, step, make_optimizer)`, in a graph."""

    def build(
        devices: Any, server: str, batches: Any, line: graphs.Line, made: Any, rate: float
    ) -> Any:
        from tensorflow.compat import v1

        make = lambda: v1.train.GradientDescentOptimizer(rate)  # noqa: E731
        return fn(devices, batches, line.loss, *made, make)

    return wrong_signature(fn, 6) or graphs.guarded(fn, lambda: graphs.builds_in_graph(build, case))


in_graph_async = Built(_builds_async, graphs.looks_in_graph, told=3)


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 replicas whose ops are run in some order; hidden: one world of 2 to 4."""
    random = rng(seed, "08.2")
    made = []
    for replicas in (3, 1, 2, 5) if not seed else (int(random.integers(2, 5)),):
        rows, start, rate = line.world(random, replicas)
        order = [replicas - 1, 0, *random.integers(0, replicas, 2).tolist()]
        weights, want = start, []
        for replica in order:
            mine = line.gradient(rows[replica], weights)
            weights = line.step(weights, [mine], rate, 1.0)
            want.append(weights)
        told = {"replicas": replicas, "order": order, "want": want}
        name = f"With {count(replicas, 'replica')}"
        made.append(Case(name, ((rows, start, rate, order),), facts=told))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """As many ops as replicas; each alone makes its replica's update; everything in its place."""
    got, replicas, order = seen.values[0], case.facts["replicas"], case.facts["order"]
    kinds = got["kinds"]
    if not isinstance(kinds, list) or len(kinds) != replicas:
        yield f"it gave {describe(kinds)}, not a list of {count(replicas, 'op')}."
    if len(got["runs"]) != len(order):
        yield "the ops cannot be run."
    for number, run in enumerate(got["runs"], 1):
        after = f"after {'a run' if number == 1 else 'runs'} of op {listing(order[:number])}"
        if not line.same(run["weights"], case.facts["want"][number - 1]):
            yield f"{after} the weights are not what they should be."
        if run["step"] != number:
            yield f"{after} the step is {run['step']}."
    yield from _needs_others(case, seen)
    yield from facts.replica_misplaced(case, seen)


def _needs_others(case: Case, seen: Observation) -> Iterator[str]:
    nodes, ops = seen.values[0]["nodes"], seen.values[0]["ops"]
    for replica, op in enumerate(ops):
        above = facts.needs(nodes, op)
        others = facts.replicas_in(nodes, above) - {replica}
        if others and replica not in facts.replicas_in(nodes, above):
            yield (
                f"op {replica} computes with the rows of replica {listing(others)} and not with "
                "its own: take `zip(devices, batches)`."
            )
        if others and not facts.applied(nodes, above) - {replica}:
            yield (
                f"op {replica} waits for what replica {min(others)} does, though it needs nothing "
                "of it. No control dependency between replicas: each goes its way."
            )
        if others:
            yield (
                f"op {replica} needs the gradients of replica {listing(sorted(others))} too. Then "
                "a run of it waits for all of them, and that is synchronous: apply each replica's "
                "gradients by themselves."
            )


_no_gradients = fails_with(
    "No gradients provided",
    "`minimize` was to change what the loss does not depend on. Its second argument is the step; "
    "the variables go by name, `var_list=variables`.",
)


def compared(case: Case, seen: Observation) -> Any:
    """What runs of the ops do, and what of the graph is amiss; not by which ops it does so."""
    got = seen.values[0]
    if got["kinds"] in facts.OPS:
        return "one op"
    if not isinstance(got["kinds"], list) or len(got["kinds"]) != case.facts["replicas"]:
        return "not an op a replica"
    if not all(kind in facts.OPS for kind in got["kinds"]):
        return "other things than ops"
    amiss = [first_said(look, case, seen) for look in (_needs_others, facts.replica_misplaced)]
    return [[[run["step"], run["weights"]] for run in got["runs"]], *amiss]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    kinds, replicas = seen.values[0]["kinds"], case.facts["replicas"]
    return {
        "replicas": replicas,
        "ops": count(replicas, "op"),
        "gave": f"a list of {len(kinds)}" if isinstance(kinds, list) else f"a {describe(kinds)}",
        "kinds": describe(kinds),
        "first": case.facts["order"][0],
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    order = listing(cases[0].facts["order"])
    return (
        "Passed with 1, 2, 3 and 5 replicas: each op makes an update of its own replica's "
        f"gradient and needs no other. With {cases[0].facts['replicas']} the ops were run in the "
        f"order {order}."
    )


WRONG = """
one op for all
    | return updates => return tf.group(*updates)
    it gave one op for all: then one `session.run` makes all updates, and the quickest waits for the
    slowest. Give a list of {replicas}, one a replica.
the mean in each
    | make_optimizer().minimize(mine, step, var_list=variables) => tf.gradients(mine, variables)
    | return updates
        => means = [tf.add_n(each) / len(devices) for each in zip(*updates, strict=True)];
        return [make_optimizer().apply_gradients(zip(means, variables), step) for _ in devices]
    ? that is synchronous
one after the other
    | updates = [] => updates, losses = [], []
    | tf.device(device): => tf.device(device), tf.control_dependencies(losses):
    | updates.append => losses.append(mine); updates.append
    ? No control dependency
divided by the replicas
    | loss(batch, variables) => loss(batch, variables) / len(devices)
    the update is one part in {replicas} of what it should be. Nothing is averaged here: each
    gradient is an update of its own, undivided.
the first batch for all
    | loss(batch, => loss(batches[0],
    ? and not with its own
all on one device
    | tf.device(device) => tf.device(devices[0])
    ? and should on `/job:worker/task:1`
steps not counted
    | mine, step, => mine,
    the weights change, but the step stays 0. Hand it to `minimize` as `global_step`: without it
    nobody can say how stale a gradient is.
one op alone
    | return updates => return updates[-1:]
    it gave {gave}. Give {ops}, one a replica.
no ops
    | minimize(mine, step, var_list=variables) => compute_gradients(mine, variables)
    the list holds {kinds}: give what `minimize` gives.
loss
    | make_optimizer().minimize(mine, step, var_list=variables) => mine
    a run of op {first} changes no weight: collect what `minimize` gives.
step for variables
    | mine, step, var_list=variables => mine, variables, step
    ? go by name
"""

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
        Mistake("the step for the variables", _no_gradients, unfinished=True),
        Mistake("an op needs other replicas", _needs_others),
        Mistake("a replica is not on its device", facts.replica_misplaced),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("08.2", WRONG, reference),
    ranked=False,
    framework="tensorflow",
)
