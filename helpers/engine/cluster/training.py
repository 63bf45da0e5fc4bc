"""`helpers.train(engine="cluster")`: parameter servers and workers as the ranks of one job.

The first ranks are servers, the next ones workers; any more are idle. What a worker asks and a
server answers goes over the job's own network. A server takes up what comes first, from whichever
worker, as `helpers.engine.servers.parameter_server` has it.

Ranks that die end the training, with their names: a job is one piece to SLURM. Servers that are
restarted from snapshots, and workers that may be missed, are on `engine="processes"` alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from helpers.engine.comm import Comm
from helpers.engine.servers.client import MakeClient
from helpers.engine.servers.parameter_server import Array, Reply, Server, Worker, cut, join
from helpers.engine.servers.parameter_server import check_fit as fits
from helpers.engine.servers.task import Task
from helpers.engine.servers.training import MakeRule, Point, ServerRecord, Training, bytes_of

PULL, PUSH, LEAVE = 0, 1, 2
_ASKED, _SENT, _ANSWERED, _GIVEN = 40, 41, 42, 43  # tags, apart from those of a comm's messages


class Setting(NamedTuple):
    """What every rank of a training is told."""

    make_rule: MakeRule
    make_client: MakeClient
    task: Task
    workers: int
    servers: int
    batch: int
    updates: int
    evaluate_every: int


class Served(NamedTuple):
    """What a server's rank returns. looks: (seconds, updates, weights) now and then."""

    record: ServerRecord
    weights: Array
    seconds: float
    looks: list[tuple[float, int, Array]]


def train_on_cluster(
    make_rule: MakeRule,
    make_client: MakeClient,
    task: Task,
    workers: int,
    servers: int,
    batch: int,
    updates: int | None,
    evaluate_every: int = 0,
    order: Any = None,
    nodes: int = 2,
    ranks_per_node: int | None = None,
    **options: Any,
) -> Training:
    """Train on a job of `workers + servers` ranks; options are those of `helpers.run`.

    Raises what helpers.run raises.
    """
    from helpers.engine.run import run

    if order is not None or updates is None:
        raise ValueError(
            "On a cluster servers take up what comes first: give updates=, and follow their logs "
            'with order= on engine="virtual" or "processes".'
        )
    whole = task.initial()
    for part in cut(whole, servers):
        fits(make_rule(part), make_client(), workers)
    size = workers + servers
    each = math.ceil(size / nodes) if ranks_per_node is None else ranks_per_node
    if nodes * each < size:
        raise ValueError(
            f"{workers} workers and {servers} servers are {size} ranks, and {nodes} nodes of "
            f"{each} have {nodes * each}."
        )
    setting = Setting(
        make_rule, make_client, task, workers, servers, batch, updates, evaluate_every
    )
    results = run(be_member, setting, engine="cluster", nodes=nodes, ranks_per_node=each, **options)
    return put_together(setting, results[:servers])


def put_together(setting: Setting, served: Sequence[Served]) -> Training:
    """What the servers returned, as a training."""
    task, curve = setting.task, []
    for looks in zip(*(each.looks for each in served), strict=True):
        weights = join([look[2] for look in looks])
        curve.append(Point(max(look[0] for look in looks), looks[0][1], task.error(weights)))
    weights = join([each.weights for each in served])
    seconds = max(each.seconds for each in served)
    records = [each.record for each in served]
    return Training(weights, seconds, curve, records, task.error(weights))


def be_member(comm: Comm, setting: Setting) -> Served | None:
    """What each rank does: serve, work, or stand by."""
    if comm.rank < setting.servers:
        return Serving(setting, comm.rank).run()
    if comm.rank < setting.servers + setting.workers:
        work(setting, comm.rank - setting.servers)
    return None


class Serving:
    """Server `number`, on its rank."""

    def __init__(self, setting: Setting, number: int) -> None:
        self.setting = setting
        part = cut(setting.task.initial(), setting.servers)[number].clone()
        self.core, self.shape = Server(setting.make_rule(part)), part
        self.bytes_in = self.bytes_out = 0
        self.looks: list[tuple[float, int, Array]] = []
        self.begin = time.perf_counter()
        self.seconds: float | None = None
        self.under_way: dict[int, tuple[list[Any], list[Any]]] = {}

    def run(self) -> Served:
        """Serve until every worker has left."""
        self.look(0)
        self.answer(self.core.begin())
        left = 0
        asked = torch.zeros(3, dtype=torch.int64)
        while left < self.setting.workers:
            source = dist.recv(asked, None, tag=_ASKED)
            kind, version, wants = asked.tolist()
            worker = source - self.setting.servers
            if kind == LEAVE:
                left += 1
            else:
                self.take(worker, kind, version, bool(wants))
        for worker in list(self.under_way):
            self.settle(worker)
        core, seconds = self.core, self.seconds
        assert seconds is not None
        record = ServerRecord(
            core.log, core.updates, core.dropped, core.rule.version, self.bytes_in, self.bytes_out
        )
        return Served(record, core.rule.weights, seconds, self.looks)

    def take(self, worker: int, kind: int, version: int, wants: bool) -> None:
        """Take up what a worker asks."""
        part = torch.empty_like(self.shape)
        if kind == PUSH:
            dist.recv(part, worker + self.setting.servers, tag=_SENT)
            self.bytes_in += bytes_of(part)
        if self.seconds is not None:
            return self.answer(self.core.refuse(worker, wants))
        if kind == PULL:
            return self.answer(self.core.pull(worker))
        before = self.core.rule.version
        replies = self.core.push(worker, part, version, wants)
        made = self.core.rule.version
        if made > before:
            self.look(made)
        if made >= self.setting.updates:
            self.seconds = time.perf_counter() - self.begin
            replies = [*replies, *self.core.finish()]
        return self.answer(replies)

    def answer(self, replies: Sequence[Reply]) -> None:
        """Let workers go on.

        Without waiting for them: a worker hears one server after the other, and two servers that
        each wait for a worker to listen would hold each other up.
        """
        for worker, weights, version, rows in replies:
            to = worker + self.setting.servers
            over = self.seconds is not None
            told = [version, -1 if rows is None else rows, weights is not None, over]
            self.settle(worker)
            parcels = [(torch.tensor(told, dtype=torch.int64), _ANSWERED)]
            if weights is not None:
                parcels.append((weights.clone(), _GIVEN))
                self.bytes_out += bytes_of(weights)
            works = [dist.isend(tensor, to, tag=tag) for tensor, tag in parcels]
            self.under_way[worker] = works, parcels  # the tensors have to live until they are sent

    def settle(self, worker: int) -> None:
        """What was sent to a worker has arrived, for it has asked again since."""
        works, _ = self.under_way.pop(worker, ([], []))
        for sent in works:
            sent.wait()

    def look(self, made: int) -> None:
        """Keep the weights for the curve, if it is time."""
        every = self.setting.evaluate_every
        if every and made % every == 0:
            weights = self.core.rule.weights.clone()
            self.looks.append((time.perf_counter() - self.begin, made, weights))


def work(setting: Setting, number: int) -> None:
    """Be worker `number`: pull, compute, push, until every server has made its updates."""
    parts = cut(setting.task.initial(), setting.servers)
    worker = Worker(number, setting.make_client(), setting.task, setting.batch, setting.servers)
    torch.manual_seed(number)  # a task that draws numbers does not draw the same everywhere
    over = hear(worker, parts)
    while not over:
        if worker.client.wants_weights:
            ask(worker, PULL)
        elif (pushed := worker.compute()) is not None:
            ask(worker, PUSH, pushed)
        else:
            continue
        over = hear(worker, parts)
    ask(worker, LEAVE)


def ask(worker: Worker, kind: int, parts: Sequence[Array] = ()) -> None:
    """Send every server a request, and its part of what is pushed."""
    wants = kind == PULL or worker.client.wants_weights
    for server, version in enumerate(worker.versions):
        dist.send(torch.tensor([kind, version, wants]), server, tag=_ASKED)
        if parts:
            dist.send(parts[server].contiguous(), server, tag=_SENT)


def hear(worker: Worker, parts: Sequence[Array]) -> bool:
    """Wait for every server's answer. Returns: whether all have made their last updates."""
    replies, over = [], True
    told = torch.zeros(4, dtype=torch.int64)
    for server, part in enumerate(parts):
        dist.recv(told, server, tag=_ANSWERED)
        version, rows, has, complete = told.tolist()
        weights = None
        if has:
            weights = torch.empty_like(part)
            dist.recv(weights, server, tag=_GIVEN)
        replies.append(Reply(worker.number, weights, version, None if rows < 0 else rows))
        over = over and bool(complete)
    worker.receive(replies)
    return over
