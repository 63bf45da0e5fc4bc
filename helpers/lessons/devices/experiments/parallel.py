"""Two ops on one device: whether they run at the same time is a matter of threads."""

from __future__ import annotations

from typing import Any

from helpers.lessons.devices.experiments.graphs import Seen, settings, watch

LENGTH, SIZE = 4, 700  # of a chain; of its square matrices


def two_chains(comm: Any, threads: int) -> Seen:
    """Two chains of products of matrices on "/CPU:0" that do not need each other.

    threads: that TensorFlow shares among ops. Each op computes on one. The ops are named a0, a1, …
    and b0, b1, …; the step before the one that is watched warms everything up.
    """
    import numpy as np
    import tensorflow as tf

    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph, tf.device("/CPU:0"):
        matrix = v1.placeholder(tf.float32, (SIZE, SIZE), name="matrix")
        ends = []
        for chain in "ab":
            product = matrix
            for number in range(LENGTH):
                product = tf.matmul(product, matrix, name=f"{chain}{number}")
            ends.append(product)
        both = tf.group(*ends)
    feed = {matrix: np.eye(SIZE, dtype=np.float32)}
    with v1.Session(graph=graph, config=settings(threads=threads)) as session:
        session.run(both, feed)
        return watch(session, both, feed)


def overlap(seen: Seen) -> float:
    """Seconds in which an op of chain a and one of chain b ran at the same time."""
    chains = {chain: [s for s in seen.spans if s.name.startswith(chain)] for chain in "ab"}
    return sum(
        max(0.0, min(a.end, b.end) - max(a.start, b.start))
        for a in chains["a"]
        for b in chains["b"]
    )


def threads_of_torch(comm: Any, workers: int) -> float:
    """The same two chains in torch, from one Python thread or from two; seconds from start to end.

    On a CPU torch runs an op in the thread that calls it, so nothing overlaps by itself.
    """
    import time
    from concurrent.futures import ThreadPoolExecutor

    import torch

    matrix = torch.eye(SIZE)

    def chain() -> None:
        product = matrix
        for _ in range(LENGTH):
            product = product @ matrix

    chain()
    begin = time.perf_counter()
    with ThreadPoolExecutor(workers) as pool:
        for _ in range(2):
            pool.submit(chain)
    return time.perf_counter() - begin
