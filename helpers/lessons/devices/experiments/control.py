"""Control dependencies: an op waits for another one whose value it does not need.

They save memory where an op with a large output would run long before it is needed, and they order
what has an effect outside of the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from helpers.lessons.devices.experiments.graphs import Seen, settings, watch

MIB = 2**20


def live_memory(comm: Any, chained: bool) -> Seen:
    """A chain of six steps each of which needs a tensor of 4 MiB that is made from nothing.

    Step i is sqrt(what came before + load i); loads are named load0, load1, … and steps use0, ….
    What comes before the first step takes some 50 ms of products of matrices.
    chained: whether load i waits, by a control dependency, for the step before it.
    """
    import numpy as np
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, tf.device("/CPU:0"):
        shape = v1.placeholder(tf.int32, (2,), name="shape")
        matrix = v1.placeholder(tf.float32, (512, 512), name="matrix")
        product = matrix
        for _ in range(20):
            product = tf.matmul(product, matrix)
        total = tf.fill(shape, product[0, 0], name="start")
        for number in range(6):
            with tf.control_dependencies([total] if chained else []):
                load = tf.fill(shape, float(number), name=f"load{number}")
            total = tf.sqrt(total + load, name=f"use{number}")
        result = tf.reduce_mean(total)
    feed = {shape: (4, MIB // 4), matrix: np.eye(512, dtype=np.float32)}
    with v1.Session(graph=graph, config=settings(threads=2)) as session:
        session.run(result, feed)
        return watch(session, result, feed)


def in_this_order(comm: Any, branches: Sequence[tuple[int, int]], order: Sequence[int]) -> int:
    """Run branches one after the other, by control dependencies; the peak of memory in MiB.

    branches: (work, result) in MiB: what a branch needs while it runs, its result included, and
    what it keeps until all have run. order: their numbers.
    """
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, tf.device("/CPU:0"):
        one = v1.placeholder(tf.int32, (), name="mebibyte")  # fed, so that nothing is a constant
        before: list[Any] = []
        results = []
        for number in order:
            work, result = branches[number]
            with tf.control_dependencies(before):
                large = tf.fill([(work - result) * one], 1.0, name=f"large{number}")
            with tf.control_dependencies([large]):
                kept = tf.fill([result * one], 2.0, name=f"kept{number}")
            with tf.control_dependencies([kept]):
                done = tf.add(large[0], kept[0], name=f"done{number}")
            before = [done]
            results.append(kept)
        with tf.control_dependencies(before):
            total = tf.add_n([tf.identity(kept)[0] for kept in results])
    with v1.Session(graph=graph, config=settings()) as session:
        feed = {one: MIB // 4}
        session.run(total, feed)
        return round(watch(session, total, feed).peak / MIB)


def logged(comm: Any, step: Callable[..., Any], values: Sequence[float]) -> dict[str, list[float]]:
    """Run `step(weight, value, log)` once for each value, with a log that is a file.

    `log(tensor)` is an op that writes the tensor's value to the file, after some work, as encoding
    and compressing would be. Returns {"log": what the file held after each run, −1 for nothing,
    "weight": the weight afterwards}.
    """
    import tempfile
    from pathlib import Path

    import numpy as np
    import tensorflow as tf

    v1 = tf.compat.v1
    found: dict[str, list[float]] = {"log": [], "weight": []}
    with tempfile.TemporaryDirectory() as folder, tf.Graph().as_default() as graph:
        path = Path(folder) / "log"
        value = v1.placeholder(tf.float32, (), name="value")
        matrix = v1.placeholder(tf.float32, (200, 200), name="matrix")
        weight = v1.get_variable("weight", initializer=1.0, use_resource=True)

        def log(tensor: Any) -> Any:
            product = matrix
            for _ in range(6):
                product = tf.matmul(product, matrix)
            line = tf.strings.as_string(tensor + 0.0 * product[0, 0])
            return tf.io.write_file(str(path), line)

        run = step(weight, value, log)
        init = v1.global_variables_initializer()
        with v1.Session(graph=graph, config=settings(threads=2)) as session:
            session.run(init)
            for each in values:
                path.unlink(missing_ok=True)
                session.run(run, {value: each, matrix: np.eye(200, dtype=np.float32)})
                text = path.read_text(encoding="ascii") if path.exists() else "-1"
                found["log"].append(float(text))
                found["weight"].append(float(session.run(weight)))
    return found
