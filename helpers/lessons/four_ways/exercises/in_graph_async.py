"""Exercise 08.2, in-graph asynchronous training.

`in_graph_async(devices, batches, loss, variables, step, make_optimizer) -> list of ops` to write.
The claim: one op a replica; a run of it changes the weights by that replica's gradient alone, at
the weights of that moment, counts one step, and needs nothing of the other replicas.
"""

from collections.abc import Iterator
from typing import Any

from helpers.checks.common import raised
from helpers.checks.compare import count, describe, listing
from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import Function
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.four_ways.algorithms.four_ways import in_graph_async as reference
from helpers.lessons.four_ways.exercises import facts, graphs, line


@graphs.builds(arguments=6)
def _builds(fn: Function, rows: graphs.Rows, start: Any, rate: float) -> Any:
    """`fn(devices, batches, loss, variables, step, make_optimizer)`, in a graph."""
    from tensorflow.compat import v1

    def given(devices: Any, *its: Any) -> Any:
        return fn(devices, *its, lambda: v1.train.GradientDescentOptimizer(rate))

    return graphs.in_graph(given, rows, start)


in_graph_async = Built(_builds, graphs.looks_in_graph, told=3)


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 replicas whose ops are run in some order; hidden: one world of 2 to 4."""
    random = rng(seed, "08.2")
    made = []
    for replicas in (3, 1, 2, 5) if not seed else (int(random.integers(2, 5)),):
        rows, start, rate = line.world(random, replicas)
        order = [replicas - 1, 0, *random.integers(0, replicas, 2).tolist()]
        want = [start]
        for replica in order:
            want.append(line.step(want[-1], [rows[replica]], rate))
        args, name = (rows, start, rate, order), f"With {count(replicas, 'replica')}"
        made.append(Case(name, (args,), facts={"want": want[1:]}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """As many ops as replicas; each alone makes its replica's update; everything in its place."""
    got, (rows, _, _, order) = seen.values[0], case.args[0]
    if not isinstance(got["kinds"], list) or len(got["kinds"]) != len(rows):
        yield f"it gave {describe(got['kinds'])}, not a list of {count(len(rows), 'op')}."
    if len(got["runs"]) != len(order):
        yield "the ops cannot be run."
    for number, (run, want) in enumerate(zip(got["runs"], case.facts["want"], strict=True), 1):
        after = f"after {'a run' if number == 1 else 'runs'} of op {listing(order[:number])}"
        if not line.same(run["weights"], want):
            yield f"{after} the weights are not what they should be."
        if run["step"] != number:
            yield (
                f"{after} the step is {run['step']}; each run counts one: hand the step to "
                "`minimize`, and count it nowhere else."
            )
    yield from _needs_others(case, seen)
    yield from facts.replica_misplaced(case, seen)


def _needs_others(case: Case, seen: Observation) -> Iterator[str]:
    nodes = seen.values[0]["nodes"]
    for replica, op in enumerate(seen.values[0]["ops"]):
        above = facts.needs(nodes, op)
        others = facts.replicas_in(nodes, above) - {replica}
        if others and replica not in facts.replicas_in(nodes, above):
            yield (
                f"op {replica} computes with the rows of replica {listing(others)} and not with "
                "its own: take `zip(devices, batches)`."
            )
        updates = [name for name in above if "Apply" in nodes[name][0]]
        applied = [facts.replicas_in(nodes, facts.needs(nodes, each, False)) for each in updates]
        if others and not set[int]().union(*applied) - {replica}:
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


def compared(case: Case, seen: Observation) -> Any:
    """What runs of the ops do, and what of the graph is amiss; not by which ops it does so."""
    got = seen.values[0]
    if got["kinds"] in graphs.OPS:
        return "one op"
    if not isinstance(got["kinds"], list) or len(got["kinds"]) != len(case.args[0][0]):
        return "not an op a replica"
    if not all(kind in graphs.OPS for kind in got["kinds"]):
        return "other things than ops"
    amiss = [first_said(look, case, seen) for look in (_needs_others, facts.replica_misplaced)]
    return [[[run["step"], run["weights"]] for run in got["runs"]], *amiss]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    kinds, (rows, _, _, order) = seen.values[0]["kinds"], case.args[0]
    gave = f"a list of {len(kinds)}" if isinstance(kinds, list) else f"a {describe(kinds)}"
    told = {"replicas": len(rows), "ops": count(len(rows), "op"), "first": order[0]}
    return told | {"gave": gave, "kinds": describe(kinds)}


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
    size=Size(stars=1, minutes=10, points=2),
    function="in_graph_async",
    asks=(
        "a list with an op for each replica: on its device it computes its own gradients, and "
        "applies them, undivided, without waiting for any other; a run counts one step."
    ),
    cases=cases,
    drive=in_graph_async,
    claim=claim,
    mistakes=(
        raised(
            "the step for the variables",
            "No gradients provided",
            "`minimize` was to change what the loss does not depend on. Its second argument is "
            "the step; the variables go by name, `var_list=variables`.",
        ),
        Mistake("an op needs other replicas", _needs_others),
        Mistake("a replica is not on its device", facts.replica_misplaced),
    ),
    numbers=numbers,
    compared=compared,
    praise=lambda cases, seen: (
        "Passed with 1, 2, 3 and 5 replicas: each op makes an update of its own replica's "
        f"gradient and needs no other. With {len(cases[0].args[0][0])} the ops were run in the "
        f"order {listing(cases[0].args[0][3])}."
    ),
    reference=reference,
    wrong=wrong_answers("08.2", WRONG, reference),
    ranked=False,
    framework="tensorflow",
)
