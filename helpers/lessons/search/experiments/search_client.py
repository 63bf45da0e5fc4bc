"""A client that trains one network on a TensorFlow server, with options for all that may differ.

Many such clients search together: each is a process of its own, with a server, a device and
hyperparameters from its command line. Their variables live on the servers, by name; so that clients
of one server do not write into each other's, each puts its own into a resource container.
Source: Géron, "Hands-On Machine Learning", chapter 12, exercise 8.
"""

from __future__ import annotations

import json
import math
import os
import socket
import time
from types import SimpleNamespace
from typing import Any

import click

ABOVE_ZERO = click.FloatRange(min=0, min_open=True)
ACTIVATIONS = click.Choice(["relu", "tanh", "sigmoid"])


class CannotTrain(click.ClickException):
    """What stops a client, as a sentence."""


@click.command("search_client.py", context_settings={"show_default": True})
@click.option("--server", required=True, metavar="HOST:PORT", help="The server to run on.")
@click.option("--device", default="", help="Such as /job:worker/task:0/device:CPU:0.")
@click.option("--container", default="", help="Where variables live; without, what all share.")
@click.option("--timeout", type=ABOVE_ZERO, default=20.0, help="Seconds for an answer.")
@click.option("--rate", type=ABOVE_ZERO, default=0.1, help="Learning rate.")
@click.option("--momentum", type=float, default=0.9, help="Of SGD.")
@click.option("--decay", type=float, default=1e-4, help="Weight decay.")
@click.option("--width", type=click.IntRange(1), default=32, help="Of the hidden layer.")
@click.option("--activation", type=ACTIVATIONS, default="relu", help="Of the hidden layer.")
@click.option("--steps", type=click.IntRange(1), default=100, help="Batches of 32 rows.")
@click.option("--seed", type=int, default=0, help="Of the rows' split.")
@click.option("--trial", type=int, default=0, help="Of first weights and batches.")
def main(**options: Any) -> None:
    """Train one network on a TensorFlow server, and print its result as a line of JSON.

    What cannot be is told as a sentence, with exit code 1 (2 for a wrong option).
    """
    given = SimpleNamespace(**options)
    begin = time.monotonic()
    reached(given.server, given.timeout)
    tf = tensorflow()
    from helpers.lessons.search.experiments.search_graph import Graph

    try:
        graph = Graph(given)
        with connected(tf, graph, given) as session:
            try:
                found = trained(session, graph, given)
            except tf.errors.OpError as error:
                if alone(tf, session, graph):
                    raise
                raise CannotTrain(
                    f"Other clients have used {named(given.container)} at the same time, and one "
                    "has changed or removed this one's variables. Give each client a container of "
                    f"its own. ({last_line(error)})"
                ) from None
    except ValueError as error:  # such as a device's name
        raise CannotTrain(str(error)) from None
    except tf.errors.OpError as error:
        kind = type(error).__name__
        raise CannotTrain(f"The server ended the training: {kind}: {last_line(error)}") from None
    seconds = round(time.monotonic() - begin, 3)
    print(json.dumps(options | found | {"seconds": seconds}), flush=True)


def reached(server: str, seconds: float) -> None:
    """Wait until something answers at the server's address."""
    host, _, port = server.rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise CannotTrain(f"--server is HOST:PORT, such as 127.0.0.1:2222, not {server}.")
    deadline = time.monotonic() + seconds
    while True:
        try:
            return socket.create_connection((host, int(port)), timeout=seconds).close()
        except OSError as error:
            if isinstance(error, socket.gaierror) or time.monotonic() > deadline:
                raise CannotTrain(
                    f"Nothing answered at {server} within {seconds:g} s ({error}). Is the server "
                    "started, and is this its address?"
                ) from None
            time.sleep(0.1)


def tensorflow() -> Any:
    """TensorFlow without its chatter, or a sentence where it is not installed."""
    os.environ.pop("TF_CONFIG", None)  # it tells of another job
    try:
        from helpers.notebook.quiet import tensorflow as tf
    except ImportError:
        raise CannotTrain(
            "TensorFlow is not installed in this Python, and a client needs it: `./course doctor` "
            "says what this machine lacks."
        ) from None
    tf.get_logger().setLevel("ERROR")
    return tf


def connected(tf: Any, graph: Any, given: SimpleNamespace) -> Any:
    """A session on the server; it waits until all servers of its cluster are there."""
    config = tf.compat.v1.ConfigProto(operation_timeout_in_ms=round(1000 * given.timeout))
    try:
        session = tf.compat.v1.Session(f"grpc://{given.server}", graph.graph, config)
        session.list_devices()
    except tf.errors.DeadlineExceededError:
        raise CannotTrain(
            f"The server at {given.server} took the connection, but gave no session within "
            f"{given.timeout:g} s. Is it a TensorFlow server, and do all others of its cluster run?"
        ) from None
    return session


def trained(session: Any, graph: Any, given: SimpleNamespace) -> dict[str, Any]:
    """Train all steps; how good the network is then, and whether somebody else was there, too.

    Whoever uses a container signs its guest book, and leaves nothing in it: one that is alone finds
    its own signature, and its own steps.
    """
    session.run(graph.begin)
    for _ in range(given.steps):
        session.run(graph.step)
    loss, accuracy, test, guests, count = session.run(
        [graph.loss, graph.accuracy, graph.test_accuracy, graph.guests, graph.count]
    )
    session.run(graph.end)
    clash = None
    if guests != 1 or count != given.steps:
        clash = (
            f"This client was not alone in {named(given.container)}: {guests} have used it since "
            f"it was last cleared, and the weights have seen {count} steps, where this client made "
            f"{given.steps}. Give each client a container of its own."
        )
    told = float(loss) if math.isfinite(loss) else None
    return {"loss": told, "accuracy": float(accuracy), "test": float(test), "clash": clash}


def named(container: str) -> str:
    """A container as a sentence names it."""
    return f"the container {container}" if container else "the default container"


def alone(tf: Any, session: Any, graph: Any) -> bool:
    """Whether the container's guest book has one signature, or nobody can say.

    Where it has none, another client has removed it, with this one's signature in it.
    """
    try:
        return int(session.run(graph.guests)) == 1
    except tf.errors.OpError:
        return True


def last_line(error: Any) -> str:
    """The line in which a server says what is wrong; before it stands where, in Python."""
    lines = [line for line in str(error.message).splitlines() if line[:1].strip()]
    return lines[-1][:300] if lines else "it said nothing more"
