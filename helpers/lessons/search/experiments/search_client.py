"""A client that trains one network on a TensorFlow server, with options for all that may differ.

Many such clients search together: each is a process of its own, with a server, a device and
hyperparameters from its command line. Their variables live on the servers, by name; so that clients
of one server do not write into each other's, each puts its own into a resource container.
Source: Géron, "Hands-On Machine Learning", chapter 12, exercise 8.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
ACTIVATIONS = ("relu", "tanh", "sigmoid")


class CannotTrain(Exception):
    """What stops a client, as a sentence."""


def parser() -> argparse.ArgumentParser:
    """The command line. Its defaults train one decent network."""
    made = argparse.ArgumentParser(
        prog="search_client.py",
        description="Train one network on a TensorFlow server, and print its result as JSON.",
    )
    where = made.add_argument_group("where")
    where.add_argument("--server", required=True, metavar="HOST:PORT", help="the server to run on")
    where.add_argument(
        "--device", default="", help="such as /job:worker/task:0/device:CPU:0 (the server's choice)"
    )
    where.add_argument(
        "--container", type=container, default="", help="where variables live (what all share)"
    )
    where.add_argument("--timeout", type=above_zero, default=20.0, help="seconds to connect (20)")
    what = made.add_argument_group("hyperparameters")
    what.add_argument("--rate", type=above_zero, default=0.1, help="learning rate (0.1)")
    what.add_argument("--momentum", type=float, default=0.9, help="of SGD (0.9)")
    what.add_argument("--decay", type=float, default=1e-4, help="weight decay (0.0001)")
    what.add_argument("--width", type=one_or_more, default=32, help="of the hidden layer (32)")
    what.add_argument("--activation", choices=ACTIVATIONS, default="relu", help="(relu)")
    what.add_argument("--steps", type=one_or_more, default=100, help="batches of 32 rows (100)")
    what.add_argument("--seed", type=int, default=0, help="of the rows' split (0)")
    what.add_argument("--trial", type=int, default=0, help="of first weights and batches (0)")
    made.add_argument("--save", metavar="FILE.npz", help="keep the trained weights")
    return made


def container(text: str) -> str:
    """A container's name as TensorFlow takes it, for argparse."""
    if text and not re.fullmatch("[A-Za-z0-9.][A-Za-z0-9./-]*", text):
        raise argparse.ArgumentTypeError(f"{text} has more than letters, digits, dots and dashes")
    return text


def above_zero(text: str) -> float:
    """A number above 0, for argparse."""
    value = float(text)
    if not (value > 0 and math.isfinite(value)):
        raise argparse.ArgumentTypeError(f"{text} is no number above 0")
    return value


def one_or_more(text: str) -> int:
    """A whole number from 1 up, for argparse."""
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return value


def main(arguments: Sequence[str] | None = None) -> int:
    """Train as the command line says and print one line of JSON. Returns the exit code.

    What cannot be goes to standard error as a sentence, with exit code 1 (2 for a wrong option).
    """
    given = parser().parse_args(arguments)
    try:
        print(json.dumps(train(given)), flush=True)
    except CannotTrain as why:
        print(f"search_client.py: {why}", file=sys.stderr, flush=True)
        return 1
    return 0


def train(given: argparse.Namespace) -> dict[str, Any]:
    """One training, as a client of a server. Raises CannotTrain with a sentence."""
    address = reached(given.server, given.timeout)
    tf = tensorflow()
    from helpers.lessons.search.experiments.search_graph import Graph

    begin = time.monotonic()
    try:
        tf.DeviceSpec.from_string(given.device)
    except ValueError:
        raise CannotTrain(
            f"There is no device {given.device}: a device is named as in "
            "/job:worker/task:0/device:CPU:0."
        ) from None
    try:
        graph = Graph(given)
        with connected(tf, address, graph, given) as session:
            known(tf, session, given)
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
    except tf.errors.OpError as error:
        kind = type(error).__name__
        raise CannotTrain(f"The server ended the training: {kind}: {last_line(error)}") from None
    told = {name: getattr(given, name) for name in ("trial", "server", "device", "container")}
    told |= {name: getattr(given, name) for name in ("rate", "momentum", "decay", "width")}
    told |= {name: getattr(given, name) for name in ("activation", "steps", "seed")}
    return told | found | {"seconds": round(time.monotonic() - begin, 3)}


def reached(server: str, seconds: float) -> tuple[str, int]:
    """The server's host and port, once something answers there."""
    host, colon, port = server.removeprefix("grpc://").rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise CannotTrain(f"--server is HOST:PORT, such as 127.0.0.1:2222, not {server}.")
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection((host, int(port)), timeout=seconds).close()
            return host, int(port)
        except OSError as error:
            if isinstance(error, socket.gaierror) or time.monotonic() > deadline:
                raise CannotTrain(
                    f"Nothing answered at {host}:{port} within {seconds:g} s ({error}). Is the "
                    "server started, and is this its address?"
                ) from None
            time.sleep(0.1)


def tensorflow() -> Any:
    """TensorFlow without its chatter, or a sentence where it is not installed."""
    if importlib.util.find_spec("tensorflow") is None:
        raise CannotTrain(
            "TensorFlow is not installed in this Python, and a client needs it: `./course doctor` "
            "says what this machine lacks."
        )
    os.environ.pop("TF_CONFIG", None)  # it tells of another job
    from helpers.notebook.quiet import tensorflow as tf

    tf.get_logger().setLevel("ERROR")
    return tf


def connected(tf: Any, address: tuple[str, int], graph: Any, given: argparse.Namespace) -> Any:
    """A session on the server; it waits until all servers of its cluster are there."""
    host, port = address

    def connect() -> Any:
        session = tf.compat.v1.Session(f"grpc://{host}:{port}", graph=graph.graph)
        session.list_devices()
        return session

    try:
        return within(given.timeout, connect)
    except TimeoutError:
        raise CannotTrain(
            f"The server at {host}:{port} took the connection, but gave no session within "
            f"{given.timeout:g} s. Is it a TensorFlow server, and do all others of its cluster run?"
        ) from None


def within(seconds: float, function: Callable[[], T]) -> T:
    """What a function gives that cannot be interrupted. Raises TimeoutError; it goes on then."""
    found: list[T] = []
    failed: list[BaseException] = []

    def work() -> None:
        try:
            found.append(function())
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not found:
        raise TimeoutError
    return found[0]


def known(tf: Any, session: Any, given: argparse.Namespace) -> None:
    """Raise CannotTrain where the server knows no such device."""
    names = [each.name for each in session.list_devices()]
    read = tf.DeviceSpec.from_string
    if any(fits(read(given.device), read(name)) for name in names):
        return
    there = ", ".join(name.replace("/replica:0", "") for name in sorted(names))
    raise CannotTrain(f"There is no device {given.device} behind this server; there are: {there}.")


def fits(asked: Any, device: Any) -> bool:
    """Whether a device is one of those asked for: what is not said may be anything."""
    parts = ("job", "replica", "task", "device_type", "device_index")
    pairs = [(getattr(asked, part), getattr(device, part)) for part in parts]
    return all(mine is None or mine == theirs for mine, theirs in pairs)


def trained(session: Any, graph: Any, given: argparse.Namespace) -> dict[str, Any]:
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
    if given.save:
        graph.save(session, given.save)
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
