"""Exercise 08.1, in-graph synchronous training.

`in_graph_sync(devices, server, batches, loss, variables, step, optimizer) -> op` to write. The
claim: one run of the op changes the weights as one big batch would, and counts one step; each
replica's products of matrices lie on its device, and what brings replicas together on the server.
"""

from collections.abc import Iterator
from typing import Any

from helpers.checks.common import raised
from helpers.checks.compare import count, describe, listing
from helpers.checks.drives.built import Built
from helpers.checks.drives.calling import Function
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, first_said, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.four_ways.algorithms.four_ways import in_graph_sync as reference
from helpers.lessons.four_ways.exercises import facts, graphs, line


@graphs.builds(arguments=7)
def _builds(fn: Function, rows: graphs.Rows, start: Any, rate: float) -> Any:
    """`fn(devices, server, batches, loss, variables, step, optimizer)`, in a graph."""
    from tensorflow.compat import v1

    def given(devices: Any, *its: Any) -> Any:
        return fn(devices, graphs.SERVER, *its, v1.train.GradientDescentOptimizer(rate))

    return graphs.in_graph(given, rows, start)


in_graph_sync = Built(_builds, graphs.looks_in_graph, told=3)


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 replicas, three runs; one world of 3 or 4 where the seed is hidden."""
    random = rng(seed, "08.1")
    made = []
    for replicas in (3, 1, 2, 5) if not seed else (int(random.integers(3, 5)),):
        rows, start, rate = line.world(random, replicas)
        want = [line.step(start, rows, rate)]
        while len(want) < 3:
            want.append(line.step(want[-1], rows, rate))
        args = (rows, start, rate, [0] * len(want))
        made.append(Case(f"With {count(replicas, 'replica')}", (args,), facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """One op; the weights of a big batch; one step a run; everything in its place."""
    got, want = seen.values[0], case.facts["want"]
    if got["kinds"] not in graphs.OPS:
        yield f"it gave {describe(got['kinds'])}, not one op."
    if len(got["runs"]) != len(want):
        yield "the op cannot be run."
    for number, (run, weights) in enumerate(zip(got["runs"], want, strict=True), 1):
        if not line.same(run["weights"], weights):
            yield f"after run {number} the weights are not those of a big batch."
        if run["step"] != number:
            yield (
                f"after {count(number, 'run')} the step is {run['step']}: one `apply_gradients` "
                "counts it, with all pairs."
            )
    for look in (_several_updates, facts.replica_misplaced, _elsewhere):
        yield from look(case, seen)


def _several_updates(case: Case, seen: Observation) -> Iterator[str]:
    """More than one update of the weights and one of the bias in a run that counts one step."""
    nodes, (op,) = seen.values[0]["nodes"], seen.values[0]["ops"]
    many = sum("Apply" in nodes[name][0] for name in facts.needs(nodes, op)) // 2
    if many > 1:
        yield (
            f"one run updates each variable {many} times, with a part of the mean each time: a "
            "replica may read weights that an earlier part has changed. Average first, then call "
            "`apply_gradients` once."
        )


def _left_out(case: Case, seen: Observation) -> Iterator[str]:
    nodes, (op,) = seen.values[0]["nodes"], seen.values[0]["ops"]
    there = facts.replicas_in(nodes, facts.needs(nodes, op))
    lost = [r for r in range(len(case.args[0][0])) if r not in there]
    who = f"replica{'s' * (len(lost) > 1)} {listing(lost)}"
    if lost and {replica for replica, *_ in facts.products(nodes)} >= set(lost):
        yield (
            f"the gradients of {who} are computed, but no update needs them. Collect all of them "
            "in a list, then take their mean."
        )
    elif lost:
        yield (
            f"nobody computes with the rows of {who}. Each replica takes its own of the batches: "
            "`zip(devices, batches)`."
        )


def _elsewhere(case: Case, seen: Observation) -> Iterator[str]:
    """An op that brings several replicas' rows together and does not lie on the server."""
    nodes = seen.values[0]["nodes"]
    for name, (kind, where, *_) in nodes.items():
        if where == graphs.SERVER or kind in ("NoOp", "Identity"):
            continue
        if len(facts.replicas_in(nodes, facts.needs(nodes, name, waits=False))) > 1:
            yield (
                f"`{kind}`, which brings the replicas' gradients together, lies "
                f"{facts.on_device(where)}. Average on the server's device, where the variables "
                "are."
            )


def compared(case: Case, seen: Observation) -> Any:
    """What runs of the op do, and what of the graph is amiss; not by which ops it does so."""
    got = seen.values[0]
    if got["kinds"] not in graphs.OPS:
        return "a list" if isinstance(got["kinds"], list) else "no op"
    runs = [
        # What several updates in one run come to depends on which is first.
        [run["step"], run["weights"] if run["step"] <= number else None]
        for number, run in enumerate(got["runs"], 1)
    ]
    looks = (_left_out, facts.replica_misplaced, _elsewhere)
    return [runs, *(first_said(look, case, seen) for look in looks)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    kinds, runs = seen.values[0]["kinds"], seen.values[0]["runs"]
    told = {"replicas": len(case.args[0][0]), "kind": describe(kinds), "many": len(kinds)}
    return told | {"steps": runs[0]["step"] if runs else None}


WRONG = """
a sum
    | / len(devices) =>
    the update is {replicas} times too long: the gradients were summed. Divide by the number of
    replicas, {replicas}.
pair by pair
    | import tensorflow as tf => import tensorflow as tf; from functools import reduce
    | tf.add_n(each) / len(devices) => reduce(lambda one, other: (one + other) / 2, each)
    the gradients were averaged pair by pair, (a + b)/2 and then with the next: so the last one
    counts 1/2 and the others less, where each of {replicas} should count 1/{replicas}. Sum them
    all, then divide once.
no devices
    | tf.device(device) => tf.device(None)
    ? computes on no device
all on one device
    | tf.device(device) => tf.device(devices[0])
    ? and should on `/job:worker/task:1`
gradients outside
    | tf.gradients(loss(batch, variables), variables) => loss(batch, variables)
    | means = [tf.add_n(each) / len(devices) for each in zip(*replicas, strict=True)]
        => with tf.device(None): replicas = [[g for g, _ in optimizer.compute_gradients(each,
        variables)] for each in replicas]
    | zip(means, => zip([tf.add_n(each) / len(devices) for each in zip(*replicas, strict=True)],
    ? but its gradient lies
the first batch for all
    | loss(batch, => loss(batches[0],
    ? nobody computes with the rows
the last gradient
    | zip(means, => zip(replicas[-1],
    ? but no update needs them
averages on a worker
    | tf.device(server) => tf.device(devices[-1])
    ? brings the replicas' gradients
each gradient applied by itself
    | return optimizer.apply_gradients(zip(means, variables, strict=True), global_step=step)
        => return tf.group(*(optimizer.apply_gradients(zip(each, variables), step)
        for each in replicas))
    one run of the op counts {steps} steps: each replica's gradient is applied by itself. Average
    the {replicas} first, then call `apply_gradients` once.
parts of a mean
    | tf.gradients(loss(batch, variables), => tf.gradients(loss(batch, variables) / len(devices),
    | return optimizer.apply_gradients(zip(means, variables, strict=True), global_step=step)
        => return tf.group(*(optimizer.apply_gradients(zip(each, variables), step if each is
        replicas[0] else None) for each in replicas))
    ? with a part of the mean
steps not counted
    | , global_step=step =>
    the weights change, but the step stays 0: nobody counts the updates. Hand it to
    `apply_gradients` as `global_step=step`.
a list
    | return => return means;
    it gave a list of {many}. Give the one op that `optimizer.apply_gradients` gives: a run of it is
    a step.
no op
    | return optimizer => optimizer
    it gave a {kind}. Give the op that makes the step.
one number
    | tf.add_n(each) / len(devices) => tf.reduce_mean(each)
    ? makes one number of them all
variables first
    | zip(means, variables, => zip(variables, means,
    ? a pair is (gradient, variable)
"""

EXERCISE = Exercise(
    number="08.1",
    title="One graph, one mean",
    size=Size(stars=2, minutes=15, points=3),
    function="in_graph_sync",
    asks=(
        "one op whose run computes each replica's gradients on its device, averages them on the "
        "server's, applies the mean once and counts one step."
    ),
    cases=cases,
    drive=in_graph_sync,
    claim=claim,
    mistakes=(
        raised(
            "not of the variable's shape",
            "Shapes must be equal",
            "a mean has not the shape of its variable. Add up one variable's gradients of all "
            "replicas, `zip(*replicas)`, element by element: `tf.add_n`, while "
            "`tf.reduce_mean` makes one number of them all.",
        ),
        raised(
            "pairs the other way round",
            "Trying to update a Tensor",
            "a pair is (gradient, variable), in this order: `apply_gradients(zip(means, "
            "variables), …)`.",
        ),
        Mistake("a replica is left out", _left_out),
        Mistake("several updates", _several_updates),
        Mistake("a replica is not on its device", facts.replica_misplaced),
        Mistake("averaged elsewhere", _elsewhere),
    ),
    numbers=numbers,
    compared=compared,
    praise=lambda cases, seen: (
        "Passed with 1, 2, 3 and 5 replicas: the weights are those of one big batch, each run one "
        f"step. With 3 replicas the graph has {len(seen[0].values[0]['nodes'])} ops."
    ),
    reference=reference,
    wrong=wrong_answers("08.1", WRONG, reference),
    ranked=False,
    framework="tensorflow",
)
