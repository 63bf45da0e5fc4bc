"""A server's rank: it takes up what workers ask in the order of its coming, and answers.

One that is to be killed is kept by a process of its own. The rank, at which the workers ask, stays
and starts it again from what it saved last, as somebody who supervises servers does.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

from helpers.engine.local import LocalComm
from helpers.engine.servers.apart import Apart, Died
from helpers.engine.servers.job import LINE, Answer, Ask, Plan, count, say
from helpers.engine.servers.parameter_server import Array, Reply, Server, cut
from helpers.engine.servers.training import ServerRecord, bytes_of

_MOST_IN_VAIN = 5  # deaths in a row without an update


class Done(NamedTuple):
    """What has followed from a call of a server.

    made: updates so far. look: the weights, if it is time to look at them. saved: the server, if it
    is time to save it.
    """

    replies: Sequence[Reply]
    made: int
    look: Array | None
    saved: Server | None


class Keeper:
    """Keeps a server: called with the name of a method of its and what that takes.

    doomed: whether its process is to be killed now. kill: the update after which it is.
    """

    def __init__(self, plan: Plan, core: Server, kill: int | None) -> None:
        self.plan, self.core, self.kill = plan, core, kill
        self.doomed = False

    def __call__(self, method: str, *args: Any) -> Done:
        """Let it act."""
        before = self.core.rule.version
        replies = getattr(self.core, method)(*args)
        made = self.core.rule.version
        new, every = made > before, self.plan.snapshot_every
        self.doomed = new and made == self.kill
        looks = self.plan.evaluate_every
        look = self.core.rule.weights if new and looks and made % looks == 0 else None
        due = self.plan.write_through or (new and every and made // every > before // every)
        return Done(replies, made, look, self.core if due or method == "finish" else None)


class Served(NamedTuple):
    """What a server's rank returns.

    made: updates, for good or not. began, seconds: by time.monotonic(); seconds is None where it
    never made its last update.
    looks: by updates, when and at which weights. died: workers, in words.
    """

    record: ServerRecord
    weights: Array
    made: int
    began: float
    seconds: float | None
    looks: dict[int, tuple[float, Array]]
    died: dict[int, str]


class Ear(NamedTuple):
    """Takes a worker's next message when it comes."""

    server: Serving
    worker: int

    def fill(self, notice: Any) -> None:
        """It has come."""
        said = self.server.comm.take(self.server.plan.servers + self.worker, notice, None)
        self.server.arrived[self.worker] = pickle.loads(said)


class Serving:
    """Server `number`, on its rank.

    arrived: by worker, the first one first, what has come and was not taken up. owed: the workers
    that wait for an answer. stale: those that may have weights that were lost. saved, base: the
    update that was saved last, and the one that it was restarted from.
    """

    def __init__(self, comm: LocalComm, plan: Plan, number: int) -> None:
        self.comm, self.plan, self.number = comm, plan, number
        self.core = Server(plan.make_rule(cut(plan.task.initial(), plan.servers)[number]))
        kill = plan.kill.get(f"server {number}")
        keeper = Keeper(plan, self.core, kill)
        self.keeper = keeper if kill is None else Apart(keeper)
        self.made = self.saved = self.base = self.in_vain = 0
        self.here = set(range(plan.workers))
        self.owed, self.stale = set(self.here), set[int]()
        self.arrived: dict[int, Ask] = {}
        self.seconds: float | None = None
        self.record = ServerRecord([], [], [], 0)
        self.looks: dict[int, tuple[float, Array]] = {}
        self.died: dict[int, str] = {}
        self.progress: int | None = None
        with contextlib.suppress(OSError):  # not on every system
            self.progress = os.open(plan.progress, os.O_WRONLY)
        for worker in self.here:
            self.listen(worker)

    def listen(self, worker: int) -> None:
        """Ask for a worker's next message."""
        self.comm.inbox.ask(Ear(self, worker), self.plan.servers + worker)

    def run(self) -> Served:
        """Serve until every worker has left."""
        self.comm.barrier()
        began = time.monotonic()
        if self.plan.evaluate_every:
            self.looks[0] = began, self.core.rule.weights
        self.follow(self.keeper("begin"))
        while self.here:
            try:
                self.take(self.next())
                if self.seconds is None and self.made >= self.plan.updates:
                    self.finish()
            except Died as death:
                self.restart(death.how)
        core, record = self.core, self.record
        record.log, record.updates, record.dropped = core.log, core.updates, core.dropped
        record.version = core.rule.version
        weights, end = core.rule.weights, self.seconds
        return Served(record, weights, self.made, began, end, self.looks, self.died)

    def next(self) -> int:
        """Wait until something has come. Returns: from which worker the first thing is."""
        if not self.arrived:
            self.tell()
            self.comm.wait_for(lambda: bool(self.arrived), "receiving")
        return next(iter(self.arrived))

    def take(self, worker: int) -> None:
        """Take up what a worker asks. Raises Died where that has to be done once more."""
        ask, over = self.arrived[worker], self.seconds is not None
        if ask.kind == "leave":
            done = None if over else self.keeper("leave", worker)
            self.here.discard(worker)
            if ask.died:
                made = count(self.made, "update")
                self.died[worker] = f"{ask.died}, when {made} had been made; the others went on"
        else:
            if over:
                done = self.keeper("refuse", worker, ask.wants)
            elif ask.kind == "pull":
                done = self.keeper("pull", worker)
            else:
                lost = worker in self.stale and ask.version > self.base
                how = "lose" if lost else "push"
                done = self.keeper(how, worker, ask.part, ask.version, ask.wants)
            self.owed.add(worker)
            self.record.bytes_in += 0 if over else bytes_of(ask.part)
        del self.arrived[worker]
        if worker in self.here:
            self.listen(worker)
        if done is not None:
            self.follow(done)

    def follow(self, done: Done) -> None:
        """Keep what has to be kept, then let the answers out."""
        self.made = done.made
        if done.saved is not None:
            self.core, self.saved = done.saved, done.made
        if done.look is not None:
            self.looks[done.made] = time.monotonic(), done.look
        for reply in done.replies:
            if reply.worker in self.owed:
                self.answer(reply)
            elif not self.record.story:  # an earlier life may have let it go on already
                raise RuntimeError(
                    f"The rule of server {self.number} releases worker {reply.worker}, which is "
                    "not waiting for it. A worker is released once for each push that was taken up."
                )

    def answer(self, reply: Reply) -> None:
        """Let a worker go on."""
        over = self.seconds is not None
        self.owed.discard(reply.worker)
        if reply.weights is not None:
            self.stale.discard(reply.worker)
        self.record.bytes_out += 0 if over else bytes_of(reply.weights)
        say(self.comm, Answer(reply, over), self.plan.servers + reply.worker)

    def finish(self) -> None:
        """It has made its last update: all that wait go on, for another server may need them."""
        done = self.keeper("finish")
        self.seconds = time.monotonic()
        self.follow(done)

    def restart(self, how: str) -> None:
        """Its process has died: another takes its place, from what was saved."""
        self.in_vain = self.in_vain + 1 if self.record.story and self.made == self.base else 0
        if self.in_vain == _MOST_IN_VAIN:
            raise RuntimeError(f"Server {self.number} {how} again, with no update since.")
        self.record.lost += self.made - self.saved
        self.base = self.saved
        self.record.story.append(restarted(self.number, how, self.made, self.saved))
        self.stale = set(self.here)
        self.keeper = Apart(Keeper(self.plan, self.core, None))
        for worker in self.died:
            self.follow(self.keeper("leave", worker))
        self.follow(self.keeper("resume", sorted(self.owed)))

    def tell(self) -> None:
        """Write what it waits for where it can be read if the training has to be ended."""
        if self.progress is None:
            return
        text = f"server {self.number} has made {count(self.made, 'update')} of {self.plan.updates}"
        computing = sorted(self.here - self.owed)
        if self.seconds is not None:
            text += "; it is done"
        elif computing:
            text += f"; it waits for {' and '.join(f'worker {w}' for w in computing)}"
        else:
            text += "; every worker waits for an answer"
        os.pwrite(self.progress, text.encode()[:LINE].ljust(LINE), self.number * LINE)


def restarted(server: int, how: str, at: int, saved: int) -> str:
    """A server died and a new one took its place."""
    if not (lost := at - saved):
        return f"server {server} {how} after update {at} and went on from there: no update was lost"
    start = f"its snapshot at update {saved}" if saved else "the start"
    return (
        f"server {server} {how} after update {at} and went on from {start}: "
        f"{count(lost, 'update')} {'was' if lost == 1 else 'were'} lost"
    )
