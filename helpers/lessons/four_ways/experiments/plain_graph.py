"""A graph as plain data: what each op is called, where it lies and what it takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from helpers.engine.run import run
from helpers.engine.tf_cluster import Task
from helpers.lessons.four_ways.experiments import between_graph, in_graph, model
from helpers.lessons.four_ways.experiments.record import Function, Setting
from helpers.lessons.four_ways.experiments.runs import builder_of


class Op(NamedTuple):
    """One op. type: such as "MatMul". inputs: the ops whose tensors it takes; after: those that it
    only waits for."""

    name: str
    type: str
    device: str
    inputs: tuple[str, ...]
    after: tuple[str, ...]


def plain(graph: Any, fetches: Sequence[str]) -> list[Op]:
    """The ops of a tf.Graph that have to run for the ops of these names, in its order."""
    ops = {}
    for node in graph.as_graph_def().node:
        inputs = dict.fromkeys(i.split(":")[0] for i in node.input if not i.startswith("^"))
        after = dict.fromkeys(i[1:] for i in node.input if i.startswith("^"))
        ops[node.name] = Op(node.name, node.op, node.device, tuple(inputs), tuple(after))
    needed, open_ = set(fetches), list(fetches)
    while open_:
        op = ops[open_.pop()]
        fresh = {*op.inputs, *op.after} - needed
        needed |= fresh
        open_ += fresh
    return [op for op in ops.values() if op.name in needed]


def graphs_of(
    way: str, workers: int = 3, servers: int = 1, builder: Function | None = None
) -> list[list[Op]]:
    """The graphs that a way's clients would run, one a client. Nothing is trained, or started.

    builder: as `train_way` takes it.
    """
    setting = Setting(way, workers, servers, builder_of(way, builder))
    (found,) = run(_build, setting, ranks=1, framework="tensorflow", device="cpu")
    return [[Op(*each) for each in ops] for ops in found]


def _build(comm: Any, setting: Setting) -> list[list[Op]]:
    rows = model.data_of_nothing(setting.workers)
    cluster = {
        "worker": [f"worker{index}:1" for index in range(setting.workers)],
        "ps": [f"ps{index}:1" for index in range(setting.servers)],
    }
    if setting.way.startswith("in-graph"):
        return [_ops(Task("chief", 0, {**cluster, "chief": ["chief:1"]}), setting, rows)]
    return [_ops(Task("worker", n, cluster), setting, rows) for n in range(setting.workers)]


def _ops(task: Task, setting: Setting, rows: model.Data) -> list[Op]:
    """What a client's graph has to run for its updates, and the chief's for its own part."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        if setting.way.startswith("in-graph"):
            made = in_graph.describe(task, setting, rows, watched=False).updates
        else:
            made = between_graph.describe(task, setting, rows).made
        if setting.way == "between-graph sync":
            update, hook = made
            hook.begin()
            made = [update, *(hook._q_runner.enqueue_ops if task.is_chief else [])]
    return plain(graph, [getattr(each, "op", each).name for each in made])
