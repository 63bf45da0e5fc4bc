"""One server of a TensorFlow cluster that search clients run on, from a command line or a rank."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import Any

from helpers.lessons.search.experiments.search_client import CannotTrain, tensorflow

JOB = "worker"


def serve(addresses: Sequence[str], task: int) -> Any:
    """Start the server of a task; it runs for as long as this process does.

    addresses: host:port of each task. Devices are named /job:worker/task:0/device:CPU:0 and so on.
    Raises CannotTrain where the address cannot be had.
    """
    tf = tensorflow()
    spec = tf.train.ClusterSpec({JOB: list(addresses)})
    # One thread a product of matrices, so that sums come out alike; enough of them for all clients.
    config = tf.compat.v1.ConfigProto(
        intra_op_parallelism_threads=1, inter_op_parallelism_threads=16
    )
    try:
        return tf.distribute.Server(spec, job_name=JOB, task_index=task, config=config)
    except tf.errors.OpError as error:
        raise CannotTrain(
            f"A server cannot be had at {addresses[task]}: is the port taken, or the name another "
            f"machine's? ({str(error.message).splitlines()[0]})"
        ) from None


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted or terminated. Returns the exit code."""
    made = argparse.ArgumentParser(
        prog="search_server.py", description="Be one server of a TensorFlow cluster."
    )
    made.add_argument(
        "--cluster", required=True, metavar="HOST:PORT,...", help="all servers, in order"
    )
    made.add_argument("--task", type=int, default=0, help="which of them this is (0)")
    given = made.parse_args(arguments)
    addresses = given.cluster.split(",")
    if not 0 <= given.task < len(addresses):
        made.error(f"the tasks are 0 to {len(addresses) - 1}, not {given.task}")
    try:
        _server = serve(addresses, given.task)
    except CannotTrain as why:
        print(f"search_server.py: {why}", file=sys.stderr, flush=True)
        return 1
    print(f"serving at {addresses[given.task]} as /job:{JOB}/task:{given.task}", flush=True)
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    signal.sigwait(ends)
    return 0
