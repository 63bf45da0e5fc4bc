"""Parameter servers and workers as real processes on this machine, with any rule.

Gradients and weights go through shared memory; a pipe into each server keeps the order in which
they arrive. The processes are made by one rank of `helpers.run`, so the notebook stays clean: an
interrupt, a time-out or an error leaves nothing behind.
"""

from __future__ import annotations

import math
import os
import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from helpers.engine.comm import Comm
from helpers.engine.errors import NoHosts, RunError, RunInterrupted, RunTimeout
from helpers.engine.hosts.namespaces import refused
from helpers.engine.hosts.network import MAX_HOSTS, Network
from helpers.engine.processes import run_processes
from helpers.engine.rank import describe_failure
from helpers.engine.real import Recorder
from helpers.engine.run import MAX_PROCESSES
from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.job import Plan, dumps
from helpers.engine.servers.parameter_server import Message, Server, check_fit, cut, join
from helpers.engine.servers.places import Bandwidths, Hosts, Places, place
from helpers.engine.servers.real_report import failed, own
from helpers.engine.servers.supervisor import Ending, Supervisor
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import MakeRule, Point, Training
from helpers.engine.trace import Event, Trace
from helpers.engine.wire import anonymous_file

NO_FORK = (
    "This system cannot fork, and real servers and workers are forked from one process. "
    'engine="virtual" trains here, and the same order of arrivals gives the same weights.'
)
_AFTERWARDS = 60.0  # seconds beyond the time-out, to look at the model and to say what went wrong


def train_processes(
    make_rule: MakeRule,
    make_client: MakeClient,
    task: Task,
    workers: int,
    servers: int,
    batch: int,
    updates: int | None,
    evaluate_every: int = 0,
    order: Sequence[Sequence[Message]] | None = None,
    timeout: float = 60.0,
    snapshot_every: int = 100,
    write_through: bool = False,
    slow: Mapping[int, float] | None = None,
    kill: Mapping[str, float | Sequence[float]] | None = None,
    trace: bool = False,
    network: Network | None = None,
    places: Places | None = None,
) -> Training:
    """Train on real processes, until every server has made exactly `updates` updates.

    order: logs, one a server, that the servers follow to their ends, instead of taking up what
    comes first. timeout: seconds for the training. snapshot_every: updates between two snapshots
    of a server, 0 for none. write_through: save before anything leaves a server, so that its death
    costs no update. slow: extra seconds of a worker's steps. kill: for demonstrations, whom to
    kill with SIGKILL and when: {"server 0": 57} after its 57th update, {"worker 3": 10} after 10
    steps, {"server 0": 0.5} after 0.5 s (a number with a point counts seconds); several in a list.

    network, places: the hosts of `helpers.train(engine="hosts")`, their links, and who is where.

    Raises TrainingFailed (with a worker's or server's own traceback, or where no worker is left),
    Deadlock where all wait for each other, RunTimeout, RunInterrupted; RunError where the system
    cannot fork. Nothing is left behind.
    """
    if not hasattr(os, "fork"):
        raise RunError(NO_FORK)
    timeout = float(timeout)
    logs = None if order is None else [[Message(*m) for m in log] for log in order]
    status = anonymous_file()
    plan = Plan(
        make_rule, make_client, task, workers, servers, batch, updates, evaluate_every, logs,
        timeout, snapshot_every, write_through, dict(slow or {}), moments(kill or {}), trace,
        f"/proc/{os.getpid()}/fd/{status}", places,
    )  # fmt: skip
    try:
        check(plan)
        results = run_processes(
            supervise, (plan,), 1, timeout=timeout + _AFTERWARDS, show=False, device="cpu",
            network=network,
        )  # fmt: skip
    except RunInterrupted:
        text = "The training was interrupted; its servers and workers have been ended.\n"
        last = os.pread(status, os.fstat(status).st_size, 0).decode()
        raise RunInterrupted((text + last).rstrip()) from None
    finally:
        os.close(status)
    if results.output[0]:
        print(results.output[0], end="", flush=True)
    return outcome(*results[0])


def moments(kill: Mapping[str, float | Sequence[float]]) -> dict[str, tuple[int | float, ...]]:
    """For each name its moments: int counts updates or steps, float seconds."""
    for name, given in kill.items():
        if isinstance(given, str):
            raise TypeError(f"kill says {given!r} for {name}: give a number, or several in a list.")
    listed = {k: v if isinstance(v, Sequence) else (v,) for k, v in kill.items()}
    return {
        name: tuple(int(m) if hasattr(m, "__index__") else float(m) for m in given)
        for name, given in listed.items()
    }


def check(plan: Plan) -> None:
    """Raise ValueError for what cannot be."""
    if plan.updates is None and plan.order is None:
        raise ValueError("Say when the training is to end: give updates= or an order=.")
    if plan.order is not None and len(plan.order) != plan.servers:
        raise ValueError(
            f"An order has one log for each server: {plan.servers}, not {len(plan.order)}."
        )
    if not plan.timeout > 0:
        raise ValueError(f"timeout={plan.timeout} is not a time; give seconds above 0.")
    if plan.snapshot_every < 0:
        raise ValueError(f"snapshot_every={plan.snapshot_every}: give updates, or 0 for never.")
    for worker, seconds in plan.slow.items():
        if worker not in range(plan.workers) or not 0 <= seconds < math.inf:
            raise ValueError(
                f"slow={{{worker!r}: {seconds!r}}}: name a worker from 0 to {plan.workers - 1} and "
                "the seconds that each of its steps takes longer."
            )
    known = [f"server {n}" for n in range(plan.servers)]
    known += [f"worker {n}" for n in range(plan.workers)]
    if len(known) > MAX_PROCESSES:
        raise ValueError(
            f"{plan.workers} workers and {plan.servers} servers are too many: a machine runs "
            f"{MAX_PROCESSES} processes at most here, the virtual clock thousands."
        )
    for name, given in plan.kill.items():
        if name not in known:
            raise ValueError(f"kill names {name!r}; there are {', '.join(known)}.")
        if not all(0 < moment < math.inf for moment in given):
            raise ValueError(f"kill={{{name!r}: {given}}}: give updates, steps or seconds above 0.")


def train_on_hosts(
    *args: Any,
    workers: int,
    servers: int,
    hosts: Hosts | None = None,
    bandwidth: Bandwidths = None,
    **options: Any,
) -> Training:
    """Train as `train_processes` does, with its arguments and options, over the hosts' links.

    hosts, bandwidth: who is where, and how quick each host's link is; see `places.place`.
    Raises NoHosts where this machine gives none.
    """
    places = place(hosts or {}, bandwidth, servers, workers)
    assert places is not None
    if len(places.bandwidth) > MAX_HOSTS:
        raise ValueError(f"{len(places.bandwidth)} hosts are too many: there are {MAX_HOSTS}.")
    if why := refused():
        raise NoHosts(f"Virtual hosts cannot be had here: {why}.")
    links = tuple(None if link == math.inf else link for link in places.bandwidth)
    where: dict[str, Any] = {"network": Network((0,), links), "places": places}
    return train_processes(*args, **{"workers": workers, "servers": servers, **where, **options})


def outcome(what: str, value: Any) -> Training:
    """The training, or the error that ended it. Runs in the notebook, which knows its cells."""
    if what == "trained":
        return value
    if what == "error":
        raise value from None
    if what == "failed":
        raise failed(*value) from None
    text, stacks = value
    for name, frames in stacks.items():
        text += f"\n{name} is computing:\n" + "".join(own(frames).format())
    workers = [int(name.split()[1]) for name in stacks if name.startswith("worker")]
    raise RunTimeout(text.rstrip(), tuple(workers)) from None


def supervise(comm: Comm, plan: Plan) -> tuple[str, Any]:
    """The one rank: makes the processes. Returns: how it ended, and what is to be told."""
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()  # its threads would not be in the forks
    try:
        cores = [Server(plan.make_rule(part)) for part in cut(plan.task.initial(), plan.servers)]
        client = plan.make_client()
    except BaseException as error:
        return "failed", ("the training's start", describe_failure(error, Recorder(0)))
    try:
        for core in cores:
            check_fit(core.rule, client, plan.workers)
    except (TypeError, ValueError) as error:
        return "error", error
    try:
        dumps(cores)
    except Exception as error:
        text = f"The rule cannot be saved for a restart of its server: {error}."
        return "error", TypeError(text)
    try:
        supervisor = Supervisor(plan, cores)
        supervisor.run()
    except Ending as ending:
        return ending.what, ending.value
    return "trained", result(supervisor)


def result(done: Supervisor) -> Training:
    """What the servers saved last, put together."""
    plan, table, parts = done.plan, done.table, []
    for number, record in enumerate(done.records):
        parts.append(pickle.loads(done.states[number]).core.rule.weights)
        record.bytes_in = int(table.bytes_in[number])
        record.bytes_out = int(table.bytes_out[number])
        record.story = done.stories(number)
        record.lost = sum(
            done.reached(number, i) - life.saved for i, life in enumerate(done.lives[number])
        )
    curve = []
    for made, looks in sorted(done.looks.items()):
        if len(looks) == plan.servers:
            moments, seen = zip(*(looks[s] for s in range(plan.servers)), strict=True)
            curve.append(Point(max(moments), made, plan.task.error(join(seen))))
    weights, seconds = join(parts), max(done.finished)
    trace = make_trace(done, seconds) if plan.trace else None
    error = plan.task.error(weights)
    return Training(weights, seconds, curve, done.records, error, done.died, trace)


def make_trace(done: Supervisor, end: float) -> Trace:
    """What the workers told, in seconds since the training began."""
    began, events = float(done.table.began[0]), []
    for event in done.events:
        first, last = max(event.start - began, 0.0), min(event.end - began, end)
        if event.start - began < end:
            events.append(Event(event.rank, event.kind, first, max(first, last)))
    return Trace(events, done.plan.workers)
