"""Exercise 08.1, in-graph synchronous training.

`in_graph_sync(devices, server, batches, loss, variables, step, optimizer) -> op` to write. The
claim: one run of the op changes the weights as one big batch would, and counts one step; each
replica's products of matrices lie on its device, and what brings replicas together on the server.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

from helpers.algorithms.devices.four_ways import in_graph_sync as reference
from helpers.exercises.common import fails_with, rng
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.drives_four_ways import in_graph_sync
from helpers.exercises.lesson_08 import graph_facts as facts
from helpers.exercises.lesson_08 import line
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

RUNS = 3


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 replicas; one world of 3 or 4 where the seed is hidden."""
    random = rng(seed, "08.1")
    made = []
    for replicas in (3, 1, 2, 5) if not seed else (int(random.integers(3, 5)),):
        rows, start, rate = line.world(random, replicas)
        want = [line.synchronous(rows, start, rate)]
        while len(want) < RUNS:
            want.append(line.synchronous(rows, want[-1], rate))
        name, args = f"With {count(replicas, 'replica')}", (rows, start, rate, [0] * RUNS)
        made.append(Case(name, (args,), facts={"replicas": replicas, "want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """One op; the weights of a big batch; one step a run; everything in its place."""
    got = seen.values[0]
    if got["kinds"] not in facts.OPS:
        return f"{case.name}, it gave {describe(got['kinds'])}, not one op."
    if len(got["runs"]) != RUNS:
        return f"{case.name}, the op cannot be run."
    for number, (run, want) in enumerate(zip(got["runs"], case.facts["want"], strict=True), 1):
        if not line.same(run["weights"], want):
            return f"{case.name}, after run {number} the weights are not those of a big batch."
        if run["step"] != number:
            said = f"{case.name}, after {count(number, 'run')} the step is {run['step']}"
            return f"{said}: one `apply_gradients` counts it, with all pairs."
    looks = (_several_updates, facts.replica_misplaced, _elsewhere)
    return next(filter(None, (look(case, seen) for look in looks)), None)


def _several_updates(case: Case, seen: Observation) -> str | None:
    """More than one update of the weights and one of the bias in a run that counts one step."""
    nodes, (op,) = seen.values[0]["nodes"], seen.values[0]["ops"]
    many = sum("Apply" in nodes[name][0] for name in facts.needs(nodes, op)) // 2
    if many < 2:
        return None
    return (
        f"{case.name}, one run updates each variable {many} times, with a part of the mean each "
        "time: a replica may read weights that an earlier part has changed. Average first, then "
        "call `apply_gradients` once."
    )


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


def _elsewhere(case: Case, seen: Observation) -> str | None:
    for kind, where in facts.mixed(seen.values[0]["nodes"]):
        if where != "/job:ps/task:0":
            return (
                f"{case.name}, `{kind}`, which brings the replicas' gradients together, lies "
                f"{facts.on_device(where)}. Average on the server's device, where the variables "
                "are."
            )
    return None


_shapes = fails_with(
    "Shapes must be equal",
    "a mean has not the shape of its variable. Add up one variable's gradients of all replicas, "
    "`zip(*replicas)`, element by element: `tf.add_n`, while `tf.reduce_mean` makes one number of "
    "them all.",
)
_pairs = fails_with(
    "Trying to update a Tensor",
    "a pair is (gradient, variable), in this order: `apply_gradients(zip(means, variables), …)`.",
)


def compared(case: Case, seen: Observation) -> Any:
    """What runs of the op do, and what of the graph is amiss; not by which ops it does so."""
    got = seen.values[0]
    if got["kinds"] not in facts.OPS:
        return "a list" if isinstance(got["kinds"], list) else "no op"
    runs = [
        # What several updates in one run come to depends on which is first.
        [run["step"], run["weights"] if run["step"] <= number else None]
        for number, run in enumerate(got["runs"], 1)
    ]
    looks = (_left_out, facts.replica_misplaced, _elsewhere)
    return [runs, *(look(case, seen) for look in looks)]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    kinds, runs = seen.values[0]["kinds"], seen.values[0]["runs"]
    return {
        "replicas": case.facts["replicas"],
        "kind": describe(kinds),
        "many": len(kinds),
        "steps": runs[0]["step"] if runs else None,
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    nodes = seen[0].values[0]["nodes"]
    return (
        f"Passed with 1, 2, 3 and 5 replicas: the weights are those of one big batch, each run one "
        f"step. With 3 replicas the graph has {len(nodes)} ops."
    )


def _replicas(devices: Any, batches: Any, loss: Any, variables: Any) -> list[Any]:
    """Each replica's gradients, on its device."""
    import tensorflow as tf

    found = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            found.append(tf.gradients(loss(batch, variables), variables))
    return found


def _mean(found: Any, share: float | None = None) -> list[Any]:
    """Of each variable, the gradients' sum times `share`, which is one part of them all."""
    import tensorflow as tf

    share = 1 / len(found) if share is None else share
    return [tf.add_n(each) * share for each in zip(*found, strict=True)]


def _one_number_each(found: Any) -> list[Any]:
    import tensorflow as tf

    return [tf.reduce_mean(each) for each in zip(*found, strict=True)]


def _pairwise(found: Any) -> list[Any]:
    return [reduce(lambda one, other: (one + other) / 2, each) for each in zip(*found, strict=True)]


def _changed(
    on: Callable[[Any], Any] = lambda devices: devices,
    of: Callable[[Any], Any] = lambda batches: batches,
    mean: Callable[[Any], list[Any]] = _mean,
    at: Callable[[Any, str], Any] = lambda devices, server: server,
    pairs: Callable[[Any, Any], Any] = lambda means, variables: zip(means, variables, strict=True),
    apply: Callable[[Any, Any, Any], Any] = lambda by, both, step: by.apply_gradients(both, step),
) -> Callable[..., Any]:
    """The reference with other devices, batches, means, a place for them, pairs, or another end."""

    def in_graph_sync(
        devices: Any, server: Any, batches: Any, loss: Any, variables: Any, step: Any, by: Any
    ) -> Any:
        import tensorflow as tf

        found = _replicas(on(devices), of(batches), loss, variables)
        with tf.device(at(devices, server)):
            return apply(by, list(pairs(mean(found), variables)), step)

    return in_graph_sync


_sums = _changed(mean=lambda found: _mean(found, 1.0))
_by_pairs = _changed(mean=_pairwise)
_nowhere = _changed(on=lambda devices: [None] * len(devices))
_one_device = _changed(on=lambda devices: [devices[0]] * len(devices))
_first_batch = _changed(of=lambda batches: [batches[0]] * len(batches))
_last_gradient = _changed(mean=lambda found: found[-1])
_on_a_worker = _changed(at=lambda devices, server: devices[-1])
_one_number = _changed(mean=_one_number_each)
_variables_first = _changed(pairs=lambda means, variables: zip(variables, means, strict=True))
_no_step = _changed(apply=lambda by, both, step: by.apply_gradients(both))
_gives_means = _changed(apply=lambda by, both, step: [mean for mean, _ in both])
_gives_nothing = _changed(apply=lambda by, both, step: by.apply_gradients(both, step) and None)


def _gradients_outside(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    import tensorflow as tf

    losses = []
    for device, batch in zip(devices, batches, strict=True):
        with tf.device(device):
            losses.append(loss(batch, variables))
    pairs = [optimizer.compute_gradients(each, variables) for each in losses]
    found = [[gradient for gradient, _ in each] for each in pairs]
    with tf.device(server):
        return optimizer.apply_gradients(list(zip(_mean(found), variables, strict=True)), step)


def _applies_each(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    import tensorflow as tf

    found = _replicas(devices, batches, loss, variables)
    return tf.group(
        *(optimizer.apply_gradients(list(zip(g, variables, strict=True)), step) for g in found)
    )


def _applies_parts(
    devices: Any, server: str, batches: Any, loss: Any, variables: Any, step: Any, optimizer: Any
) -> Any:
    import tensorflow as tf

    found, updates = _replicas(devices, batches, loss, variables), list[Any]()
    with tf.device(server):
        for each in found:
            pairs = [(g / len(found), v) for g, v in zip(each, variables, strict=True)]
            updates.append(optimizer.apply_gradients(pairs, None if updates else step))
        return tf.group(*updates)


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
        Mistake("a replica is left out", _left_out),
        Mistake("several updates", _several_updates),
        Mistake("a replica is not on its device", facts.replica_misplaced),
        Mistake("averaged elsewhere", _elsewhere),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "a sum",
            _sums,
            "the update is {replicas} times too long: the gradients were summed. Divide by the "
            "number of replicas, {replicas}.",
        ),
        WrongAnswer(
            "pair by pair",
            _by_pairs,
            "the gradients were averaged pair by pair, (a + b)/2 and then with the next: so the "
            "last one counts 1/2 and the others less, where each of {replicas} should count "
            "1/{replicas}. Sum them all, then divide once.",
        ),
        WrongAnswer("no devices", _nowhere, hint="computes on no device"),
        WrongAnswer("all on one device", _one_device, hint="and should on `/job:worker/task:1`"),
        WrongAnswer("gradients outside", _gradients_outside, hint="but its gradient lies"),
        WrongAnswer("the first batch for all", _first_batch, hint="nobody computes with the rows"),
        WrongAnswer("the last gradient", _last_gradient, hint="but no update needs them"),
        WrongAnswer("averages on a worker", _on_a_worker, hint="brings the replicas' gradients"),
        WrongAnswer(
            "each gradient applied by itself",
            _applies_each,
            "one run of the op counts {steps} steps: each replica's gradient is applied by itself. "
            "Average the {replicas} first, then call `apply_gradients` once.",
        ),
        WrongAnswer("parts of a mean", _applies_parts, hint="with a part of the mean"),
        WrongAnswer(
            "steps not counted",
            _no_step,
            "the weights change, but the step stays 0: nobody counts the updates. Hand it to "
            "`apply_gradients` as `global_step=step`.",
        ),
        WrongAnswer(
            "a list",
            _gives_means,
            "it gave a list of {many}. Give the one op that `optimizer.apply_gradients` gives: a "
            "run of it is a step.",
        ),
        WrongAnswer("no op", _gives_nothing, "it gave a {kind}. Give the op that makes the step."),
        WrongAnswer("one number", _one_number, hint="makes one number of them all"),
        WrongAnswer("variables first", _variables_first, hint="a pair is (gradient, variable)"),
    ),
    ranked=False,
    framework="tensorflow",
)
