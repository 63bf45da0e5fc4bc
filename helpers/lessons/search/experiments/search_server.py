"""One server of a TensorFlow cluster that search clients run on, from a command line or a rank."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from typing import Any

import click

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


@click.command("search_server.py")
@click.option(
    "--cluster", required=True, metavar="HOST:PORT,...", help="All servers, in their order."
)
@click.option("--task", default=0, show_default=True, help="Which of them this is.")
def main(cluster: str, task: int) -> None:
    """Be one server of a TensorFlow cluster, until interrupted or terminated."""
    addresses = cluster.split(",")
    if not 0 <= task < len(addresses):
        raise click.UsageError(f"The tasks are 0 to {len(addresses) - 1}, not {task}.")
    _server = serve(addresses, task)
    print(f"serving at {addresses[task]} as /job:{JOB}/task:{task}", flush=True)
    ends = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    signal.sigwait(ends)
