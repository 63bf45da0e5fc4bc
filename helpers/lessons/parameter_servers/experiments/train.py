"""`helpers.train`: workers and parameter servers with any rule, on a clock or on real processes."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from helpers.engine.errors import NoHosts
from helpers.engine.hosts.run import tell
from helpers.engine.servers.client import Client, MakeClient
from helpers.engine.servers.parameter_server import Message, Server, check_fit, cut
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import MakeRule, Training
from helpers.engine.servers.virtual import StepTimes, VirtualTraining
from helpers.lessons.parameter_servers.experiments.step_times import Constant

_OF_PROCESSES = ("timeout", "snapshot_every", "write_through", "slow", "kill")
ENGINES = ("virtual", "processes", "hosts")


def train(
    make_rule: MakeRule,
    *,
    workers: int,
    task: Task | None = None,
    make_client: MakeClient = Client,
    servers: int = 1,
    batch: int = 32,
    updates: int | None = None,
    target: float | None = None,
    evaluate_every: int = 0,
    seed: int = 0,
    engine: str = "virtual",
    order: Sequence[Sequence[Message]] | None = None,
    **options: Any,
) -> Training:
    """Train with parameter servers and return what happened.

    make_rule: given a server's part of the weights, its rule, such as
        `lambda weights: Asynchronous(weights, Sgd(0.1), workers=8)`.
    task: model and data, the digits and a small network where none is given. make_client: what
    each worker does between pull and push. servers: over how many the weights are cut. batch:
    rows of a worker's batch. updates: how many every server makes. target: a test error in % at
    which the training ends. evaluate_every: so many updates lie between two looks at it. seed: of
    the times on the clock. order: logs, one a server, of an earlier training on any engine: it is
        made once more in that order, and nothing is timed or looked at before the end.

    engine="virtual" takes times= (a model of lesson 05's `experiments.step_times`), latency= and
    bandwidth= of each server's link, payload= (bytes of all weights, to pretend that they are
    more), failures={worker: seconds}, seconds= to end at, trace=True.
    hosts=True gives the workers links, too. bandwidth= is bytes a second or "200mbit", or a mapping
        such as {"server 0": "1gbit", "others": "200mbit"}; a link that is not in it is as quick as
        can be.
    engine="processes" takes timeout=, snapshot_every=, write_through=, slow={worker: seconds},
    kill= and trace=; see `helpers.engine.servers.real.train_processes`.
    engine="hosts" takes these too: each process is on a virtual host of its own, and what it sends
    goes over a link as bandwidth= says.

    Example: `helpers.train(lambda w: Asynchronous(w, Sgd(0.1), 4), workers=4, updates=500)`.
    """
    _check(make_rule, workers, servers, batch, updates, evaluate_every, engine)
    if task is None:
        from helpers.lessons.parameter_servers.experiments.digits_task import DigitsTask

        task = DigitsTask()
    if engine != "virtual":
        if target is not None:
            raise ValueError("Real processes train for a number of updates: give updates=.")
        if order is not None:
            raise ValueError("An order is followed on the clock alone: leave engine= out.")
        if updates is None:
            raise ValueError("Say when real processes are to end: give updates=.")
        from helpers.engine.servers.real import train_on_hosts, train_processes

        trains = train_processes if engine == "processes" else train_on_hosts
        try:
            return trains(
                make_rule,
                make_client,
                task,
                workers=workers,
                servers=servers,
                batch=batch,
                updates=updates,
                evaluate_every=evaluate_every,
                **options,
            )
        except NoHosts as why:
            options = for_the_clock(task, batch, options, why)
            tell(why)
    made = [Server(make_rule(part)) for part in cut(task.initial(), servers)]
    for server in made:
        check_fit(server.rule, make_client(), workers)
    _check_known(options)
    with one_thread():
        if order is not None:
            from helpers.engine.servers.replay import Replay

            return Replay(made, order, make_client, task, workers, batch).follow()
        times, seconds, failures = _of_the_clock(options, workers, updates, target)
        run = VirtualTraining(made, make_client, task, workers, batch, times, seed, **options)
        evaluate_every = evaluate_every or (0 if target is None else 10)
        return run.run(updates, seconds, target, evaluate_every, failures)


def _check_known(options: Mapping[str, Any]) -> None:
    """Raise TypeError for what the clock has no option for."""
    known = {"times", "seconds", "failures", "latency", "bandwidth", "payload", "trace", "hosts"}
    for name in options:
        if name not in known:
            raise TypeError(f"There is no option {name!r}; there are {', '.join(sorted(known))}.")


def _of_the_clock(
    options: dict[str, Any], workers: int, updates: int | None, target: float | None
) -> tuple[StepTimes, float, Mapping[int, float]]:
    """Take times, seconds and failures out of the clock's options, which are looked at."""
    times: StepTimes | None = options.pop("times", None)
    seconds: float = options.pop("seconds", math.inf)
    failures: Mapping[int, float] = options.pop("failures", {})
    if times is not None and not hasattr(times, "stream"):
        raise TypeError(
            f"times is a model of how long steps take, such as Constant(0.1) of lesson 05's "
            f"experiments.step_times, not {times!r}."
        )
    if not seconds > 0:
        raise ValueError(f"seconds={seconds} is no time to end at; give seconds above 0.")
    if target is not None and not target >= 0:
        raise ValueError(f"target={target} is no test error; give 0 to 100 per cent.")
    payload = options.get("payload")
    if payload is not None and not payload >= 0:
        raise ValueError(f"payload={payload}: give the bytes of all weights, 0 or more.")
    if updates is None and target is None and seconds == math.inf:
        raise ValueError("Say when the training is to end: updates=, target= or seconds=.")
    for worker in failures:
        if not 0 <= worker < workers:
            raise ValueError(f"failures names worker {worker} of 0 to {workers - 1}.")
    return times or Constant(), seconds, failures


def for_the_clock(task: Task, batch: int, options: dict[str, Any], why: NoHosts) -> dict[str, Any]:
    """Options for the virtual clock in the place of hosts: a step takes what it takes here.

    Raises NoHosts for what the clock cannot do: kill, restart and slow down.
    """
    if options.get("kill") or options.get("slow") or options.get("write_through"):
        raise why
    weights, rows = task.initial(), task.rows(0, 0, batch)
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        task.gradient(weights, rows)
        taken.append(time.perf_counter() - start)
    kept = {name: value for name, value in options.items() if name not in _OF_PROCESSES}
    return {"times": Constant(sorted(taken)[1]), "hosts": True, **kept}


@contextmanager
def one_thread() -> Iterator[None]:
    """Compute by one torch thread: as on real ranks, so that the bits are the same.

    Two would also wait for each other longer than such small networks take.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _check(
    make_rule: Any,
    workers: int,
    servers: int,
    batch: int,
    updates: int | None,
    evaluate_every: int,
    engine: str,
) -> None:
    if not callable(make_rule):
        raise TypeError(
            f"make_rule is a function of the weights that returns a rule, not a "
            f"{type(make_rule).__name__}: `lambda weights: Asynchronous(weights, Sgd(0.1), 4)`."
        )
    if engine not in ENGINES:
        known = f"{', '.join(ENGINES[:-1])} and {ENGINES[-1]}"
        raise ValueError(f"There is no engine {engine!r}; there are {known}.")
    for name, value in (("workers", workers), ("servers", servers), ("batch", batch)):
        if value < 1:
            raise ValueError(f"{name}={value} is not possible; give 1 or more.")
    if updates is not None and updates < 1:
        raise ValueError(f"updates={updates}: a training makes at least one update.")
    if evaluate_every < 0:
        raise ValueError(f"evaluate_every={evaluate_every}: give 0 for never, or more.")
