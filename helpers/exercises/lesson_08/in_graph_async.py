"""Exercise 08.2, in-graph asynchronous training.

`in_graph_async(devices, batches, loss, variables, step, make_optimizer) -> list of ops` to write.
The claim: one op a replica; a run of it changes the weights by that replica's gradient alone, at
the weights of that moment, counts one step, and needs nothing of the other replicas.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.algorithms.devices.four_ways import in_graph_async as reference
from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.drives_four_ways import in_graph_async
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import line
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


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
    return _needs_others(case, seen) or facts.replica_misplaced(case, seen)


def _run(case: Case, number: int) -> str:
    order = case.facts["order"][: number + 1]
    return f"after {'a run' if not number else 'runs'} of op {listing(order)}"


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
                "and not with its own: take `zip(devices, batches)`."
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
    amiss = [look(case, seen) for look in (_needs_others, facts.replica_misplaced)]
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


def _each(
    given: Callable[[Any, Any, Any, Any], Any],
    on: Callable[[Any], Any] = lambda devices: devices,
    of: Callable[[Any], Any] = lambda batches: batches,
    in_order: bool = False,
) -> Callable[..., Any]:
    """A list of what is `given` for each replica: of the optimizer, the loss, variables and step.

    on, of: other devices and batches. in_order: a loss waits for the one before.
    """

    def in_graph_async(
        devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
    ) -> Any:
        import tensorflow as tf

        found, losses = list[Any](), list[Any]()
        for device, batch in zip(on(devices), of(batches), strict=True):
            with tf.device(device), tf.control_dependencies(losses if in_order else []):
                losses.append(loss(batch, variables))
                found.append(given(make_optimizer(), losses[-1], variables, step))
        return found

    return in_graph_async


def _update(by: Any, loss: Any, variables: Any, step: Any) -> Any:
    return by.minimize(loss, step, var_list=variables)


_chained = _each(_update, in_order=True)
_first_batch = _each(_update, of=lambda batches: [batches[0]] * len(batches))
_one_device = _each(_update, on=lambda devices: [devices[0]] * len(devices))
_no_step = _each(lambda by, loss, variables, step: by.minimize(loss, var_list=variables))
_losses = _each(lambda by, loss, variables, step: loss)
_gradients = _each(lambda by, loss, variables, step: by.compute_gradients(loss, variables))
_for_variables = _each(lambda by, loss, variables, step: by.minimize(loss, variables, step))


def _divides(devices: Any, batches: Any, loss: Any, *others: Any) -> Any:
    def part(batch: Any, variables: Any) -> Any:
        return loss(batch, variables) / len(devices)

    return reference(devices, batches, part, *others)


def _one_op(*given: Any) -> Any:
    import tensorflow as tf

    return tf.group(*reference(*given))


def _last_only(*given: Any) -> Any:
    return reference(*given)[-1:]


def _mean_in_each(
    devices: Any, batches: Any, loss: Any, variables: Any, step: Any, make_optimizer: Any
) -> Any:
    import tensorflow as tf

    replicas = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            replicas.append(tf.gradients(loss(batch, variables), variables))
    means = [tf.add_n(each) / len(devices) for each in zip(*replicas, strict=True)]
    return [
        make_optimizer().apply_gradients(list(zip(means, variables, strict=True)), step)
        for _ in devices
    ]


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
    wrong=(
        WrongAnswer(
            "one op for all",
            _one_op,
            "it gave one op for all: then one `session.run` makes all updates, and the quickest "
            "waits for the slowest. Give a list of {replicas}, one a replica.",
        ),
        WrongAnswer("the mean in each", _mean_in_each, hint="that is synchronous"),
        WrongAnswer("one after the other", _chained, hint="No control dependency"),
        WrongAnswer(
            "divided by the replicas",
            _divides,
            "the update is one part in {replicas} of what it should be. Nothing is averaged here: "
            "each gradient is an update of its own, undivided.",
        ),
        WrongAnswer("the first batch for all", _first_batch, hint="and not with its own"),
        WrongAnswer("all on one device", _one_device, hint="and should on `/job:worker/task:1`"),
        WrongAnswer(
            "steps not counted",
            _no_step,
            "the weights change, but the step stays 0. Hand it to `minimize` as `global_step`: "
            "without it nobody can say how stale a gradient is.",
        ),
        WrongAnswer("one op alone", _last_only, "it gave {gave}. Give {ops}, one a replica."),
        WrongAnswer("no ops", _gradients, "the list holds {kinds}: give what `minimize` gives."),
        WrongAnswer(
            "loss", _losses, "a run of op {first} changes no weight: collect what `minimize` gives."
        ),
        WrongAnswer("step for variables", _for_variables, hint="go by name"),
    ),
    ranked=False,
    framework="tensorflow",
)
