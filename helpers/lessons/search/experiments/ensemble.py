"""The best few networks together: one graph, a member a device, their probabilities averaged.

Source: Géron, "Hands-On Machine Learning", chapter 12, exercise 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

LIMIT = 0.05


class Member(NamedTuple):
    """A trained network with one hidden layer. weights: (64, w), (w,), (w, 10), (10,), float32."""

    name: str
    activation: str
    weights: tuple[np.ndarray, ...]


class Voted(NamedTuple):
    """What an ensemble gave. each: (members, rows, 10) probabilities; mean: theirs, (rows, 10).

    devices: where each member's work was placed, then where the mean's was, as the framework says.
    """

    each: np.ndarray
    mean: np.ndarray
    devices: list[str]


def of_search(models: Any, states: dict[int, Any], trials: Sequence[int]) -> list[Member]:
    """Members from a search of `search_models.Models`: some trials, where each of them got to."""
    members = []
    for trial in trials:
        network = models.network(trial, states[trial])
        first, _, last = network
        weights = (first.weight.T, first.bias, last.weight.T, last.bias)
        arrays = tuple(np.ascontiguousarray(each.detach().numpy()) for each in weights)
        members.append(Member(f"trial {trial}", models.settings(trial)["activation"], arrays))
    return members


# --- in one graph of TensorFlow -------------------------------------------------------------------


def tf_devices(count: int) -> list[str]:
    """A device for each member: GPUs where there are any, else parts of the CPU.

    The CPU is split into `count` logical devices if nothing has been computed yet; later there are
    only those that it was split into before, and members share them.
    """
    from helpers.notebook.quiet import tensorflow as tf

    kind = "GPU" if tf.config.list_physical_devices("GPU") else "CPU"
    if kind == "CPU":
        (cpu, *_) = tf.config.list_physical_devices("CPU")
        try:
            if len(tf.config.get_logical_device_configuration(cpu) or ()) < count:
                parts = [tf.config.LogicalDeviceConfiguration() for _ in range(count)]
                tf.config.set_logical_device_configuration(cpu, parts)
        except RuntimeError:  # it has computed already
            pass
    there = len(tf.config.list_logical_devices(kind))
    return [f"/device:{kind}:{member % there}" for member in range(count)]


def in_one_graph(members: Sequence[Member], x: np.ndarray) -> Voted:
    """Compute all members in one `tf.compat.v1` graph, each pinned to a device of its own.

    x: (rows, 64) float32. Their mean is computed on the first one's device.
    """
    from helpers.notebook.quiet import tensorflow as tf

    places = tf_devices(len(members))
    v1 = tf.compat.v1
    with tf.Graph().as_default() as graph:
        rows = v1.placeholder(tf.float32, [None, 64], name="rows")
        votes = []
        for member, place in zip(members, places, strict=True):
            with v1.device(place), tf.name_scope("member"):
                hidden, hidden_bias, out, out_bias = (tf.constant(each) for each in member.weights)
                active = {"relu": tf.nn.relu, "tanh": tf.tanh, "sigmoid": tf.sigmoid}
                middle = active[member.activation](tf.matmul(rows, hidden) + hidden_bias)
                votes.append(tf.nn.softmax(tf.matmul(middle, out) + out_bias))
        with v1.device(places[0]):
            mean = tf.add_n(votes) / len(votes)
        asked, told = v1.RunOptions(output_partition_graphs=True), v1.RunMetadata()
        with v1.Session(graph=graph) as session:
            values = session.run([*votes, mean], {rows: x}, options=asked, run_metadata=told)
    *each, middle = values
    # On which device each op ran, by the graphs that the run was cut into.
    where = {node.name: node.device for part in told.partition_graphs for node in part.node}
    placed = [where[op.op.name].rpartition("/task:0")[2] for op in (*votes, mean)]
    return Voted(np.stack(each), middle, placed)


# --- in torch -------------------------------------------------------------------------------------


def in_torch(members: Sequence[Member], x: np.ndarray) -> Voted:
    """The same in torch: each member on a GPU in turn where there are any, else on the CPU; their
    probabilities are brought to the first one's."""
    import torch

    count = torch.cuda.device_count()
    places = [f"cuda:{i % count}" if count else "cpu" for i in range(len(members))]
    votes = []
    active = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}
    for member, place in zip(members, places, strict=True):
        hidden, hidden_bias, out, out_bias = (
            torch.from_numpy(each).to(place) for each in member.weights
        )
        rows = torch.from_numpy(x).to(place)
        middle = active[member.activation](rows @ hidden + hidden_bias)
        votes.append(torch.softmax(middle @ out + out_bias, 1))
    mean = torch.stack([vote.to(places[0]) for vote in votes]).mean(0)
    where = [str(each.device) for each in (*votes, mean)]
    return Voted(np.stack([vote.cpu().numpy() for vote in votes]), mean.cpu().numpy(), where)


# --- is it better? --------------------------------------------------------------------------------


class Beside(NamedTuple):
    """The ensemble beside one member. only_ensemble, only_member: rows that one alone got right."""

    name: str
    accuracy: float
    only_ensemble: int
    only_member: int
    p_value: float


def sentence(accuracy: float, beside: Sequence[Beside], rows: int) -> str:
    """What came out, in words: also where the ensemble does not win."""
    sure = [each for each in beside if each.p_value < LIMIT / len(beside)]
    better = [each.name for each in sure if each.accuracy < accuracy]
    worse = [each.name for each in sure if each.accuracy > accuracy]
    rest = [each.name for each in beside if each.name not in better]
    best = max(beside, key=lambda each: each.accuracy)
    if not rest:
        verdict = "It is better than each member, beyond what chance would do."
    elif worse:
        verdict = f"It is worse than {' and '.join(worse)}, beyond what chance would do."
    elif better:
        verdict = (
            f"It is better than {' and '.join(better)} beyond what chance would do; against "
            f"{' and '.join(rest)} these rows do not decide."
        )
    else:
        verdict = "Against no member do these rows decide: so small a difference may be chance."
    return (
        f"The ensemble names {100 * accuracy:.1f} % of {rows} test rows rightly, its best member "
        f"({best.name}) {100 * best.accuracy:.1f} %. {verdict}"
    )
