"""Drivers for lesson 08: a learner's graphs, run in one process, a logical CPU for each task.

The model is a line through a few points, so that its updates can be followed by hand. A replica's
rows are a constant named "rows_of_0" and so on: what depends on it can be seen in the graph.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from helpers.engines.tf_cluster import Task
from helpers.exercises.drives.calling import Function, failed
from helpers.exercises.drives.tf import settings
from helpers.exercises.drives.tf_given import (
    as_bytes,
    definition_of,
    element_name,
    flat,
    named,
    nodes_in,
)
from helpers.exercises.drives.tf_graphs import Together, task_of, together
from helpers.exercises.spec import Case, Observation

SERVER, NAMES, STEP = "/job:ps/task:0", ("weights", "bias"), "global_step"
ROWS = re.compile(r"rows_of_(\d+)(_\d+)?$")
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

        pairs = zip(NAMES, self.start, strict=True)
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


def nodes_of(definition: Any) -> dict[str, Any]:
    """`{name: [kind of op, task, names of what it needs, container]}`; "^" marks what it only
    waits for."""
    return {
        node.name: [node.op, task_of(node.device), list(node.needs), node.container]
        for node in flat(definition)
    }


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


def rows_are(definition: Any, rows: Rows) -> None:
    """Raises ValueError where a constant that should be a replica's rows is another."""
    import tensorflow as tf

    for node in nodes_in(definition):
        found = ROWS.search(node.name) if node.op == "Const" else None
        if found and (
            int(found[1]) >= len(rows)
            or not np.array_equal(
                tf.make_ndarray(node.attr["value"].tensor), rows[int(found[1])][0]
            )
        ):
            raise ValueError(f"the constant {node.name!r} holds no rows of this case.")


def builds_in_graph(build: Callable[..., Any], case: Case) -> Observation:
    """One client's graph. The case's arguments: rows, start and rate."""
    import tensorflow as tf
    from tensorflow.compat import v1

    rows, start, rate = case.args[0]
    devices = [f"/job:worker/task:{r}" for r in range(len(rows))]
    line = Line(start)
    with tf.Graph().as_default() as graph:
        with tf.device(SERVER):
            made = line.make(), v1.train.get_or_create_global_step()
        batches = [batch_of(r, devices[r], *rows[r]) for r in range(len(rows))]
        given = build(devices, SERVER, batches, line, made, rate)
    ops = list(given) if isinstance(given, list | tuple) else [given]
    good = all(runs_in(kind_of(op)) for op in ops)
    built = {"kinds": kind_of(given), "ops": list(map(element_name, ops)) if good else []}
    return Observation(values=[{**built, "graph": as_bytes(graph)}])


def looks_in_graph(case: Case, built: Any) -> Observation:
    """Run the ops that were given, in some order, and read the variables after each run.

    The case's arguments: rows, start, rate, and which op to run when. `values[0]` is `{"kinds": of
    what was returned, "ops": their names, "nodes", "runs"}`; a run is `{"op", "step", "weights"}`,
    the state after it. The variables are set and read by ops that are made here.
    """
    from tensorflow.compat import v1

    rows, start, _, order = case.args[0]
    definition = definition_of(built["graph"])
    rows_are(definition, rows)
    ops = [named(definition, op).name for op in built["ops"]]
    seen: dict[str, Any] = {"kinds": built["kinds"], "ops": ops, "nodes": nodes_of(definition)}
    seen["runs"] = []
    if not ops:
        return Observation(values=[seen])
    places = cpus_for(1, len(rows))
    common = together([definition], places)
    init, state = _server_state(common, places[SERVER], start)
    with v1.Session(graph=common.graph, config=settings(1 + len(rows))) as session:
        session.run(init)
        for number in order:
            if number < len(ops):
                session.run(common.of(0, built["ops"][number]))
                *weights, now = session.run(state)
                seen["runs"].append({"op": number, "step": int(now), "weights": weights})
    return Observation(values=[seen])


def _server_state(common: Together, device: str, start: Sequence[np.ndarray]) -> tuple[Any, Any]:
    """What sets and what reads the model's variables and the step on the server."""
    import tensorflow as tf

    raw, init, state = tf.raw_ops, list[Any](), list[Any]()
    values = [*start, np.asarray(0, np.int64)]
    with common.graph.as_default(), tf.device(device):
        for name, value in zip((*NAMES, STEP), values, strict=True):
            held = raw.VarHandleOp(dtype=value.dtype, shape=value.shape, shared_name=name)
            init.append(raw.AssignVariableOp(resource=held, value=tf.constant(value)))
            state.append(raw.ReadVariableOp(resource=held, dtype=value.dtype))
    return init, state


_MADE = re.compile(rf"(?:.*/)?({'|'.join(NAMES)})$")
_COUNTER = re.compile(rf"(?:.*/)?{STEP}$")
_LOCAL = "sync_rep_local_step"


def task_for(number: int, servers: int, clients: int) -> Task:
    """What a client is told of the cluster and of its place there."""
    addresses = {"worker": ["here:0"] * clients, "ps": ["here:0"] * servers}
    return Task("worker", number, addresses)


def made_in(definition: Any) -> list[str]:
    """The ops of the model's variables, in their order."""
    found = [(_MADE.match(node.name), node) for node in definition.node if node.op == "VarHandleOp"]
    mine = [(NAMES.index(match[1]), node.name) for match, node in found if match]
    return [name for _, name in sorted(mine)]


def counter_in(definition: Any) -> str | None:
    """The op of the global step."""
    nodes = (node for node in definition.node if node.op == "VarHandleOp")
    return next((str(node.name) for node in nodes if _COUNTER.match(node.name)), None)


def state_of(common: Together, client: int, definition: Any) -> dict[str, Any]:
    """What is run of a client's variables: what initialises them, who has a value, the state.

    The state is read by ops that are made here: the model's variables, and the step where there is
    one. An optimizer's local step has its own initialiser.
    """
    import tensorflow as tf
    from tensorflow.compat import v1

    raw, there, state = tf.raw_ops, list[Any](), list[Any]()
    names = {node.name for node in definition.node}
    handles = [node.name for node in definition.node if node.op == "VarHandleOp"]
    all_of_us = [
        each for each in handles if f"{each}/Assign" in names and not each.endswith(_LOCAL)
    ]
    counter = counter_in(definition)

    def on(name: str, make: Callable[[Any, Any], Any]) -> Any:
        op = common.of(client, name)
        with v1.device(None), v1.colocate_with(op, ignore_existing=True):
            return make(op.outputs[0], op.get_attr("dtype"))

    with common.graph.as_default():
        for name in all_of_us:
            there.append(on(name, lambda held, _: raw.VarIsInitializedOp(resource=held)))
        for name in [*made_in(definition), *([] if counter is None else [counter])]:
            state.append(on(name, lambda held, kind: raw.ReadVariableOp(resource=held, dtype=kind)))
    init_all = [common.of(client, f"{name}/Assign") for name in all_of_us]
    return {"state": state, "init_all": init_all, "there": there}
