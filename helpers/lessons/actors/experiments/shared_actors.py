"""A3C as its paper runs it: actors on the cores of one machine, and weights that all change.

Every actor is a rank. Weights, RMSProp's running squares and the number of updates lie in memory
that all ranks see. An actor takes a copy of the network, plays some steps with it, and writes its
gradient's step straight into the shared weights: without asking (lock-free, as Hogwild does), or
under a lock.

Sources: Mnih et al. (2016), algorithm S3; Recht et al., "Hogwild" (2011).
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from helpers.engine.comm import Comm
from helpers.lessons.actors.algorithms.losses import actor_critic_losses
from helpers.lessons.actors.algorithms.returns import n_step_returns
from helpers.lessons.actors.algorithms.rms_prop import shared_rms_prop
from helpers.lessons.actors.experiments.actor_settings import Setting
from helpers.lessons.actors.experiments.actor_task import ActorTask, Judge, Weigh

PATIENCE = 50e-6  # seconds between two tries to get the lock


class Pace(NamedTuple):
    """What takes how long on the virtual clock, in seconds; on real ranks all takes what it takes.

    play: some steps and their gradient, for each actor. gap: between reading the shared counter and
    writing it.
    """

    play: tuple[float, ...]
    gap: float = 0.01


class Look(NamedTuple):
    """The weights on the way. steps: played by all actors by then. seconds: since the start."""

    steps: int
    seconds: float
    weights: Tensor


class Part(NamedTuple):
    """What one actor did. made: its updates. weights, counter: as they lie there at the end."""

    made: int
    seconds: float
    looks: list[Look]
    weights: Tensor
    counter: int


class Shared(NamedTuple):
    """What all actors did.

    updates: made by each actor. counter: what the shared counter says in the end. steps: played by
    all, in all their games. seconds: until the last actor was done, on the engine's clock. looks:
    at the weights on the way, by time.
    """

    weights: Tensor
    updates: tuple[int, ...]
    counter: int
    steps: int
    seconds: float
    looks: tuple[Look, ...]

    @property
    def lost(self) -> int:
        """Increments of the counter that left no trace, since two actors had read one number.

        Each actor makes one for an update, and one more, which tells it that all is done.
        """
        return sum(self.updates) + len(self.updates) - self.counter

    @property
    def steps_per_second(self) -> float:
        """How many steps of games were played in a second."""
        return self.steps / self.seconds


class FileLock:
    """A lock that ranks share by a file's path: `with FileLock(comm, path): ...`, again and again.

    Why a file: `comm` gives ranks memory in common, but no operation on it that nobody can come
    between, and of plain reads and writes no lock is made that holds on every processor. The
    system keeps `flock`'s locks, and lets go of them where a process dies. Who does not get it
    tries again a little later: on the virtual clock, a rank that blocked would stop all others.
    """

    def __init__(self, comm: Comm, path: str) -> None:
        self.comm = comm
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)

    def __enter__(self) -> FileLock:
        while True:
            try:
                fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return self
            except BlockingIOError:
                self.comm.compute(PATIENCE)

    def __exit__(self, *raised: Any) -> None:
        fcntl.flock(self.file, fcntl.LOCK_UN)

    def __del__(self) -> None:
        os.close(self.file)


def take_number(comm: Comm, counter: Tensor, gap: float = 0.0) -> int:
    """T ← T + 1 on the shared counter: returns what it was before.

    counter: (1,), int64. gap: seconds on the virtual clock between reading and writing; a real rank
    may be interrupted there at any time. Without a lock two ranks may read one number, and then
    one of their counts is lost.
    """
    number = int(counter[0])
    if gap:
        comm.compute(gap)
    counter[0] = number + 1
    return number


def learn(comm: Comm, task: ActorTask, lock: str | None, look: int, pace: Pace | None) -> Part:
    """One actor: take a number and a copy of the weights, play, write the step; until all is done.

    lock: the path of a file that actors lock while they copy or change what is shared; None: they
    do not ask. look: keep the weights after every so manieth update. pace: for the virtual clock.
    """
    setting, start = task.setting, task.initial()
    weights, squares = (comm.shared(start.shape)[0] for _ in range(2))
    counter = comm.shared((1,), torch.int64)[0]
    if comm.rank == 0:
        weights.copy_(start)
    alone: AbstractContextManager[Any] = FileLock(comm, lock) if lock else nullcontext()
    rates, looks, made = setting.rates(), [], 0
    comm.barrier()
    begin = comm.time()
    while True:
        with alone:
            number = take_number(comm, counter, pace.gap if pace else 0.0)
            copy = weights.clone()
        if number >= setting.updates:
            break
        gradient = task.gradient(copy, comm.rank, made)
        if pace:
            comm.compute(pace.play[comm.rank])
        with alone:
            shared_rms_prop(weights, squares, gradient, rates(number))
        made += 1
        if look and (number + 1) % look == 0:
            steps = (number + 1) * setting.steps_per_update
            looks.append(Look(steps, comm.time() - begin, weights.clone()))
    seconds = comm.time() - begin
    comm.barrier()
    return Part(made, seconds, looks, weights.clone(), int(counter[0]))


def train_shared(
    setting: Setting,
    actors: int = 2,
    *,
    locked: bool = False,
    seed: int = 0,
    engine: str = "processes",
    threads: int = 1,
    look: int = 0,
    pace: Pace | None = None,
    returns: Judge = n_step_returns,
    losses: Weigh = actor_critic_losses,
) -> Shared:
    """Train with so many actors in shared memory.

    locked: whether what is shared is changed under a lock. engine: "processes" for the cores of
    this machine; "virtual" for a clock, where a seed gives the same weights again, bit for bit.
    threads: torch's, in each real actor. look: see the weights after every so manieth update. pace:
    of the virtual clock; where none is given, each actor is a tenth slower than the one before.
    returns, losses: such as yours. Raises what `helpers.run` raises.

    Example: `train_shared(TIC_TAC_TOE, actors=2).weights`.
    """
    import helpers

    if engine == "virtual":
        options: dict[str, Any] = {}
        pace = pace or Pace(tuple(1 + 0.1 * actor for actor in range(actors)))
    else:
        options = {"threads": threads, "device": "cpu"}
    task = setting.task(seed, returns, losses)
    with tempfile.TemporaryDirectory() as folder:
        lock = str(Path(folder) / "lock") if locked else None
        parts: list[Part] = list(
            helpers.run(
                learn, task, lock, look, pace,
                ranks=actors, engine=engine, timeout=300, show=False, **options,
            )
        )  # fmt: skip
    made = tuple(part.made for part in parts)
    looks = sorted((each for part in parts for each in part.looks), key=lambda one: one.seconds)
    return Shared(
        parts[0].weights, made, parts[0].counter, sum(made) * setting.steps_per_update,
        max(part.seconds for part in parts), tuple(looks),
    )  # fmt: skip
