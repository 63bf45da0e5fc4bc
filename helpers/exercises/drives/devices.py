"""Drivers for lesson 01: a step in bytes, a graph that logs and assigns, a client that looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.compare import Other, agree
from helpers.exercises.drives.built import Built
from helpers.exercises.drives.calling import Function, failed, wrong_signature
from helpers.exercises.drives.tf import settings
from helpers.exercises.drives.tf_given import (
    as_bytes,
    definition_of,
    flat,
    named,
    nodes_in,
    shared_name,
)
from helpers.exercises.drives.tf_graphs import Together, together
from helpers.exercises.drives.values import Remote, plain
from helpers.exercises.spec import Case, Observation

SIZE, PRODUCTS = 96, 6  # what a log does before it writes
LINES = 1000
VARIABLES = ("VarHandleOp", "VariableV2")


def counts_a_step(fn: Function, case: Case) -> Observation:
    """Call `fn(widths, batch, slots)`; `values[0]` is {"given", "widths": as it left them}."""
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    widths, batch, slots = case.args[0]
    mine = list(widths)
    try:
        given = plain(fn(mine, batch, slots))
        if isinstance(fn, Remote) and not agree(given, plain(fn(mine, batch, slots))):
            mine = []  # what has become of the list shows in the second call alone
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[plain({"given": given, "widths": mine})])


def _builds_a_log(fn: Function, case: Case) -> Observation:
    """Build `fn(weight, value, log)` in a graph: that graph, and the name of the op that was given.

    The case's argument is the weight at the start.
    """
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    import tensorflow as tf

    v1, start = tf.compat.v1, float(case.args[0][0])
    try:
        with tf.Graph().as_default() as graph:
            weight = v1.get_variable("weight", initializer=start, use_resource=True)
            value = v1.placeholder(tf.float32, (), name="value")
            matrix = v1.placeholder(tf.float32, (SIZE, SIZE), name="matrix")
            lines = v1.FIFOQueue(LINES, tf.float32, shapes=[()], shared_name="lines", name="lines")

            def log(tensor: Any) -> Any:
                product = matrix
                for _ in range(PRODUCTS):
                    product = tf.matmul(product, matrix)
                return lines.enqueue(tf.convert_to_tensor(tensor) + 0.0 * product[0, 0])

            given = fn(weight, value, log)
        run = operation(given)
    except Exception as error:
        return failed(error, fn)
    name = run.name if run is not None else ""
    built = {"kind": type(given).__name__, "run": name, "graph": as_bytes(graph)}
    return Observation(values=[built])


def _looks_at_the_log(case: Case, built: Any) -> Observation:
    """Run what was built, once for each value.

    The case's arguments: the weight at the start and the values. `values[0]` is {"kind": what was
    given, "nodes": (name, kind of op, inputs) of the graph in the order in which they were made,
    "run": the name of the op that was given, "logs": the names of the ops that write,
    "log": what was written, "weight": after each run}.
    """
    definition = definition_of(built["graph"])
    seen = {"kind": str(built["kind"]), "run": "", **described(definition)}
    if run := str(built["run"]):
        seen["run"] = named(definition, run).name
        seen |= _runs(definition, seen["run"], *case.args[0])
    return Observation(values=[plain(seen)])


logs_and_assigns = Built(_builds_a_log, _looks_at_the_log, told=1)


def operation(given: Any) -> Any:
    """What was given, as an op that can be run; None where it is none."""
    import tensorflow as tf

    if isinstance(given, tf.Operation):
        return given
    found = None if isinstance(given, list | tuple | dict) else getattr(given, "op", None)
    return found if isinstance(found, tf.Operation) else None


def described(definition: Any) -> dict[str, Any]:
    """The graph as text, and which of its ops write into the queue of the log."""
    nodes = flat(definition)
    queues = {
        each.name
        for each in nodes_in(definition)
        if each.op == "FIFOQueueV2" and shared_name(each) == "lines"
    }
    plainly = [[n.name, n.op, [each.lstrip("^") for each in n.needs]] for n in nodes]
    writes = [n for n in nodes if n.op in ("QueueEnqueueV2", "QueueEnqueueManyV2")]
    logs = [n.name for n in writes if not queues.isdisjoint(n.needs)]
    return {"nodes": plainly, "logs": logs}


def _runs(definition: Any, run: str, start: float, values: Any) -> dict[str, Any]:
    """Run the op once for each value; the weight and the log are looked at by ops made here."""
    import tensorflow as tf

    raw, v1 = tf.raw_ops, tf.compat.v1
    eye = np.eye(SIZE, dtype=np.float32)
    written: list[float] = []
    after: list[float] = []
    with tf.Graph().as_default() as graph:
        tf.graph_util.import_graph_def(definition, name="built")
        weight = raw.VarHandleOp(dtype=tf.float32, shape=(), shared_name="weight")
        lines = v1.FIFOQueue(LINES, tf.float32, shapes=[()], shared_name="lines")
        init = raw.AssignVariableOp(resource=weight, value=tf.constant(start, tf.float32))
        read = raw.ReadVariableOp(resource=weight, dtype=tf.float32)
        drain = lines.dequeue_many(lines.size())
    value, matrix = (
        f"built/{named(definition, name, 'Placeholder').name}:0" for name in ("value", "matrix")
    )
    with v1.Session(graph=graph, config=settings(1)) as session:
        session.run(init)
        for each in values:
            session.run(f"built/{run}", {value: each, matrix: eye})
            after.append(float(session.run(read)))
            written += [float(one) for one in session.run(drain)]
    return {"log": written, "weight": after}


def _builds_a_search(fn: Function, case: Case) -> Observation:
    """Build `fn(container, model)` as a new client: its graph, and what of it was given.

    The case's arguments: the container, and the model as {name: (shape, device)}. It is asked twice
    with one model, and the second graph counts: who uses the model up has nothing to find then.
    """
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    import tensorflow as tf

    container, model = case.args[0]
    mine = dict(model)
    try:
        for _ in range(2):
            with tf.Graph().as_default() as graph:
                given = fn(container, mine)
        found = given if isinstance(given, dict) else {}
        parts = {str(name): _part(each) for name, each in found.items()}
    except Exception as error:
        return failed(error, fn)
    built = {"kind": type(given).__name__, "found": parts, "graph": as_bytes(graph)}
    return Observation(values=[{**built, "changed": mine != dict(model)}])


def _part(each: Any) -> list[str]:
    """What something of a graph is, and its name: a variable's is that of its op."""
    import tensorflow as tf

    if isinstance(each, tf.Variable):
        return ["variable", str(getattr(each, "handle", each).op.name)]
    if isinstance(each, tf.Tensor | tf.Operation):
        return ["element", str(each.name)]
    return ["other", type(each).__name__]


def _looks_for_the_model(case: Case, built: Any) -> Observation:
    """Let other clients leave models behind, and then the new one look.

    The case's arguments: the container, the model, the names of the tasks, and what the others
    leave: a list of (container, {name: device}, {name: value}). `values[0]` is {"kind", "changed":
    whether the dictionary of the model was, "found": for each name its value or the kind of an
    error, "after": the values of the first model that was left, when all is over, "handles":
    (container, name, device) of each variable that the graph names, "shapes": for each name its
    shape, None for what is no variable}.
    """
    import tensorflow as tf

    _, _, tasks, left = case.args[0]
    definition = definition_of(built["graph"])
    found = {str(name): (str(kind), str(of)) for name, (kind, of) in built["found"].items()}
    seen: dict[str, Any] = {"kind": str(built["kind"]), "handles": handles(definition)}
    seen["changed"] = bool(built["changed"])
    seen["shapes"] = {name: _shape(definition, *each) for name, each in found.items()}
    graphs, inits, variables = [], [], []
    for other in left:
        graphs.append(tf.Graph())
        init, held = _leave(graphs[-1], *other)
        inits.append(init)
        variables.append(held)
    seen |= _look([*graphs, definition], inits, variables, found, tasks)
    return Observation(values=[plain(seen)])


looks_for_a_model = Built(_builds_a_search, _looks_for_the_model, told=2)


def _shape(definition: Any, kind: str, name: str) -> list[int] | str | None:
    """A variable's shape, "unknown" where it has none; None for what is no variable."""
    if kind != "variable":
        return None
    shape = named(definition, name, *VARIABLES).attr["shape"].shape
    known = not shape.unknown_rank and all(size.size >= 0 for size in shape.dim)
    return [int(size.size) for size in shape.dim] if known else "unknown"


def _leave(graph: Any, container: str, devices: dict[str, str], values: dict[str, Any]) -> Any:
    """One client's model: the op that gives it its values, and its variables."""
    import tensorflow as tf

    v1 = tf.compat.v1
    held: dict[str, Any] = {}
    with graph.as_default(), v1.container(container):
        for name, device in devices.items():
            with tf.device(device):
                initial = np.asarray(values[name], np.float32)
                held[name] = v1.get_variable(name, initializer=initial, use_resource=True)
        return tf.group(*[variable.initializer for variable in held.values()]), held


def handles(definition: Any) -> list[tuple[str, str, str]]:
    """The variables that a graph names: container, name and device."""
    return [
        (node.attr["container"].s.decode(), shared_name(node), node.device)
        for node in definition.node
        if node.op in VARIABLES
    ]


def _look(
    graphs: list[Any],
    inits: list[Any],
    variables: list[Any],
    found: dict[str, tuple[str, str]],
    tasks: Any,
) -> dict[str, Any]:
    """Run them in one session, as if on the servers: the others first, then the new client."""
    import tensorflow as tf

    places = {task: f"/CPU:{number}" for number, task in enumerate(tasks)}
    common = together(graphs, places)
    new = len(graphs) - 1
    asked = {name: _value_of(common, new, *each) for name, each in found.items()}
    seen: dict[str, Any] = {"found": {}}
    with tf.compat.v1.Session(graph=common.graph, config=settings(len(tasks))) as session:
        for client, init in enumerate(inits):
            session.run(common.of(client, init))
        for name, each in asked.items():
            seen["found"][name] = _value(session, each)
        first = variables[0]
        seen["after"] = {k: session.run(common.of(0, v)) for k, v in first.items()}
    return seen


def _value_of(common: Together, client: int, kind: str, name: str) -> Any:
    """What to ask for: a variable is read by an op that is made here."""
    import tensorflow as tf

    if kind == "other":
        return Other(name)
    there = common.of(client, name)
    if kind == "variable" and there.type == "VarHandleOp":
        with common.graph.as_default(), tf.compat.v1.colocate_with(there):
            read = tf.raw_ops.ReadVariableOp
            return read(resource=there.outputs[0], dtype=there.get_attr("dtype"))
    return there.outputs[0] if kind == "variable" else there


def _value(session: Any, each: Any) -> Any:
    """What a variable or tensor of the new client holds, or the kind of the error."""
    import tensorflow as tf

    try:
        return each if isinstance(each, Other) else session.run(each)
    except tf.errors.OpError as error:
        return type(error).__name__
