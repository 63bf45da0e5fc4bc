"""TensorFlow's own SyncReplicasOptimizer, moved by hand: one move at a time, none that blocks."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

PATIENCE = 20.0


class RealSyncReplicas:
    """The same moves as `SyncReplicas`, made by TensorFlow in one session.

    Each worker has an optimizer of its own over the same variables, as between-graph replicas
    have: accumulators and queue are shared by name, the local step is the worker's. The ops are
    those that the optimizer made, and its queue runner's for the chief; only the token is taken by
    an op of our own, because the optimizer's pushes in the same run.
    """

    def __init__(
        self,
        weights: Sequence[np.ndarray],
        rate: float,
        replicas_to_aggregate: int,
        total_num_replicas: int | None,
        num_tokens: int,
        global_step: int,
    ) -> None:
        import tensorflow as tf

        tf.get_logger().setLevel("CRITICAL")  # deprecated, and unused results of its own making
        v1 = tf.compat.v1
        graph = tf.Graph()
        with graph.as_default():
            self.step = tf.Variable(global_step, dtype=tf.int64, trainable=False)
            self.variables = [tf.Variable(w) for w in weights]
            count = replicas_to_aggregate if total_num_replicas is None else total_num_replicas
            self.workers = []
            for _ in range(count):
                inner = v1.train.GradientDescentOptimizer(rate)
                optimizer = v1.train.SyncReplicasOptimizer(
                    inner, replicas_to_aggregate, total_num_replicas
                )
                self.workers.append(Worker(v1, graph, optimizer, self.variables, self.step))
            chief = self.workers[0].optimizer
            start = chief.get_init_tokens_op(num_tokens)
            self.sync_op = chief.get_chief_queue_runner().enqueue_ops[0]
            self.accumulators = [accumulator for accumulator, _ in chief._accumulator_list]
            self.counts = [accumulator.num_accumulated() for accumulator in self.accumulators]
            self.queue = chief._sync_token_queue
            self.size, self.dequeue = self.queue.size(), self.queue.dequeue()
            variables = v1.global_variables_initializer()
        self.session = v1.Session(graph=graph)
        self.session.run(variables)
        self.session.run(chief.chief_init_op)
        for worker in range(count):
            self.join(worker)
        self.session.run(start)
        self.chief: threading.Thread | None = None

    def join(self, worker: int) -> None:
        self.session.run(self.workers[worker].optimizer.local_step_init_op)

    def pull(self) -> tuple[np.ndarray, ...]:
        return tuple(self.session.run(self.variables))

    def push_one(self, worker: int, variable: int, gradient: np.ndarray) -> None:
        it = self.workers[worker]
        self.session.run(it.pushes[variable], {it.gradients[variable]: gradient})

    def take_token(self, worker: int) -> int:
        return int(self.session.run(self.workers[worker].take))

    def push_and_take(self, worker: int, gradients: Sequence[np.ndarray]) -> int:
        """The optimizer's own train op, both moves in one."""
        it = self.workers[worker]
        feed = dict(zip(it.gradients, gradients, strict=True))
        return int(self.session.run(it.train_op, feed))

    def chief_starts(self) -> None:
        """Let the chief begin a step: it waits, in a thread, until every mean can be taken."""
        self.chief = threading.Thread(target=self._sync, daemon=True, name="chief")
        self.chief.start()

    def _sync(self) -> None:
        import tensorflow as tf

        # A chief that still waits at the end of a schedule is ended by `close`.
        with contextlib.suppress(tf.errors.CancelledError):
            self.session.run(self.sync_op)

    def chief_ends(self) -> None:
        assert self.chief is not None
        self.chief.join(PATIENCE)
        assert not self.chief.is_alive(), "the chief still waits, and ours has made its update"
        self.chief = None

    def state(self) -> dict[str, Any]:
        """What can be seen from outside: weights, counts, tokens, steps."""
        local = [worker.optimizer._local_step for worker in self.workers]
        fetched = self.session.run([self.variables, self.counts, self.size, self.step, local])
        return dict(zip(("weights", "counts", "tokens", "step", "local"), fetched, strict=True))

    def settled(self, wanted: dict[str, Any]) -> dict[str, Any]:
        """The state, once the waiting chief has done what the other has done, or time is up."""
        end = time.monotonic() + PATIENCE
        while not same(state := self.state(), wanted) and time.monotonic() < end:
            time.sleep(0.0005)
        return state

    def drain(self) -> list[int]:
        """Every token left, oldest first."""
        return [int(self.session.run(self.dequeue)) for _ in range(self.session.run(self.size))]

    def close(self) -> None:
        """End a chief that still waits, and the session."""
        self.session.close()
        if self.chief is not None:
            self.chief.join(PATIENCE)
            assert not self.chief.is_alive(), "the chief outlives its session"


class Worker:
    """One worker's ops."""

    def __init__(self, v1: Any, graph: Any, optimizer: Any, variables: Any, step: Any) -> None:
        self.optimizer = optimizer
        self.gradients = [v1.placeholder(v.dtype, v.shape) for v in variables]
        before = {op.name for op in graph.get_operations()}
        pairs = list(zip(self.gradients, variables, strict=True))
        self.train_op = optimizer.apply_gradients(pairs, global_step=step)
        made = [op for op in graph.get_operations() if op.name not in before]
        self.pushes = [op for op in made if op.type == "ResourceAccumulatorApplyGradient"]
        self.take = v1.assign(optimizer._local_step, optimizer._sync_token_queue.dequeue())


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Whether two states are equal, weights bit for bit."""
    weights = zip(one["weights"], other["weights"], strict=True)
    return all(a.tobytes() == b.tobytes() and a.dtype == b.dtype for a, b in weights) and all(
        one[key] == other[key] for key in one if key != "weights"
    )
