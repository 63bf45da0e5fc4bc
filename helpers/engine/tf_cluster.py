"""A TensorFlow cluster on this machine: real servers and workers, each a process, from a cell.

`run_cluster` forks the processes as `helpers.run` does, starts a `tf.distribute.Server` in each
and runs a function on those that are clients. Every process is ended from here when the run ends,
however it ends, so that a worker that waits for ever for a token hangs nothing.

TensorFlow's servers answer anyone who can reach their port: do not run them where others can.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from helpers.engine.comm import Comm
from helpers.engine.errors import RunError
from helpers.engine.trace import Results

_MOST = 32


@dataclass(frozen=True)
class Task:
    """One process of the cluster, as the function that runs on it sees it.

    kind: "worker", "ps" (a server of parameters) or "chief" (a coordinator). index: among its
    kind. cluster: the addresses of all tasks, by kind.
    """

    kind: str
    index: int
    cluster: dict[str, list[str]]

    @cached_property
    def server(self) -> Any:
        """This task's `tf.distribute.Server`.

        Those of workers and of servers run from the start. A coordinator's starts where it is
        first asked for, because a ParameterServerStrategy starts one of its own.
        """
        import tensorflow as tf

        # Threads that wait, as for a slow step, must not keep others from running.
        threads = 2 + sum(len(addresses) for addresses in self.cluster.values())
        config = tf.compat.v1.ConfigProto(
            intra_op_parallelism_threads=1, inter_op_parallelism_threads=threads
        )
        spec = tf.train.ClusterSpec(self.cluster)
        return tf.distribute.Server(spec, job_name=self.kind, task_index=self.index, config=config)

    @property
    def target(self) -> str:
        """What a `tf.compat.v1.Session` connects to, to run on this task."""
        return str(self.server.target)

    @property
    def device(self) -> str:
        """This task's name as a device, such as "/job:worker/task:1"."""
        return f"/job:{self.kind}/task:{self.index}"

    @property
    def is_chief(self) -> bool:
        """Whether this is the coordinator, or worker 0 where there is none."""
        return self.kind == "chief" or ("chief" not in self.cluster and self.index == 0)

    def placement(self) -> Any:
        """Variables to the servers in turn, all else to this task: for `with tf.device(...)`
        of a graph (`tf.compat.v1.device`)."""
        import tensorflow as tf

        return tf.compat.v1.train.replica_device_setter(
            worker_device=self.device, cluster=tf.train.ClusterSpec(self.cluster)
        )

    def session(self, graph: Any = None) -> Any:
        """A `tf.compat.v1.Session` on this task that sees the servers and itself.

        It does not see the other workers, and so neither waits for them nor fails with them.
        """
        import tensorflow as tf

        config = tf.compat.v1.ConfigProto(device_filters=["/job:ps", self.device])
        return tf.compat.v1.Session(self.target, graph=graph, config=config)


def run_cluster(
    fn: Callable[..., Any],
    *args: Any,
    servers: int = 1,
    workers: int = 2,
    coordinator: bool = False,
    timeout: float = 60.0,
    show: bool = True,
) -> Results:
    """Run `fn(task, *args)` on the clients of a new cluster; returns their values in order.

    servers: tasks that hold parameters ("ps"). workers: tasks that compute. The clients are the
    workers, each with a program of its own (between-graph); with coordinator=True the only client
    is one more task, "chief", and the workers do what it sends them (in-graph, and
    ParameterServerStrategy).
    timeout, show: as in `helpers.run`; `.output` holds what each task printed, clients first.
    TensorFlow's own chatter is left out, and shown where a task fails.

    Raises what `helpers.run` raises, where rank r is client r, and the tasks that only serve come
    after the clients.

    Example: `run_cluster(lambda task: task.device, workers=2)` gives
    `["/job:worker/task:0", "/job:worker/task:1"]`.
    """
    from helpers.engine.run import run

    check(servers, workers)
    tasks = [("chief", 0)] if coordinator else []
    tasks += [("worker", index) for index in range(workers)]
    tasks += [("ps", index) for index in range(servers)]
    clients = 1 if coordinator else workers
    try:
        results = run(
            be_task,
            tasks,
            clients,
            fn,
            args,
            ranks=len(tasks),
            framework="tensorflow",
            timeout=timeout,
            device="cpu",
            show=show,
            names=[f"{kind} {index}" for kind, index in tasks],
        )
    except RunError as error:
        error.report = by_task(error.report, tasks)
        error.args = (error.report,)
        raise
    results[clients:] = []
    return results


def check(servers: int, workers: int) -> None:
    """Raise ValueError for a cluster that cannot be."""
    if workers < 1 or servers < 0 or workers + servers > _MOST:
        raise ValueError(
            f"A cluster of {workers} workers and {servers} servers is not possible here: it has "
            f"1 worker or more, and at most {_MOST} tasks."
        )


def by_task(report: str, tasks: Sequence[tuple[str, int]]) -> str:
    """The report of a run that went wrong, with the tasks' names beside the ranks'."""

    def named(match: re.Match[str]) -> str:
        kind, index = tasks[int(match[2])]
        return f"{match[0]} (/job:{kind}/task:{index})"

    report = report.replace("helpers.run(", "run_cluster(")
    # What a rank did last was to agree on ports, which is nobody's concern here.
    report = re.sub(r" \(after: (?:send|receive|come)[^)]*\)", "", report)
    return re.sub(r"(?m)(^|on |of )[Rr]ank (\d+)(?: of \d+)?(?=[ :])(?! \()", named, report)


def be_task(
    comm: Comm,
    tasks: list[tuple[str, int]],
    clients: int,
    fn: Callable[..., Any],
    args: tuple[Any, ...],
) -> Any:
    """What each process does: start its server, and run the function if it is a client.

    One that only serves returns at once; its process stays until the run ends.
    """
    kind, index = tasks[comm.rank]
    # So far all are workers to each other: there is an address for every process.
    addresses = json.loads(os.environ["TF_CONFIG"])["cluster"]["worker"]
    cluster: dict[str, list[str]] = {}
    for (name, _), address in zip(tasks, addresses, strict=True):
        cluster.setdefault(name, []).append(address)
    mine = {"type": kind, "index": index}
    os.environ["TF_CONFIG"] = json.dumps({"cluster": cluster, "task": mine})
    task = Task(kind, index, cluster)
    if kind != "chief":
        _ = task.server
    return fn(task, *args) if comm.rank < clients else None
