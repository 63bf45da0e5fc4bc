"""In-graph training: one client with one graph, whose replicas run on the workers' devices."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from helpers.engine.tf_cluster import Task
from helpers.lessons.four_ways.experiments import model
from helpers.lessons.four_ways.experiments.record import Gradient, Noted, Setting, Told, descent


class Graph(NamedTuple):
    """What the client's graph holds. loss: what the replicas were given; it has noted theirs."""

    updates: list[Any]
    loss: Noted
    variables: list[Any]
    step: Any


def describe(task: Task, setting: Setting, rows: model.Data, watched: bool) -> Graph:
    """The whole of training in the default graph. watched: versions are read before weights."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with v1.device(task.placement()):
        step, variables = v1.train.get_or_create_global_step(), model.variables(rows.weights)
    devices = [f"/job:worker/task:{worker}" for worker in range(setting.workers)]
    batches = [
        model.batch(rows, worker, device, setting.slow.get(worker, 0.0))
        for worker, device in enumerate(devices)
    ]
    loss = Noted(step if watched else None)
    updates = build(setting, (devices, batches, loss, variables, step))
    return Graph(updates, loss, variables, step)


def client(task: Task, setting: Setting, rows: model.Data) -> Told:
    """The program of the one client. It starts training, watches it and takes the weights."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        updates, loss, variables, step = describe(task, setting, rows, watched=True)
        versions = after(updates, step)
        start = [v1.global_variables_initializer(), v1.local_variables_initializer()]
    with v1.Session(task.target, graph=graph) as session:
        session.run(start)
        if setting.way == "in-graph sync":
            gradients = together(session, setting, loss, updates[0], versions[0])
        else:
            assert setting.threads is not None  # `train_way` has seen to that
            watched = Watched(session, updates, versions, loss)
            with contextlib.suppress(SystemExit):  # `result` tells why
                setting.threads(watched, updates, step, setting.last)
            gradients = watched.result()
        return Told(gradients, session.run(variables), int(session.run(step)))


def build(setting: Setting, given: tuple[Any, ...]) -> list[Any]:
    """The ops that make updates: one, or one a replica. Raises ValueError for anything else."""
    devices, *rest = given
    if setting.way == "in-graph sync":
        updates = [setting.builder(devices, "/job:ps/task:0", *rest, descent(setting.rate))]
        asked, fits = "an op", updates[0] is not None
    else:
        updates = setting.builder(devices, *rest, lambda: descent(setting.rate))
        asked = "a list of an op for each replica"
        fits = isinstance(updates, list | tuple) and len(updates) == len(devices)
    if not fits:
        raise ValueError(f"{setting.builder.__name__} gives {asked}, not {updates!r}.")
    calls = len(given[2].made)
    if calls != len(devices):
        raise ValueError(f"{len(devices)} replicas need `loss` once each; it was called {calls}×.")
    return list(updates)


def after(updates: Sequence[Any], step: Any) -> list[Any]:
    """For each update, the version once it is made."""
    import tensorflow as tf

    versions = []
    for update in updates:
        with tf.control_dependencies([update]):
            versions.append(step.read_value())
    return versions


def together(
    session: Any, setting: Setting, loss: Noted, update: Any, version: Any
) -> list[Gradient]:
    """Run the synchronous update, each time with a gradient of every replica."""
    gradients = []
    for _ in range(setting.steps):
        start = time.perf_counter()
        _, now, seen = session.run([update, version, loss.made])
        end = time.perf_counter()
        for worker, (before, value) in enumerate(seen):
            stale = int(now - before) - 1
            gradients.append(Gradient(worker, start, end, int(before), stale, float(value)))
    return gradients


class Watched:
    """A session as the threads are given it: it notes every update, and an error in a thread."""

    def __init__(
        self, session: Any, updates: Sequence[Any], versions: Sequence[Any], loss: Noted
    ) -> None:
        self.session = session
        self.updates = {id(update): worker for worker, update in enumerate(updates)}
        self.fetches = list(zip(versions, loss.made, strict=True))
        self.lock = threading.Lock()
        self.gradients: list[Gradient] = []
        self.error: BaseException | None = None

    def run(self, fetch: Any, *args: Any, **options: Any) -> Any:
        """As a session's."""
        if self.error is not None:
            raise SystemExit  # ends the other threads without a word
        try:
            several = fetch if isinstance(fetch, list | tuple) else [fetch]
            worker = next((self.updates[id(f)] for f in several if id(f) in self.updates), None)
            if worker is None:
                return self.session.run(fetch, *args, **options)
            start, watched = time.perf_counter(), [fetch, *self.fetches[worker]]
            value, now, (before, loss) = self.session.run(watched, *args, **options)
        except BaseException as error:
            self.error = error
            raise SystemExit from None  # `result` raises it, in the client's own thread
        end, stale = time.perf_counter(), int(now - before) - 1
        with self.lock:
            self.gradients.append(Gradient(worker, start, end, int(before), stale, float(loss)))
        return value

    def result(self) -> list[Gradient]:
        """What the threads did; raises what went wrong in one of them."""
        if self.error is not None:
            raise self.error
        return self.gradients
