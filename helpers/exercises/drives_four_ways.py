"""Drivers for lesson 08: a learner's graphs, run in one process, a logical CPU for each task.

The model is a line through a few points, so that its updates can be followed by hand. A replica's
rows are a constant named "rows_of_0" and so on: what depends on it can be seen in the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.engines.tf_cluster import Task
from helpers.exercises.drives import Function, failed, wrong_signature
from helpers.exercises.drives_tf import settings
from helpers.exercises.drives_tf_graphs import task_of, together
from helpers.exercises.spec import Case, Observation

PATIENCE_MS = 3000
Rows = Sequence[tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Line:
    """The model: weights (3, 1) and a bias (1,), made wherever `make` is called.

    start: their values before training.
    """

    start: Sequence[np.ndarray]

    def make(self) -> list[Any]:
        """The variables."""
        from tensorflow.compat import v1

        pairs = zip(("weights", "bias"), self.start, strict=True)
        return [v1.get_variable(name, initializer=value) for name, value in pairs]

    def loss(self, batch: Any, variables: Any) -> Any:
        """Half the mean squared error of a batch."""
        import tensorflow as tf

        (rows, targets), (weights, bias) = batch, variables
        return tf.reduce_mean(tf.square(tf.matmul(rows, weights) + bias - targets)) / 2


def batch_of(replica: int, device: str, rows: np.ndarray, targets: np.ndarray) -> tuple[Any, Any]:
    """A replica's rows, on its device."""
    import tensorflow as tf

    with tf.device(device):
        return (
            tf.constant(rows, name=f"rows_of_{replica}"),
            tf.constant(targets, name=f"targets_of_{replica}"),
        )


def nodes_of(graph: Any) -> dict[str, Any]:
    """`{name: [kind of op, task, names of what it needs, container]}`; "^" marks what it only
    waits for."""
    found = {}
    for node in graph.as_graph_def().node:
        container = node.attr["container"].s.decode() if "container" in node.attr else ""
        found[node.name] = [node.op, task_of(node.device), list(node.input), container]
    return found


def kind_of(value: Any) -> Any:
    """What something in a graph is: "operation", "tensor", "variable", or its type's name."""
    import tensorflow as tf

    if isinstance(value, list | tuple):
        return [kind_of(each) for each in value]
    for kind, name in (
        (tf.Operation, "operation"),
        (tf.Tensor, "tensor"),
        (tf.Variable, "variable"),
    ):
        if isinstance(value, kind):
            return name
    return type(value).__name__


def runs_in(kind: Any) -> bool:
    """Whether a session can run it."""
    return kind in ("operation", "tensor", "variable")


def op_name(value: Any) -> str:
    """The name of the op that something in a graph is, or comes from."""
    value = getattr(value, "_as_graph_element", lambda: value)()
    return str(getattr(value, "op", value).name)


def cpus_for(servers: int, workers: int) -> dict[str, str]:
    """A CPU for each task: servers first."""
    tasks = [f"/job:ps/task:{i}" for i in range(servers)]
    tasks += [f"/job:worker/task:{i}" for i in range(workers)]
    return {task: f"/CPU:{number}" for number, task in enumerate(tasks)}


def guarded(fn: Function, work: Callable[[], Observation]) -> Observation:
    """What `work` gives; what it raises as an observation, TensorFlow's long texts cut short."""
    try:
        return work()
    except Exception as error:
        seen = failed(error, fn)
        seen.text = next(iter(seen.text.splitlines()), "")[:300]
        return seen


def in_graph_sync(fn: Function, case: Case) -> Observation:
    """`fn(devices, server, batches, loss, variables, step, optimizer)`, and runs of its op.

    As `in_graph`, where the op is the only one and every run is of number 0.
    """

    def build(devices: Any, server: str, batches: Any, line: Line, made: Any, rate: float) -> Any:
        from tensorflow.compat import v1

        variables, step = made
        optimizer = v1.train.GradientDescentOptimizer(rate)
        return fn(devices, server, batches, line.loss, variables, step, optimizer)

    return wrong_signature(fn, 7) or guarded(fn, lambda: _in_graph(build, case))


def in_graph_async(fn: Function, case: Case) -> Observation:
    """`fn(devices, batches, loss, variables, step, make_optimizer)`, and runs of its ops."""

    def build(devices: Any, server: str, batches: Any, line: Line, made: Any, rate: float) -> Any:
        from tensorflow.compat import v1

        make = lambda: v1.train.GradientDescentOptimizer(rate)  # noqa: E731
        return fn(devices, batches, line.loss, *made, make)

    return wrong_signature(fn, 6) or guarded(fn, lambda: _in_graph(build, case))


def _in_graph(build: Callable[..., Any], case: Case) -> Observation:
    """One client's graph. The case's arguments: rows, start, rate, and which op to run when.

    `values[0]` is `{"kinds": of what was returned, "ops": their names, "nodes", "runs"}`; a run is
    `{"op", "step", "weights"}`, the state after it.
    """
    import tensorflow as tf
    from tensorflow.compat import v1

    rows, start, rate, order = case.args[0]
    server, devices = "/job:ps/task:0", [f"/job:worker/task:{r}" for r in range(len(rows))]
    line = Line(start)
    with tf.Graph().as_default() as graph:
        with tf.device(server):
            variables, step = line.make(), v1.train.get_or_create_global_step()
            state = [*[each.read_value() for each in variables], step.read_value()]
        batches = [batch_of(r, devices[r], *rows[r]) for r in range(len(rows))]
        init = v1.global_variables_initializer()
        given = build(devices, server, batches, line, (variables, step), rate)
    ops = list(given) if isinstance(given, list | tuple) else [given]
    kinds = kind_of(given)
    seen: dict[str, Any] = {"kinds": kinds, "ops": [], "nodes": nodes_of(graph), "runs": []}
    if not all(runs_in(kind_of(op)) for op in ops):
        return Observation(values=[seen])
    seen["ops"] = [op_name(op) for op in ops]
    common = together([graph], cpus_for(1, len(rows)))
    with v1.Session(graph=common.graph, config=settings(1 + len(rows))) as session:
        session.run(common.of(0, init))
        for number in order:
            if number < len(ops):
                session.run(common.of(0, ops[number]))
                *weights, now = session.run(common.of(0, state))
                seen["runs"].append({"op": number, "step": int(now), "weights": weights})
    return Observation(values=[seen])


def between_async(fn: Function, case: Case) -> Observation:
    """`fn(task, container, make_variables, batch, loss, optimizer)` for each client, and runs.

    The case's arguments: servers, the container of each client, rows, start, rate, and which
    client runs when. `values[0]` is `{"clients": [{"kinds", "ops", "nodes", "made", "missing"}],
    "runs": [{"client", "before", "after", "step", "weights"}]}`. made: the names of the variables'
    ops. missing: how many variables were not there for a client that is not its job's first.
    """
    return wrong_signature(fn, 6) or guarded(fn, lambda: _between_async(fn, case))


def _between_async(fn: Function, case: Case) -> Observation:
    import tensorflow as tf
    from tensorflow.compat import v1

    servers, containers, rows, start, rate, order = case.args[0]
    clients, graphs, parts, seen = len(containers), [], [], list[dict[str, Any]]()
    for number in range(clients):
        task, made = _task(number, servers, clients), list[Any]()
        with tf.Graph().as_default() as graph:
            given = fn(
                task,
                containers[number],
                _recording(Line(start), made),
                batch_of(number, task.device, *rows[number]),
                Line(start).loss,
                v1.train.GradientDescentOptimizer(rate),
            )
            step = v1.train.get_global_step(graph)
            parts.append(_state(made, step))
        kinds, items = kind_of(given), given if isinstance(given, list | tuple) else [given]
        good = len(items) == 3 and all(map(runs_in, kinds if isinstance(kinds, list) else []))
        names = [op_name(item) for item in items] if good else []
        seen.append({"kinds": kinds, "ops": names, "nodes": nodes_of(graph), "missing": 0})
        seen[-1]["made"] = [op_name(each.handle) for each in made]
        seen[-1]["counter"] = None if step is None else op_name(step.handle)
        graphs.append(graph)
        parts[-1]["run"] = items
        if not good or not made or step is None:
            return Observation(values=[{"clients": seen, "runs": []}])
    common, runs = together(graphs, cpus_for(servers, clients)), list[dict[str, Any]]()
    with v1.Session(graph=common.graph, config=settings(servers + clients)) as session:
        for number, part in enumerate(parts):
            first = containers.index(containers[number]) == number
            absent = session.run(common.of(number, part["there"])).count(False)
            if first or absent:
                session.run(common.of(number, part["init_all"]))
            seen[number]["missing"] = 0 if first else absent
        for number in order:
            before, _, after = session.run(common.of(number, parts[number]["run"]))
            *weights, now = session.run(common.of(number, parts[number]["state"]))
            told = {"client": number, "before": _int(before), "after": _int(after)}
            runs.append({**told, "step": int(now), "weights": weights})
    return Observation(values=[{"clients": seen, "runs": runs}])


def between_sync(fn: Function, case: Case) -> Observation:
    """`fn(task, make_variables, batch, loss, optimizer, aggregate, total)` for each client.

    The case's arguments: servers, aggregate, rows, start, rate, and for each round the clients
    that make one step in it, all at once. `values[0]` is `{"clients": [{"kinds", "nodes", "made",
    "chief"}], "tokens": at the start, "rounds": [{"step", "tokens", "weights", "stuck"}]}`. Where
    clients are stuck after PATIENCE_MS no round follows.
    """
    from helpers.exercises.drives_four_ways_sync import drive

    return wrong_signature(fn, 7) or guarded(fn, lambda: drive(fn, case))


def _recording(line: Line, made: list[Any]) -> Callable[[], list[Any]]:
    def make_variables() -> list[Any]:
        made.extend(line.make())
        return list(made)

    return make_variables


def _task(number: int, servers: int, clients: int) -> Task:
    addresses = {"worker": ["here:0"] * clients, "ps": ["here:0"] * servers}
    return Task("worker", number, addresses)


def _state(made: Sequence[Any], step: Any) -> dict[str, Any]:
    """What the driver runs of a client's graph: initialisers, what has a value, the state."""
    import tensorflow as tf
    from tensorflow.compat import v1

    reads = []
    for each in [*made, *([] if step is None else [step])]:
        with v1.device(None), v1.colocate_with(each.handle.op, ignore_existing=True):
            reads.append(each.read_value())
    there = [tf.raw_ops.VarIsInitializedOp(resource=each.handle) for each in v1.global_variables()]
    return {
        "state": reads,
        "init_all": v1.global_variables_initializer(),
        "there": there,
    }


def _int(value: Any) -> int | None:
    number = np.asarray(value) if value is not None else np.asarray("")
    return int(number) if number.ndim == 0 and number.dtype.kind in "iuf" else None
