"""A graph as plain data: what each op is called, where it lies and what it takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from helpers.engine.tf_cluster import Task
from helpers.lessons.four_ways.experiments import model
from helpers.lessons.four_ways.experiments.record import Function, Noted, descent


class Op(NamedTuple):
    """One op. type: such as "MatMul". inputs: the ops whose tensors it takes; after: those that it
    only waits for."""

    name: str
    type: str
    device: str
    inputs: tuple[str, ...]
    after: tuple[str, ...]


def plain(graph: Any, fetches: Sequence[str] = ()) -> list[Op]:
    """The ops of a tf.Graph or a GraphDef, in its order.

    fetches: names of ops; where given, only what has to run for them.
    """
    definition = graph.as_graph_def() if hasattr(graph, "as_graph_def") else graph
    ops = {}
    for node in definition.node:
        inputs = dict.fromkeys(i.split(":")[0] for i in node.input if not i.startswith("^"))
        after = dict.fromkeys(i[1:] for i in node.input if i.startswith("^"))
        ops[node.name] = Op(node.name, node.op, node.device, tuple(inputs), tuple(after))
    needed, open_ = set(fetches), list(fetches)
    while open_:
        op = ops[open_.pop()]
        fresh = {*op.inputs, *op.after} - needed
        needed |= fresh
        open_ += fresh
    return [op for op in ops.values() if not fetches or op.name in needed]


def graphs_of(
    way: str, workers: int = 3, servers: int = 1, spare: int = 0, builder: Function | None = None
) -> list[list[Op]]:
    """The graphs that a way's clients would run, one a client. Nothing is trained, or started.

    builder: as `train_way` takes it.
    """
    from helpers.engine.run import run
    from helpers.lessons.four_ways.experiments.runs import WAYS, check, own

    check(way, workers, servers, 1, {}, spare)
    (found,) = run(
        _build,
        way,
        workers,
        servers,
        workers - spare,
        builder or own(WAYS[way]),
        ranks=1,
        framework="tensorflow",
        device="cpu",
    )
    return [[Op(*each) for each in ops] for ops in found]


def _build(
    comm: Any, way: str, workers: int, servers: int, aggregate: int, builder: Function
) -> list[list[Op]]:
    rows = model.data_of_nothing(workers)
    cluster = {
        "worker": [f"worker{index}:1" for index in range(workers)],
        "ps": [f"ps{index}:1" for index in range(servers)],
    }
    if way.startswith("in-graph"):
        return [_in_graph(way, Task("chief", 0, {**cluster, "chief": ["chief:1"]}), rows, builder)]
    tasks = [Task("worker", index, cluster) for index in range(workers)]
    return [_between(way, task, rows, aggregate, builder) for task in tasks]


def _in_graph(way: str, task: Task, rows: model.Data, builder: Function) -> list[Op]:
    import tensorflow as tf

    v1 = tf.compat.v1
    devices = [f"/job:worker/task:{index}" for index in range(rows.order.shape[1])]
    with tf.Graph().as_default() as graph:
        with v1.device(task.placement()):
            step, variables = v1.train.get_or_create_global_step(), model.variables(rows.weights)
        batches = [model.batch(rows, worker, device) for worker, device in enumerate(devices)]
        given = batches, Noted(), variables, step
        if way == "in-graph sync":
            made = [builder(devices, "/job:ps/task:0", *given, descent(0.5))]
        else:
            made = builder(devices, *given, lambda: descent(0.5))
    return plain(graph, _names(made))


def _between(way: str, task: Task, rows: model.Data, aggregate: int, builder: Function) -> list[Op]:
    import tensorflow as tf

    make: Callable[[], list[Any]] = lambda: model.variables(rows.weights)  # noqa: E731
    with tf.Graph().as_default() as graph:
        batch = model.batch(rows, task.index, task.device)
        if way == "between-graph async":
            made = list(builder(task, "four_ways", make, batch, Noted(), descent(0.5)))
        else:
            sizes = aggregate, len(task.cluster["worker"])
            update, hook = builder(task, make, batch, Noted(), descent(0.5), *sizes)
            hook.begin()
            made = [update, *(hook._q_runner.enqueue_ops if task.is_chief else [])]
    return plain(graph, _names(made))


def _names(made: Iterable[Any]) -> list[str]:
    return [getattr(each, "op", each).name for each in made]
