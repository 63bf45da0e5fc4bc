"""Parameter servers and workers as ranks of one `helpers.run` on this machine, with any rule.

Messages, output, time-outs, deadlocks and interrupts are those of a run. Its errors are told by
servers and workers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from helpers.engine.errors import NoHosts, RunError, RunInterrupted
from helpers.engine.hosts.namespaces import refused
from helpers.engine.hosts.network import MAX_HOSTS, Network
from helpers.engine.local import LocalComm
from helpers.engine.processes import run_processes
from helpers.engine.run import MAX_PROCESSES
from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.job import LINE, Plan, count
from helpers.engine.servers.links import Bandwidths, rates
from helpers.engine.servers.parameter_server import check_fit, cut, join
from helpers.engine.servers.real_report import retold
from helpers.engine.servers.real_server import Served, Serving
from helpers.engine.servers.real_worker import work
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import MakeRule, Point, Training
from helpers.engine.trace import Event, Trace
from helpers.engine.wire import anonymous_file

NO_FORK = (
    "This system cannot fork, and who is to be killed is forked from its rank: leave kill= out."
)


def train_processes(
    make_rule: MakeRule,
    make_client: MakeClient,
    task: Task,
    workers: int,
    servers: int,
    batch: int,
    updates: int,
    evaluate_every: int = 0,
    timeout: float = 60.0,
    snapshot_every: int = 100,
    write_through: bool = False,
    slow: Mapping[int, float] | None = None,
    kill: Mapping[str, int] | None = None,
    trace: bool = False,
    network: Network | None = None,
) -> Training:
    """Train on real processes, until every server has made exactly `updates` updates.

    timeout: seconds for the training. slow: extra seconds of a worker's steps.
    kill: for demonstrations, whom to kill with SIGKILL and when: {"server 0": 57} after its 57th
    update, {"worker 3": 10} after 10 steps. The others go on without that worker; the server is
    started again from its last snapshot. snapshot_every: updates between two of these, 0 for none.
    write_through: save before anything leaves a server, so that its death costs no update.
    network: the hosts of the servers, then of the workers, and their links.

    A rank that dies otherwise ends the training. Raises what `helpers.run` raises, which names
    servers and workers, and RunError where no worker is left. Nothing is left behind.
    """
    progress = anonymous_file()
    plan = Plan(
        make_rule, make_client, task, workers, servers, batch, updates, evaluate_every,
        snapshot_every, write_through, dict(slow or {}), dict(kill or {}),
        f"/proc/{os.getpid()}/fd/{progress}",
    )  # fmt: skip
    try:
        check(plan, timeout)
        results = run_processes(
            be_member, (plan,), servers + workers, timeout=timeout, device="cpu",
            names=plan.names, network=network,
        )  # fmt: skip
    except NoHosts:
        raise
    except (RunError, RunInterrupted) as error:
        told = os.pread(progress, LINE * servers, 0).decode()
        lines = [told[at : at + LINE].strip("\0 ") for at in range(0, len(told), LINE)]
        raise retold(error, plan.names, "\n".join(lines), timeout) from None
    finally:
        os.close(progress)
    training = put_together(plan, results[:servers])
    if trace:
        begun = min(served.began for served in results[:servers])
        training.trace = make_trace(results[servers:], begun, training.seconds)
    return training


def be_member(comm: LocalComm, plan: Plan) -> Any:
    """What each rank does: serve or work."""
    if comm.rank < plan.servers:
        return Serving(comm, plan, comm.rank).run()
    return work(comm, plan, comm.rank - plan.servers)


def check(plan: Plan, timeout: float) -> None:
    """Raise ValueError, TypeError or RunError for what cannot be."""
    if not timeout > 0:
        raise ValueError(f"timeout={timeout} is not a time; give seconds above 0.")
    if plan.snapshot_every < 0:
        raise ValueError(f"snapshot_every={plan.snapshot_every}: give updates, or 0 for never.")
    for worker, seconds in plan.slow.items():
        if worker not in range(plan.workers) or not 0 <= seconds < math.inf:
            raise ValueError(
                f"slow={{{worker!r}: {seconds!r}}}: name a worker from 0 to {plan.workers - 1} and "
                "the seconds that each of its steps takes longer."
            )
    if len(plan.names) > MAX_PROCESSES:
        raise ValueError(
            f"{plan.workers} workers and {plan.servers} servers are too many: a machine runs "
            f"{MAX_PROCESSES} processes at most here, the virtual clock thousands."
        )
    for name, moment in plan.kill.items():
        if name not in plan.names:
            raise ValueError(f"kill names {name!r}; there are {', '.join(plan.names)}.")
        if not hasattr(moment, "__index__") or moment < 1:
            raise ValueError(
                f"kill={{{name!r}: {moment!r}}}: give a number of updates or steps, 1 or more."
            )
    if plan.kill and not hasattr(os, "fork"):
        raise RunError(NO_FORK)
    for part in cut(plan.task.initial(), plan.servers):
        check_fit(plan.make_rule(part), plan.make_client(), plan.workers)


def train_on_hosts(
    *args: Any,
    workers: int,
    servers: int,
    bandwidth: Bandwidths = None,
    **options: Any,
) -> Training:
    """Train as `train_processes` does, with its arguments and options, each on a host of its own.

    bandwidth: of the hosts' links; see `links.rates`. Raises NoHosts where this machine gives none.
    """
    links = rates(bandwidth, servers, workers)
    if len(links) > MAX_HOSTS:
        raise ValueError(f"{len(links)} hosts are too many: there are {MAX_HOSTS}.")
    if why := refused():
        raise NoHosts(f"Virtual hosts cannot be had here: {why}.")
    quick = tuple(None if link == math.inf else link for link in links)
    network = Network(tuple(range(len(links))), quick)
    given = {"workers": workers, "servers": servers, "network": network, **options}
    return train_processes(*args, **given)


def put_together(plan: Plan, served: Sequence[Served]) -> Training:
    """What the servers returned, as a training. Raises RunError where no worker was left."""
    died = {worker: words for each in served[:1] for worker, words in each.died.items()}
    weights = join([each.weights for each in served])
    ends = [each.seconds for each in served if each.seconds is not None]
    if len(ends) < plan.servers:
        made = min(each.made for each in served)
        stories = [words.removesuffix("; the others went on") for words in died.values()]
        raise RunError(
            f"All {count(plan.workers, 'worker')} have died after {made} of {plan.updates} "
            "updates; nobody is left to compute gradients.\n" + "\n".join(stories)
        )
    began = min(each.began for each in served)
    curve = []
    for made in sorted(served[0].looks):
        looks = [each.looks[made] for each in served if made in each.looks]
        if len(looks) == plan.servers:
            moments, seen = zip(*looks, strict=True)
            curve.append(Point(max(moments) - began, made, plan.task.error(join(seen))))
    records = [each.record for each in served]
    error = plan.task.error(weights)
    return Training(weights, max(ends) - began, curve, records, error, died)


def make_trace(done: Sequence[Sequence[Event]], began: float, seconds: float) -> Trace:
    """What the workers did, in seconds since the training began, as long as it went on."""
    events = []
    for each in (event for events in done for event in events):
        start, end = max(each.start - began, 0.0), min(each.end - began, seconds)
        if start < seconds:
            events.append(Event(each.rank, each.kind, start, max(start, end)))
    return Trace(events, len(done))
