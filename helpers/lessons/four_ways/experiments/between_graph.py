"""Between-graph training: every worker is a client, and the servers hold what they share."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from helpers.engine.tf_cluster import Task
from helpers.lessons.four_ways.experiments import model
from helpers.lessons.four_ways.experiments.record import Gradient, Noted, Setting, Told, descent

CONTAINER = "four_ways"


class Graph(NamedTuple):
    """What a worker's graph holds. made: what its builder gave, with the loss of its batch."""

    made: Any
    loss: Any
    variables: list[Any]


def describe(task: Task, setting: Setting, rows: model.Data) -> Graph:
    """One worker's part of training in the default graph."""
    late = setting.slow.get(task.index, 0.0)
    batch, loss = model.batch(rows, task.index, task.device, late), Noted()
    variables: list[Any] = []

    def make() -> list[Any]:
        variables[:] = model.variables(rows.weights)
        return list(variables)

    given = make, batch, loss, descent(setting.rate)
    if setting.way == "between-graph async":
        made = setting.builder(task, CONTAINER, *given)
        expect(setting, made, "version before", "update", "version after")
    else:
        made = setting.builder(task, *given, setting.workers - setting.spare, setting.workers)
        expect(setting, made, "update", "hook")
    return Graph(made, loss.made[-1][1], variables)


def client(task: Task, setting: Setting, rows: model.Data) -> Told:
    """One worker's own program; worker 0 sets up what lies on the servers."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        made, loss, variables = describe(task, setting, rows)
        if setting.way == "between-graph async":
            each: Asynchronous | Synchronous = Asynchronous(made, loss)
        else:
            each = Synchronous(made, loss, graph, setting.strict and not setting.spare)
        step = tf.compat.v1.train.get_global_step()
        meeting = Meeting(task)
    with task.session(graph) as session:
        meeting.gather(session, each)
        gradients = []
        while (gradient := each.step(session, task.index, setting.last)) is not None:
            gradients.append(gradient)
        each.end()
        meeting.leave(session)
        if not task.is_chief:
            return Told(gradients, None, 0)
        return Told(gradients, session.run(variables), int(session.run(step)))


def expect(setting: Setting, made: Any, *names: str) -> None:
    """Raise ValueError where a builder did not give so many things."""
    if not isinstance(made, list | tuple) or len(made) != len(names):
        raise ValueError(f"{setting.builder.__name__} gives ({', '.join(names)}), not {made!r}.")


class Meeting:
    """Workers wait for each other at the start, and worker 0 for all at the end.

    It is made last in a graph: what the graph holds by then, worker 0 initialises.
    """

    def __init__(self, task: Task) -> None:
        import tensorflow as tf

        v1 = tf.compat.v1
        self.task, self.workers = task, len(task.cluster["worker"])
        self.local = v1.local_variables_initializer()
        self.shared = v1.global_variables_initializer()
        with v1.device("/job:ps/task:0"):
            self.here = v1.get_variable("here", initializer=0, trainable=False)
            self.gone = v1.get_variable("gone", initializer=0, trainable=False)
        self.own = [self.gone.initializer, self.here.initializer]
        self.arrive, self.depart = (each.assign_add(1).op for each in (self.here, self.gone))
        self.missing = v1.report_uninitialized_variables(v1.global_variables())

    def gather(self, session: Any, each: Any) -> None:
        """Return when everything is set up and every worker is there."""
        session.run(self.local)
        if self.task.is_chief:
            session.run(self.shared)
            each.set_up(session)
            session.run(self.own)
        while len(session.run(self.missing)):
            time.sleep(0.005)
        if not self.task.is_chief:
            each.set_up(session)
        session.run(self.arrive)
        self._wait(session, self.here)

    def leave(self, session: Any) -> None:
        """Say that this worker is done; worker 0 returns when all are."""
        session.run(self.depart)
        if self.task.is_chief:
            self._wait(session, self.gone)

    def _wait(self, session: Any, count: Any) -> None:
        while session.run(count) < self.workers:
            time.sleep(0.002)


class Asynchronous:
    """A step of asynchronous training: (version before, update, version after)."""

    def __init__(self, made: Any, loss: Any) -> None:
        self.fetches = [*made, loss]
        self.version = 0

    def set_up(self, session: Any) -> None:
        """Nothing is needed but the variables."""

    def step(self, session: Any, worker: int, last: int) -> Gradient | None:
        """Make an update, unless enough are made."""
        if self.version >= last:
            return None
        start = time.perf_counter()
        before, _, now, loss = session.run(self.fetches)
        end, self.version = time.perf_counter(), int(now)
        stale = int(now - before) - 1
        return Gradient(worker, start, end, int(before), stale, float(loss))

    def end(self) -> None:
        """Nothing waits for anything."""


class Synchronous:
    """A step with SyncReplicasOptimizer: (update, hook); the update gives a token.

    The hook's work is done here by hand. A `MonitoredTrainingSession` would do it too, but lets a
    worker that comes too early sleep for 30 s, and at the end waits up to 2 minutes for the chief's
    thread, which itself waits for gradients that nobody sends any more.

    strict: no worker begins a step before all have taken their tokens of the last one. TensorFlow
    does not see to that. A quick worker may push its next gradient and take the token of one whose
    request is still on its way: then an update has two gradients of one worker, none of another.
    """

    def __init__(self, made: Any, loss: Any, graph: Any, strict: bool) -> None:
        import tensorflow as tf

        update, self.hook = made
        self.left = tokens_left(graph) if strict else None
        self.hook.begin()
        self.coordinator = tf.train.Coordinator()
        self.fetches = [update, arrivals(graph), loss]
        self.local = 0

    def set_up(self, session: Any) -> None:
        """The chief's accumulators, its thread and first tokens; each worker's local step."""
        self.hook.after_create_session(session, self.coordinator)

    def step(self, session: Any, worker: int, last: int) -> Gradient | None:
        """Push a gradient and take a token, unless this worker's token is of the last step."""
        import tensorflow as tf

        if self.local >= last:
            return None
        if self.left is not None:
            while session.run(self.left):
                time.sleep(0.0005)  # somebody has not taken the token of the last step yet
        start = time.perf_counter()
        try:
            token, seen, loss = session.run(self.fetches)
        except tf.errors.OutOfRangeError:  # the chief has closed the queue
            return None
        end, version, self.local = time.perf_counter(), self.local, int(token)
        stale = int(seen) - version
        return Gradient(worker, start, end, version, stale, float(loss), counted=stale <= 0)

    def end(self) -> None:
        """The chief closes the queue, so that nobody waits for a token that will not come."""
        self.coordinator.request_stop()


def tokens_left(graph: Any) -> Any:
    """How many tokens are in the queue."""
    import tensorflow as tf

    (queue,) = (op for op in graph.get_operations() if op.type == "FIFOQueueV2")
    return tf.raw_ops.QueueSizeV2(handle=queue.outputs[0])


def arrivals(graph: Any) -> Any:
    """The global step on the servers when this worker's gradients are about to be pushed.

    An accumulator drops a gradient whose local step is below its own, and tells nobody. Its own is
    never below the global step: a gradient that is late by this count has been dropped. One that
    arrives in the moment of an update may be dropped and not be seen.
    """
    import tensorflow as tf

    step = tf.compat.v1.train.get_global_step(graph)
    pushes = [op for op in graph.get_operations() if op.type.endswith("AccumulatorApplyGradient")]
    gradients = [push.inputs[2].op for push in pushes]
    with tf.control_dependencies(gradients):
        seen = step.read_value()
    for push in pushes:
        push._add_control_input(seen.op)
    return seen
