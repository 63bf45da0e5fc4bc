"""Variables on servers: used from another process, left there by a client, found by the next one.

For `run_cluster`: the functions run on a cluster's clients, each in a process of its own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from helpers.lessons.devices.experiments.graphs import Seen, as_written, watch

# The model: where each variable lies.
MODEL: dict[str, tuple[tuple[int, ...], str]] = {
    "weights": ((2,), "/job:ps/task:0"),
    "bias": ((), "/job:ps/task:1"),
}
CONTAINER = "spring"


def use_from_afar(task: Any, at_home: bool) -> tuple[Seen, dict[str, int]]:
    """A variable of 64 KiB on server 0 and the mean of its squares, for this worker.

    at_home: whether the mean is computed on the server, beside the variable. Returns what the step
    showed and the bytes of each tensor that went from one task to another.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        with tf.device("/job:ps/task:0"):
            table = v1.get_variable(
                "table", (16_384,), initializer=v1.ones_initializer(), use_resource=True
            )
        with tf.device("/job:ps/task:0" if at_home else task.device):
            mean = tf.reduce_mean(tf.square(table, name="square"), name="mean")
        with tf.device(task.device):
            value = tf.sqrt(mean, name="root")
        init = v1.global_variables_initializer()
    with v1.Session(task.target, graph=graph, config=as_written(v1.ConfigProto())) as session:
        session.run(init)
        seen = watch(session, value)
    sizes = {}
    for name, _, _ in seen.transfers():
        sent = graph.get_operation_by_name(name).outputs[0]
        sizes[name] = sent.shape.num_elements() * sent.dtype.size
    return seen, sizes


def lose_and_find(task: Any, folder: str, steps: int, find: Callable[..., Any]) -> dict[str, Any]:
    """Worker 0 trains and closes its session; worker 1, which knows names alone, looks for it.

    folder: that both can see. find: `find_model(container, model)` of exercise 01.5. Returns, for
    worker 0, {"loss"}; for worker 1, {"elsewhere": what it finds in another container, "found",
    "files": of the checkpoint, "saved": what they hold, "cleared": what it finds once the container
    has been emptied}.
    """
    told = Path(folder) / "client 0 has gone"
    if task.index == 0:
        loss = train_and_leave(task, steps)
        told.touch()
        return {"loss": loss}
    while not told.exists():
        time.sleep(0.01)
    return look_for_it(task, folder, find)


def train_and_leave(task: Any, steps: int) -> float:
    """Fit y = x₁ + 2 x₂ + 1 with variables in a container on the servers; the loss at the end."""
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        with v1.container(CONTAINER):
            variables = {}
            for name, (shape, device) in MODEL.items():
                with tf.device(device):
                    variables[name] = v1.get_variable(
                        name, shape, initializer=v1.zeros_initializer(), use_resource=True
                    )
        with tf.device(task.device):
            inputs = tf.constant([[1.0, 2.0], [3.0, 4.0], [0.0, 1.0]])
            targets = tf.constant([6.0, 12.0, 3.0])
            said = tf.linalg.matvec(inputs, variables["weights"]) + variables["bias"]
            loss = tf.reduce_mean(tf.square(said - targets))
            step = v1.train.GradientDescentOptimizer(0.05).minimize(loss)
        init = v1.global_variables_initializer()
    with task.session(graph) as session:
        session.run(init)
        for _ in range(steps):
            session.run(step)
        return float(session.run(loss))


def look_for_it(task: Any, folder: str, find: Callable[..., Any]) -> dict[str, Any]:
    """A new client: it looks in another container, in the right one, saves, and empties it."""
    import tensorflow as tf

    v1 = tf.compat.v1
    found: dict[str, Any] = {"elsewhere": attempt(task, find, "autumn")}
    with tf.Graph().as_default() as graph:
        variables = find(CONTAINER, MODEL)
        with tf.device(task.device):  # files are written where this op runs
            saver = v1.train.Saver(variables)
    with task.session(graph) as session:
        found["found"] = {k: v.tolist() for k, v in session.run(variables).items()}
        path = saver.save(session, f"{folder}/model", write_meta_graph=False, write_state=False)
    found["files"] = sorted(file.name for file in Path(folder).glob("model*"))
    saved = tf.train.load_checkpoint(path)
    found["saved"] = {name: saved.get_tensor(name).tolist() for name in variables}
    v1.Session.reset(task.target, [CONTAINER])
    found["cleared"] = attempt(task, find, CONTAINER)
    return found


def attempt(task: Any, find: Callable[..., Any], container: str) -> Any:
    """What is found in a container, or the kind of the error."""
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        variables = find(container, MODEL)
    with task.session(graph) as session:
        try:
            return {name: value.tolist() for name, value in session.run(variables).items()}
        except tf.errors.OpError as error:
            return type(error).__name__
