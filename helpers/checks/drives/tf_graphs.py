"""Several clients of a cluster in one process: their graphs in one direct session.

A sandbox has no room for TensorFlow's servers. In one session, as on real servers, variables,
accumulators and queues with the same device, container and shared name are the same.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from helpers.checks.drives.tf_given import element_name, nodes_in


@dataclass(frozen=True)
class Together:
    """The clients' graphs in one. graph: a tf.Graph, for `Session(graph=…, config=settings(n))`."""

    graph: Any

    def of(self, client: int, item: Any) -> Any:
        """What an op, tensor or variable of a client's graph is here; its name will do.

        Lists give lists.
        """
        if isinstance(item, list | tuple):
            return [self.of(client, each) for each in item]
        name = item if isinstance(item, str) else element_name(item)
        return self.graph.as_graph_element(f"client_{client}/{name}")


def together(graphs: Sequence[Any], devices: Mapping[str, str]) -> Together:
    """Put the graphs of several clients into one that a direct session can run.

    graphs: a tf.Graph a client, or its definition. devices: what stands for each task, such as
    {"/job:ps/task:0": "/CPU:0", "/job:worker/task:0": "/CPU:1"}. An op without a device keeps
    none. Raises KeyError for an op on a task that is not among them.
    """
    import tensorflow as tf

    common = tf.Graph()
    for number, graph in enumerate(graphs):
        definition = tf.compat.v1.GraphDef()
        definition.CopyFrom(graph.as_graph_def() if isinstance(graph, tf.Graph) else graph)
        for node in nodes_in(definition):
            node.device = stands_for(node.device, devices)
        with common.as_default():
            tf.graph_util.import_graph_def(definition, name=f"client_{number}")
    return Together(common)


def stands_for(device: str, devices: Mapping[str, str]) -> str:
    """The device that stands for the task in a device's name; no task, no change."""
    task = task_of(device)
    if task and task not in devices:
        raise KeyError(f"An op lies on {device}, which is no task of this cluster.")
    return devices[task] if task else device


def task_of(device: str) -> str:
    """The task in a device's name: "/job:ps/replica:0/task:1/device:CPU:0" gives "/job:ps/task:1".

    It is "" where the name tells none, and task 0 where it tells a job alone.
    """
    parts = dict(part.split(":", 1) for part in device.strip("/").split("/") if ":" in part)
    return f"/job:{parts['job']}/task:{parts.get('task', '0')}" if "job" in parts else ""


def hook_parts(hook: Any, graph: Any) -> dict[str, Any]:
    """What the hook of a SyncReplicasOptimizer would run, as ops of its graph.

    "init": once, before the first step; "tokens": afterwards, or None; "sync": by the chief, over
    and over; "close": at the end. The last three are None for who is not the chief.
    """
    with graph.as_default():
        hook.begin()
    # TensorFlow complains of a tensor like this one that nobody ever looked at.
    hook._ready_for_local_init_op.mark_used()
    runner = hook._q_runner
    return {
        "init": hook._local_init_op,
        "tokens": hook._init_tokens_op,
        "sync": runner.enqueue_ops[0] if runner else None,
        "close": runner.cancel_op if runner else None,
    }
