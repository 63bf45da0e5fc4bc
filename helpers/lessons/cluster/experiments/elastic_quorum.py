"""Two replicas under torchft, of which one is killed again and again while the other trains on."""

from __future__ import annotations

import importlib.util
import random
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import torch
from torch.nn.functional import cross_entropy

from helpers.engine.cluster.launchers import free_port
from helpers.engine.errors import RunError
from helpers.lessons.cluster.experiments.elastic_job import (
    FINISH_SECONDS,
    LEAST_GAP,
    MOST_GAP,
    TAIL,
    WITHIN,
)
from helpers.lessons.cluster.experiments.elastic_nodes import LOOK, Command, Nodes
from helpers.lessons.cluster.experiments.elastic_training import Notes, Step
from helpers.lessons.data_parallel.experiments.digits import CLASSES, PIXELS, digits
from helpers.lessons.data_parallel.experiments.models import mlp

REPLICAS = ("replica-0", "replica-1")
SURVIVOR, VICTIM = REPLICAS
SYNCS_AHEAD = 4
TELLING = re.compile(r"WARN|ERROR|Exception|exception")


class NoTorchft(RunError):
    """torchft is not installed here; the report says what to do."""


class Lost(NamedTuple):
    """A kill of one replica, as the other lived it.

    step: the survivor's last one before. gap: the longest time between two of its steps until the
    other was back, in seconds. back: seconds until that was so. alone: steps it took meanwhile.
    """

    step: int
    gap: float
    back: float
    alone: int


@dataclass(frozen=True)
class Quorum:
    """What came of two replicas of which one was killed.

    losses: of the survivor's batches, one a step. whole: whether it took every step once, in order,
    in one life. kills: in order. calm_gap: its longest time between two steps while both were
    there, in seconds. equal: whether both have the same weights at the end, bit for bit. loss: the
    mean cross-entropy over all training rows at these weights, in nats. every: steps from one
    average to the next. commands: what was typed, in order, and where. log: what torchft said.
    """

    losses: list[float] = field(repr=False)
    whole: bool
    kills: list[Lost]
    calm_gap: float
    equal: bool
    loss: float
    every: int
    seconds: float
    commands: list[str] = field(repr=False)
    log: list[str] = field(repr=False)

    @property
    def longest_gap(self) -> float:
        """The survivor's longest time between two steps after any kill, in seconds."""
        return max((kill.gap for kill in self.kills), default=0.0)

    def __str__(self) -> str:
        once = "each once, in one life" if self.whole else "NOT each once"
        lines = [
            f"torchft: the survivor took {len(self.losses)} steps in {self.seconds:.0f} s, {once}",
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


def missing() -> str | None:
    """Why there can be no quorum here, in a sentence; None where torchft is installed."""
    if importlib.util.find_spec("torchft") is None:
        return "torchft is not installed: `pip install torchft==0.2.0` in the course's environment."
    return None


def with_quorum(
    kills: int = 1,
    seed: int = 0,
    syncs: int = 40,
    every: int = 5,
    pace: float = 0.02,
    timeout: float = 900.0,
) -> Quorum:
    """Train on two replicas by local steps, and kill one of them with SIGKILL at random moments.

    Each time it is started again at once, and takes weights from the one that lives. Moments are
    drawn from the seed, once both are at work. syncs: averages of the weights, or more until the
    replica is back. every: steps from one average to the next. pace: seconds of rest a step.
    timeout: seconds for all.

    Raises NoTorchft where it is not installed, ValueError for fewer kills than none, JobFailed with
    the ends of the logs where a replica ends that was not killed, or all is not done in time.
    Whatever happens, nothing is left behind.
    """
    if why := missing():
        raise NoTorchft(why)
    if kills < 0:
        raise ValueError(f"A replica is killed 0 times or more, not {kills}.")
    with Nodes() as nodes:
        return Replicas(nodes, syncs, every, pace).run(kills, seed, timeout)


class Replicas:
    """A lighthouse, two replicas, and who is killed."""

    def __init__(self, nodes: Nodes, syncs: int, every: int, pace: float) -> None:
        self.nodes, self.syncs, self.every, self.pace = nodes, syncs, every, pace
        self.notes = Notes(nodes.folder / f"{SURVIVOR}.jsonl")
        self.last = nodes.folder / "last-sync"
        self.typed: list[str] = []
        self.killed: list[float] = []
        self.port = free_port()

    def run(self, kills: int, seed: int, timeout: float) -> Quorum:
        """Kill one replica as often as is said, and wait until both have ended."""
        chance, began = random.Random(seed), time.time()
        self.start()
        gap = chance.randint(LEAST_GAP, MOST_GAP)
        while self.nodes.ended(SURVIVOR) is None:
            self.notes.look()
            # As the survivor saw it: a replica that is killed in its first steps was never there.
            both = self.together()
            if len(self.killed) < kills and both >= gap:
                time.sleep(chance.uniform(0, WITHIN))
                self.nodes.kill(VICTIM)
                self.killed.append(time.time())
                self.replica(1)
                gap = chance.randint(LEAST_GAP, MOST_GAP)
            elif len(self.killed) == kills and both >= TAIL and not self.last.exists():
                self.end()
            self.check()
            if time.time() - began > timeout:
                raise self.nodes.failed(
                    f"The survivor was at step {len(self.notes.steps)} after {timeout:g} s, with "
                    f"{len(self.killed)} of {kills} kills."
                )
            time.sleep(LOOK)
        self.nodes.finish(REPLICAS, FINISH_SECONDS)
        self.notes.look()
        return self.told(began)

    def start(self) -> None:
        """Start the lighthouse and both replicas."""
        words = [
            "torchft_lighthouse", "--bind", f"127.0.0.1:{self.port}", "--min_replicas", "1",
            "--quorum_tick_ms", "50", "--join_timeout_ms", "1000", "--heartbeat_timeout_ms", "2000",
        ]  # fmt: skip
        self.type("lighthouse", words)
        self.replica(0)
        self.replica(1)

    def replica(self, number: int) -> None:
        """What is typed for a replica, the first time and every time that it comes back."""
        words = [
            "python", "cluster/quorum_torchft.py", "--lighthouse", f"http://127.0.0.1:{self.port}",
            "--replica", str(number), "--folder", str(self.nodes.folder), "--syncs", str(self.last),
            "--every", str(self.every), "--pace", str(self.pace),
        ]  # fmt: skip
        self.type(REPLICAS[number], words)

    def type(self, name: str, words: Sequence[str]) -> None:
        """Start a command."""
        command = Command(words, {"RUST_LOG": "warn"})
        self.typed.append(f"{name}$ {command}")
        self.nodes.start(name, command)

    def together(self) -> int:
        """Steps that the survivor has taken with the other one, since that was killed last."""
        return together(self.notes.steps, self.killed[-1] if self.killed else None)

    def end(self) -> None:
        """Say after which average both end: one that neither has come to.

        Where the other begins first, it averages alone, and the survivor then goes on with its
        count.
        """
        steps, other = self.notes.steps, Notes(self.nodes.folder / f"{VICTIM}.jsonl")
        before = sum(each.at < steps[0].at for each in other.look())
        ahead = (len(steps) + before) // self.every + SYNCS_AHEAD
        new = self.last.with_suffix(".new")
        new.write_text(str(max(self.syncs, ahead)))
        new.rename(self.last)

    def check(self) -> None:
        """Raise JobFailed where a process has ended that was not killed."""
        for name in ("lighthouse", *REPLICAS):
            if (code := self.nodes.ended(name)) is not None and (code or not self.last.exists()):
                raise self.nodes.failed(f"{name} ended with exit code {code}.")

    def told(self, began: float) -> Quorum:
        """What came of it, from the survivor's notes and both replicas' weights."""
        steps = self.notes.steps
        states = [torch.load(self.nodes.folder / f"{name}.pt") for name in REPLICAS]
        equal = all(torch.equal(states[0][key], states[1][key]) for key in states[0])
        log = [line for name in REPLICAS for line in self.nodes.lines(name) if TELLING.search(line)]
        kills = [lost(steps, at) for at in self.killed]
        ends = [at + kill.back for at, kill in zip(self.killed, kills, strict=True)]
        between = list(zip(self.killed, ends, strict=True))
        calm = [
            b.at - a.at
            for a, b in pairwise(steps)
            if not any(start <= b.at and a.at <= end for start, end in between)
        ]
        return Quorum(
            losses=[each.loss for each in steps],
            whole=[each.step for each in steps] == list(range(1, len(steps) + 1)),
            kills=kills,
            calm_gap=round(max(calm, default=0.0), 3),
            equal=equal,
            loss=loss_of(states[0]),
            every=self.every,
            seconds=round(time.time() - began, 3),
            commands=self.typed,
            log=log,
        )


def together(steps: Sequence[Step], killed: float | None) -> int:
    """The survivor's last steps with the other replica. killed: when that last was, or None.

    It hears of a death, and of who is new, at its next average: steps before that do not count.
    """
    if killed is not None:
        steps = [each for each in steps if each.at > killed]
        if all(each.ranks == len(REPLICAS) for each in steps):
            return 0
    count = 0
    for each in reversed(steps):
        if each.ranks < len(REPLICAS):
            break
        count += 1
    return count


def lost(steps: Sequence[Step], at: float) -> Lost:
    """How the survivor lived a kill. at: when it was, seconds of `time.time()`."""
    before = [each for each in steps if each.at <= at]
    after = [each for each in steps if each.at > at]
    fewer = next(i for i, each in enumerate(after) if each.ranks < len(REPLICAS))
    alone = next(i for i, each in enumerate(after[fewer:]) if each.ranks == len(REPLICAS))
    until = after[: fewer + alone + 1]
    gap = max(b.at - a.at for a, b in pairwise([before[-1], *until]))
    return Lost(before[-1].step, round(gap, 3), round(until[-1].at - at, 3), alone)


def loss_of(state: dict[str, torch.Tensor]) -> float:
    """The mean cross-entropy over all training rows, in nats, at some weights."""
    hidden = state["0.bias"].numel()
    model = mlp((PIXELS, hidden, CLASSES), torch.float64)
    model.load_state_dict(state)
    data = digits(torch.float64)
    with torch.no_grad():
        return cross_entropy(model(data.train_x), data.train_y).item()
