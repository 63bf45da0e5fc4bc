"""Drivers for lesson 01: a step in bytes, a graph that logs and assigns, a client that looks."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.drives import Function, failed, plain, wrong_signature
from helpers.exercises.drives_tf import settings
from helpers.exercises.spec import Case, Observation, Other

SIZE, PRODUCTS = 96, 6  # what a log does before it writes


def counts_a_step(fn: Function, case: Case) -> Observation:
    """Call `fn(widths, batch, slots)`; `values[0]` is {"given", "widths": as it left them}."""
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    widths, batch, slots = case.args[0]
    mine = list(widths)
    try:
        given = fn(mine, batch, slots)
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[plain({"given": given, "widths": mine})])


def logs_and_assigns(fn: Function, case: Case) -> Observation:
    """Build `fn(weight, value, log)` in a graph and run what it gives, once for each value.

    The case's arguments: the weight at the start and the values. `values[0]` is {"kind": what was
    given, "nodes": (name, kind of op, inputs) of the graph in the order in which they were made,
    "run": the name of the op that was given, "logs": the names of the ops that write,
    "log": what was written, "weight": after each run}.
    """
    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    import tensorflow as tf

    v1 = tf.compat.v1
    start, values = case.args[0]
    logs: list[Any] = []
    try:
        with tf.Graph().as_default() as graph:
            weight = v1.get_variable("weight", initializer=float(start), use_resource=True)
            value = v1.placeholder(tf.float32, (), name="value")
            matrix = v1.placeholder(tf.float32, (SIZE, SIZE), name="matrix")
            lines = v1.FIFOQueue(1000, tf.float32, shapes=[()], name="lines")

            def log(tensor: Any) -> Any:
                product = matrix
                for _ in range(PRODUCTS):
                    product = tf.matmul(product, matrix)
                logs.append(lines.enqueue(tf.convert_to_tensor(tensor) + 0.0 * product[0, 0]))
                return logs[-1]

            init = v1.global_variables_initializer()
            given = fn(weight, value, log)
            run = operation(given)
            seen = {"kind": type(given).__name__, **described(graph, run, logs)}
            if run is not None:
                drain = lines.dequeue_many(lines.size())
                seen |= _runs(graph, run, init, (weight, value, matrix, drain), values)
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[plain(seen)])


def operation(given: Any) -> Any:
    """What was given, as an op that can be run; None where it is none."""
    import tensorflow as tf

    if isinstance(given, tf.Operation):
        return given
    found = None if isinstance(given, list | tuple | dict) else getattr(given, "op", None)
    return found if isinstance(found, tf.Operation) else None


def described(graph: Any, run: Any, logs: list[Any]) -> dict[str, Any]:
    """The graph as text."""
    nodes = [
        [
            op.name,
            op.type,
            [tensor.op.name for tensor in op.inputs] + [each.name for each in op.control_inputs],
        ]
        for op in graph.get_operations()
    ]
    return {
        "nodes": nodes,
        "run": run.name if run is not None else "",
        "logs": [o.name for o in logs],
    }


def _runs(graph: Any, run: Any, init: Any, tensors: Any, values: Any) -> dict[str, Any]:
    """Run the op once for each value."""
    import tensorflow as tf

    weight, value, matrix, drain = tensors
    eye = np.eye(SIZE, dtype=np.float32)
    written: list[float] = []
    after: list[float] = []
    with tf.compat.v1.Session(graph=graph, config=settings(1)) as session:
        session.run(init)
        for each in values:
            session.run(run, {value: each, matrix: eye})
            after.append(float(session.run(weight)))
            written += [float(one) for one in session.run(drain)]
    return {"log": written, "weight": after}


def looks_for_a_model(fn: Function, case: Case) -> Observation:
    """Let other clients leave models behind, then build `fn(container, model)` as a new client.

    The case's arguments: the container, the model as {name: (shape, device)}, the names of the
    tasks, and what the others leave: a list of (container, {name: device}, {name: value}).
    `values[0]` is {"kind", "found": for each name its value or the kind of an error, "after": the
    values of the first model that was left, when all is over, "handles": (container, name,
    device) of each variable that the graph names, "shapes": for each name its shape, None for what
    is no variable}.
    """
    trouble = wrong_signature(fn, 2)
    if trouble:
        return trouble
    import tensorflow as tf

    container, model, tasks, left = case.args[0]
    try:
        graphs, inits, variables = [], [], []
        for other in left:
            graphs.append(tf.Graph())
            init, held = _leave(graphs[-1], *other)
            inits.append(init)
            variables.append(held)
        with tf.Graph().as_default() as graph:
            given = fn(container, dict(model))
        found = given if isinstance(given, dict) else {}
        seen: dict[str, Any] = {"kind": type(given).__name__, "handles": handles(graph)}
        seen["shapes"] = {str(name): _shape(each) for name, each in found.items()}
        seen |= _look([*graphs, graph], inits, variables, found, tasks)
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[plain(seen)])


def _shape(each: Any) -> list[int] | str | None:
    """A variable's shape, "unknown" where it has none; None for what is no variable."""
    import tensorflow as tf

    if not isinstance(each, tf.Variable):
        return None
    known = each.shape.is_fully_defined()
    return [int(size) for size in each.shape] if known else "unknown"


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


def handles(graph: Any) -> list[tuple[str, str, str]]:
    """The variables that a graph names: container, name and device."""
    found = []
    for node in graph.as_graph_def().node:
        if node.op in ("VarHandleOp", "VariableV2"):
            named = node.attr["shared_name"].s.decode() or node.name
            found.append((node.attr["container"].s.decode(), named, node.device))
    return found


def _look(
    graphs: list[Any], inits: list[Any], variables: list[Any], found: dict[Any, Any], tasks: Any
) -> dict[str, Any]:
    """Run them in one session, as if on the servers: the others first, then the new client."""
    import tensorflow as tf

    from helpers.exercises.drives_tf_graphs import together

    places = {task: f"/CPU:{number}" for number, task in enumerate(tasks)}
    common = together(graphs, places)
    seen: dict[str, Any] = {"found": {}}
    with tf.compat.v1.Session(graph=common.graph, config=settings(len(tasks))) as session:
        for client, init in enumerate(inits):
            session.run(common.of(client, init))
        for name, each in found.items():
            seen["found"][str(name)] = _value(session, common, len(graphs) - 1, each)
        first = variables[0]
        seen["after"] = {k: session.run(common.of(0, v)) for k, v in first.items()}
    return seen


def _value(session: Any, common: Any, client: int, each: Any) -> Any:
    """What a variable or tensor of the new client holds, or the kind of the error."""
    import tensorflow as tf

    try:
        return session.run(common.of(client, each))
    except tf.errors.OpError as error:
        return type(error).__name__
    except (TypeError, ValueError, KeyError):
        return Other(type(each).__name__)
