"""What lesson 08's drivers share: a learner's graphs in one process, a logical CPU for each task.

The model is a line through a few points, so that its updates can be followed by hand. A replica's
rows are a constant named "rows_of_0" and so on: what depends on it can be seen in the graph.
"""

import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy as np

from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.tf import settings
from helpers.checks.drives.tf_given import as_bytes, definition_of, element_name, flat, nodes_in
from helpers.checks.drives.tf_graphs import Together, task_of, together
from helpers.checks.spec import Case, Observation
from helpers.engine.tf_cluster import Task

SERVER, NAMES, STEP = "/job:ps/task:0", ("weights", "bias"), "global_step"
OPS = ("operation", "tensor", "variable")  # the kinds of what a session can run
ROWS = re.compile(r"rows_of_(\d+)(_\d+)?$")
Rows = Sequence[tuple[np.ndarray, np.ndarray]]
Nodes = dict[str, list[Any]]


def model(start: Sequence[np.ndarray]) -> tuple[Callable[[], list[Any]], Callable[..., Any]]:
    """The model: what makes its weights (3, 1) and its bias (1,), wherever it is called, and half
    the mean squared error of a batch. start: the variables' values before training."""
    import tensorflow as tf

    def make() -> list[Any]:
        pairs = zip(NAMES, start, strict=True)
        return [tf.compat.v1.get_variable(name, initializer=value) for name, value in pairs]

    def loss(batch: Any, variables: Any) -> Any:
        (rows, targets), (weights, bias) = batch, variables
        return tf.reduce_mean(tf.square(tf.matmul(rows, weights) + bias - targets)) / 2

    return make, loss


def builds(arguments: int) -> Callable[[Function], Function]:
    """Mark a driver's first part: it is given the learner's function, which takes so many
    arguments, and the case's, and gives what was built. TensorFlow's long texts are cut short."""

    def mark(work: Function) -> Function:
        @wraps(work)
        def build(fn: Function, case: Case) -> Observation:
            try:
                trouble = wrong_signature(fn, arguments)
                return trouble or Observation(values=[work(fn, *case.args[0])])
            except Exception as error:
                seen = failed(error, fn)
                seen.text = next(iter(seen.text.splitlines()), "")[:300]
                return seen

        return build

    return mark


def batch_of(replica: int, device: str, rows: np.ndarray, targets: np.ndarray) -> tuple[Any, Any]:
    """A replica's rows, on its device."""
    import tensorflow as tf

    with tf.device(device):
        return (
            tf.constant(rows, name=f"rows_of_{replica}"),
            tf.constant(targets, name=f"targets_of_{replica}"),
        )


def kind_of(value: Any) -> Any:
    """What something in a graph is: "operation", "tensor", "variable", or its type's name."""
    import tensorflow as tf

    if isinstance(value, list | tuple):
        return [kind_of(each) for each in value]
    kinds = zip(OPS, (tf.Operation, tf.Tensor, tf.Variable), strict=True)
    return next((name for name, kind in kinds if isinstance(value, kind)), type(value).__name__)


def opened(given: Any, rows: Rows) -> tuple[Any, Nodes]:
    """The graph of an array of bytes; and `{name: [kind of op, task, names of what it needs,
    container]}`, where "^" marks what an op only waits for.

    Raises ValueError where a constant that should be a replica's rows is another.
    """
    import tensorflow as tf

    definition = definition_of(given)
    for node in nodes_in(definition):
        found = ROWS.search(node.name) if node.op == "Const" else None
        if found and (
            int(found[1]) >= len(rows)
            or not np.array_equal(
                tf.make_ndarray(node.attr["value"].tensor), rows[int(found[1])][0]
            )
        ):
            raise ValueError(f"the constant {node.name!r} holds no rows of this case.")
    return definition, {
        node.name: [node.op, task_of(node.device), list(node.needs), node.container]
        for node in flat(definition)
    }


def cluster(definitions: Sequence[Any], servers: int, workers: int) -> tuple[Together, Any]:
    """Clients' graphs in one, on a CPU for each task, servers first; a session's settings."""
    tasks = [f"/job:ps/task:{i}" for i in range(servers)]
    tasks += [f"/job:worker/task:{i}" for i in range(workers)]
    places = {task: f"/CPU:{number}" for number, task in enumerate(tasks)}
    return together(definitions, places), settings(len(tasks))


def in_graph(build: Callable[..., Any], rows: Rows, start: Sequence[np.ndarray]) -> dict[str, Any]:
    """What `build(devices, batches, loss, variables, step)` gives, and the graph."""
    import tensorflow as tf
    from tensorflow.compat import v1

    devices = [f"/job:worker/task:{r}" for r in range(len(rows))]
    make, loss = model(start)
    with tf.Graph().as_default() as graph:
        with tf.device(SERVER):
            variables, step = make(), v1.train.get_or_create_global_step()
        batches = [batch_of(r, device, *rows[r]) for r, device in enumerate(devices)]
        given = build(devices, batches, loss, variables, step)
    ops = list(given) if isinstance(given, list | tuple) else [given]
    good = all(kind_of(op) in OPS for op in ops)
    names = list(map(element_name, ops)) if good else []
    return {"kinds": kind_of(given), "ops": names, "graph": as_bytes(graph)}


def looks_in_graph(case: Case, built: Any) -> Observation:
    """Run the ops that were given, in some order, and read the variables after each run.

    The case's arguments: rows, start, rate, and which op to run when. `values[0]` is `{"kinds": of
    what was returned, "ops": their names, "nodes", "runs"}`; a run is `{"step", "weights"}`, the
    state after it. The variables are set and read by ops that are made here.
    """
    import tensorflow as tf
    from tensorflow.compat import v1

    rows, start, _, order = case.args[0]
    definition, nodes = opened(built["graph"], rows)
    ops = [op.split(":")[0] for op in built["ops"]]
    runs = list[dict[str, Any]]()
    seen = Observation(values=[{"kinds": built["kinds"], "ops": ops, "nodes": nodes, "runs": runs}])
    if not ops:
        return seen
    common, config = cluster([definition], 1, len(rows))
    raw, init, state = tf.raw_ops, list[Any](), list[Any]()
    values = [*start, np.asarray(0, np.int64)]
    with common.graph.as_default(), tf.device("/CPU:0"):  # the server's
        for name, value in zip((*NAMES, STEP), values, strict=True):
            held = raw.VarHandleOp(dtype=value.dtype, shape=value.shape, shared_name=name)
            init.append(raw.AssignVariableOp(resource=held, value=tf.constant(value)))
            state.append(raw.ReadVariableOp(resource=held, dtype=value.dtype))
    with v1.Session(graph=common.graph, config=config) as session:
        session.run(init)
        for number in order:
            if number < len(ops):
                session.run(common.of(0, built["ops"][number]))
                *weights, now = session.run(state)
                runs.append({"step": int(now), "weights": weights})
    return seen


def task_for(number: int, servers: int, clients: int) -> Task:
    """What a client is told of the cluster and of its place there."""
    addresses = {"worker": ["here:0"] * clients, "ps": ["here:0"] * servers}
    return Task("worker", number, addresses)


def variables_in(definition: Any) -> list[str]:
    """The ops of all variables."""
    return [str(node.name) for node in definition.node if node.op == "VarHandleOp"]


def made_in(definition: Any) -> list[str]:
    """The ops of the model's variables, in their order."""
    there = sorted(variables_in(definition))
    return [name for each in NAMES for name in there if name.split("/")[-1] == each]


def counter_in(definition: Any) -> str | None:
    """The op of the global step."""
    there = variables_in(definition)
    return next((name for name in there if name.split("/")[-1] == STEP), None)


def state_of(common: Together, client: int, definition: Any) -> dict[str, Any]:
    """What is run of a client's variables: what initialises them, who has a value, the state.

    The state is read by ops that are made here: the model's variables, and the step where there is
    one. An optimizer's local step has its own initialiser.
    """
    names = {node.name for node in definition.node}
    shared = [
        name
        for name in variables_in(definition)
        if f"{name}/Assign" in names and not name.endswith("sync_rep_local_step")
    ]
    read = [*made_in(definition), *filter(None, [counter_in(definition)])]
    return {
        "state": [beside(common, client, name, "ReadVariableOp") for name in read],
        "init_all": [common.of(client, f"{name}/Assign") for name in shared],
        "there": [beside(common, client, name, "VarIsInitializedOp") for name in shared],
    }


def beside(common: Together, client: int, name: str, kind: str) -> Any:
    """What tells of a variable or of a queue: an op of this kind, made on its device."""
    import tensorflow as tf
    from tensorflow.compat import v1

    there = common.of(client, name)
    with common.graph.as_default(), v1.device(None), v1.colocate_with(there, ignore_existing=True):
        if kind == "QueueSizeV2":
            return tf.raw_ops.QueueSizeV2(handle=there.outputs[0])
        options = {"dtype": there.get_attr("dtype")} if kind == "ReadVariableOp" else {}
        return getattr(tf.raw_ops, kind)(resource=there.outputs[0], **options)
