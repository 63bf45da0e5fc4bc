"""Two replicas under torchft, of which one is killed again and again while the other trains on."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from typing import NamedTuple

import torch
from torch.nn.functional import cross_entropy

from helpers.engine.cluster.place import free_ports
from helpers.lessons.cluster.experiments.elastic_job import GAPS, TAIL, WITHIN, write_at_once
from helpers.lessons.cluster.experiments.elastic_nodes import Command, Nodes
from helpers.lessons.cluster.experiments.elastic_training import Notes, Step
from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS, digits
from helpers.lessons.data_parallel.experiments.models import mlp

REPLICAS = ("replica-0", "replica-1")  # the one that survives, and the one that is killed
EVERY, PACE = 5, 0.02  # steps from one average to the next; seconds of rest a step
SYNCS_AHEAD = 4
LAST_SYNC = "last-sync"  # a file in the nodes' folder


class Lost(NamedTuple):
    """A kill of one replica, as the other lived it.

    gap: the longest time between two of its steps until the other was back, in seconds. back:
    seconds until that was so. alone: steps it took meanwhile.
    """

    gap: float
    back: float
    alone: int


@dataclass(frozen=True)
class Quorum:
    """What came of two replicas of which one was killed.

    steps: that the survivor took. whole: whether it took every step once, in order, in one life.
    kills: in order. calm_gap: its longest time between two steps while both were there, in seconds.
    equal: whether both have the same weights at the end, bit for bit. loss: the mean cross-entropy
    over all training rows at these weights, in nats.
    """

    steps: int
    whole: bool
    kills: list[Lost]
    calm_gap: float
    equal: bool
    loss: float
    seconds: float

    @property
    def longest_gap(self) -> float:
        """The survivor's longest time between two steps after any kill, in seconds."""
        return max((kill.gap for kill in self.kills), default=0.0)

    def __str__(self) -> str:
        once = "each once, in one life" if self.whole else "NOT each once"
        lines = [
            f"torchft: the survivor took {self.steps} steps in {self.seconds:.0f} s, {once}",
            f"its longest gap between two steps: {self.calm_gap:.2f} s while both replicas were "
            f"there, {self.longest_gap:.2f} s after a kill",
            f"weights at the end {'equal, bit for bit' if self.equal else 'NOT equal'}; "
            f"loss {self.loss:.4f}",
        ]
        if self.kills:
            back = [kill.back for kill in self.kills]
            lines.append(
                f"kills: {len(back)}; the other replica was back after {max(back):.1f} s at most, "
                f"and the survivor took {sum(k.alone for k in self.kills)} steps meanwhile"
            )
        return "\n".join(lines)


def with_quorum(kills: int = 1, seed: int = 0, syncs: int = 40) -> Quorum:
    """Train on two replicas by local steps, and kill one of them with SIGKILL at random moments.

    Each time it is started again at once, and takes weights from the one that lives. Moments are
    drawn from the seed, once both are at work. syncs: averages of the weights, or more until the
    replica is back.

    Raises JobFailed with the ends of the logs where a replica ends that was not killed, or all is
    not done in time. Whatever happens, nothing is left behind.
    """
    with Nodes() as nodes:
        chance, killed = random.Random(seed), list[float]()
        notes, others = (Notes(nodes.folder / f"{name}.jsonl") for name in REPLICAS)

        def wait_for(count: int) -> None:
            """For steps of both together, as the survivor saw it, since the last kill."""
            last = killed[-1] if killed else None
            nodes.until(lambda: together(notes.look(), last) >= count)

        port = free_ports(1)[0]
        start_lighthouse(nodes, port)
        for number in range(len(REPLICAS)):
            start_replica(nodes, number, port)
        for _ in range(kills):
            # A replica that is killed in its first steps was never there.
            wait_for(chance.randint(*GAPS))
            time.sleep(chance.uniform(0, WITHIN))
            nodes.kill(REPLICAS[1])
            killed.append(time.time())
            start_replica(nodes, 1, port)
        wait_for(TAIL)
        # An average that neither has come to. Where the other begins first, it averages alone, and
        # the survivor then goes on with its count.
        before = sum(each.at < notes.steps[0].at for each in others.look())
        ahead = (len(notes.steps) + before) // EVERY + SYNCS_AHEAD
        write_at_once(nodes.folder / LAST_SYNC, str(max(syncs, ahead)))
        nodes.finish(REPLICAS)
        return told(nodes, notes.look(), killed)


def start_lighthouse(nodes: Nodes, port: int) -> None:
    """Start what tells replicas who is there."""
    words = [
        "torchft_lighthouse", "--bind", f"127.0.0.1:{port}", "--min_replicas", "1",
        "--quorum_tick_ms", "50", "--join_timeout_ms", "1000", "--heartbeat_timeout_ms", "2000",
    ]  # fmt: skip
    nodes.start("lighthouse", Command(words, {"RUST_LOG": "warn"}))


def start_replica(nodes: Nodes, number: int, port: int) -> None:
    """What is typed for a replica, the first time and every time that it comes back."""
    words = [
        "python", "cluster/quorum_torchft.py", "--lighthouse", f"http://127.0.0.1:{port}",
        "--replica", str(number), "--folder", str(nodes.folder),
        "--syncs", str(nodes.folder / LAST_SYNC), "--every", str(EVERY), "--pace", str(PACE),
    ]  # fmt: skip
    nodes.start(REPLICAS[number], Command(words, {"RUST_LOG": "warn"}))


def together(steps: Sequence[Step], killed: float | None) -> int:
    """The survivor's last steps with the other replica. killed: when that last was, or None.

    It hears of a death, and of who is new, at its next average: steps before that do not count.
    """
    steps = [each for each in steps if killed is None or each.at > killed]
    both = [each.ranks == len(REPLICAS) for each in steps]
    if killed is not None and all(both):
        return 0
    return sum(takewhile(bool, reversed(both)))


def lost(steps: Sequence[Step], at: float) -> Lost:
    """How the survivor lived a kill. at: when it was, seconds of `time.time()`."""
    before = [each for each in steps if each.at <= at]
    after = [each for each in steps if each.at > at]
    fewer = next(i for i, each in enumerate(after) if each.ranks < len(REPLICAS))
    alone = next(i for i, each in enumerate(after[fewer:]) if each.ranks == len(REPLICAS))
    until = after[: fewer + alone + 1]
    gap = max(b.at - a.at for a, b in pairwise([before[-1], *until]))
    return Lost(gap, until[-1].at - at, alone)


def told(nodes: Nodes, steps: Sequence[Step], killed: Sequence[float]) -> Quorum:
    """What came of it, from the survivor's notes and both replicas' weights."""
    one, other = (torch.load(nodes.folder / f"{name}.pt") for name in REPLICAS)
    kills = [lost(steps, at) for at in killed]
    away = [(at, at + kill.back) for at, kill in zip(killed, kills, strict=True)]
    calm = [
        b.at - a.at
        for a, b in pairwise(steps)
        if not any(start <= b.at and a.at <= end for start, end in away)
    ]
    return Quorum(
        steps=len(steps),
        whole=[each.step for each in steps] == list(range(1, len(steps) + 1)),
        kills=kills,
        calm_gap=max(calm, default=0.0),
        equal=all(torch.equal(one[key], other[key]) for key in one),
        loss=loss_of(one),
        seconds=time.time() - nodes.began,
    )


def loss_of(state: dict[str, torch.Tensor]) -> float:
    """The mean cross-entropy over all training rows, in nats, at some weights."""
    hidden = state["0.bias"].numel()
    model = mlp((PIXELS, hidden, CLASSES), torch.float64)
    model.load_state_dict(state)
    data = digits(torch.float64)
    with torch.no_grad():
        return cross_entropy(model(data.train_x), data.train_y).item()
