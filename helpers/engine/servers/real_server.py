"""A server's process: it takes up requests in the order of their arrival and answers them."""

from __future__ import annotations

import os
import signal
from collections import deque
from collections.abc import Sequence

from helpers.engine.servers.freight import Freight
from helpers.engine.servers.job import BEGIN, Job
from helpers.engine.servers.parameter_server import Message, Reply, Server
from helpers.engine.servers.rule import Push
from helpers.engine.servers.slots import PULL, copy_of, put
from helpers.engine.servers.training import bytes_of


class ServerProcess:
    """Server `number` of a job; `run` does not return, the supervisor ends it.

    A server that has made its last update saves its state and then only answers, without taking
    anything up, until all servers have.
    """

    def __init__(self, job: Job, number: int) -> None:
        self.job, self.number, self.slots = job, number, job.slots
        self.core: Server = job.cores[number]
        self.arrived: deque[Message] = deque()
        self.incarnation = int(self.slots.incarnation[number])
        self.freight = Freight(job.slots, job.plan.places, job.host(f"server {number}"))
        self.promised = self.slots.promised[number]
        self.promised[:] = self.slots.answered[number]  # what was on the way died with its server
        self.order = None if job.plan.order is None else job.plan.order[number]
        self.kill_at = self._kill_at()
        self.saved = 0  # the version of the last snapshot

    def run(self) -> None:
        """Begin, or go on where the last incarnation was saved; then serve for ever."""
        if self.incarnation:
            self.go_on()
        else:
            self.listen()  # for the word that everybody is there
            self.look(0)
            self.after(self.core.begin(), 0)
        while True:
            self.work()
            self.listen()

    def listen(self) -> None:
        """Wait until something arrives."""
        self.slots.idle[self.number] = 1
        codes = self.job.to_server[self.number].receive()
        self.slots.idle[self.number] = 0
        for code in codes:
            self.hear(code)

    def hear(self, code: int) -> None:
        """Note what has arrived. Only the slot tells whether it is new: notices may come twice."""
        if code == BEGIN:
            return
        if code < 0:
            self.arrived.append(Message("leave", -1 - code))
            return
        slots, s = self.slots, self.number
        kind = "pull" if slots.kind[s, code] == PULL else "push"
        there = any(m.worker == code and m.kind != "leave" for m in self.arrived)
        if slots.asked[s, code] > slots.taken[s, code] and not there:
            self.arrived.append(Message(kind, code))

    def work(self) -> None:
        """Take up what has arrived, as far as the order, where there is one, allows."""
        while (message := self.next()) is not None:
            before = self.core.rule.version
            self.after(self.take_up(message), before)

    def next(self) -> Message | None:
        """What is to be taken up now, None where that has not arrived."""
        if self.order is None or self.complete:
            return self.arrived.popleft() if self.arrived else None
        message = self.order[len(self.core.log)]
        if message.kind == "leave" and message.worker not in self.core.rule.workers:
            raise ValueError(f"In the order worker {message.worker} leaves, which is not there.")
        if message.kind != "leave":
            here = [m for m in self.arrived if m.kind != "leave"]
            found = next((m for m in here if m.worker == message.worker), None)
            if found is None:
                return None
            self.arrived.remove(found)
            if found != message:
                raise ValueError(
                    f"Message {len(self.core.log)} of the order is a {message.kind} of worker "
                    f"{message.worker}, but what has come from it is a {found.kind}. The order "
                    "belongs to another rule or client."
                )
        return message

    def take_up(self, message: Message) -> list[Reply]:
        """One message, by the core. Returns: the answers that follow."""
        slots, s, w = self.slots, self.number, message.worker
        if message.kind == "leave":
            return [] if self.complete else self.core.leave(w)
        slots.taken[s, w] = slots.asked[s, w]
        wants = bool(slots.wants[s, w])
        if self.complete:
            return self.core.refuse(w, wants)
        if message.kind == "push":
            slots.bytes_in[s] += bytes_of(slots.pushed[s][w])
        if message.kind == "pull":
            return self.core.pull(w)
        version, incarnation = (int(n) for n in slots.base[s, w])
        if version > slots.floor(s, incarnation):
            return self.refuse(w, version, wants)
        return self.core.push(w, copy_of(slots.pushed[s][w]), version, wants)

    def refuse(self, worker: int, version: int, wants: bool) -> list[Reply]:
        """A push that was computed on weights that were lost: its worker pulls and goes on."""
        if self.order is not None:
            raise ValueError(
                f"Server {self.number} has lost updates and cannot follow an order any more; use "
                "write_through=True."
            )
        replies = self.core.refuse(worker, wants)
        if replies:
            self.core.log.append(Message("pull", worker))
            self.core.dropped.append(Push(worker, version, 0))
        return replies

    def after(self, replies: Sequence[Reply], before: int) -> None:
        """Keep what has to be kept, then let the answers out."""
        made, job = self.core.rule.version, self.job
        ends = not self.complete and self.at_the_end()
        if ends and job.plan.servers > 1:
            replies = [*replies, *self.core.finish()]
        if made > before:
            self.look(made)
        every = job.plan.snapshot_every
        due = every and made > before and made // every > self.saved // every
        through = job.plan.write_through and (made > before or replies)
        if ends or (not self.complete and (due or through)):
            job.vaults[self.number].save(self.core, replies, self.slots.taken[self.number])
            self.saved = made
        for reply in replies:
            self.answer(reply)
        self.slots.version[self.number] = made
        if ends:
            self.finish()
        if made > before and made == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def answer(self, reply: Reply) -> None:
        """Answer a request that was taken up, once."""
        slots, s, w = self.slots, self.number, reply.worker
        if self.promised[w] >= slots.taken[s, w]:
            if self.incarnation:
                return  # the last incarnation has let it go on already
            raise RuntimeError(
                f"The rule of server {s} releases worker {w}, which is not waiting for it. A "
                "worker is released once for each push that was taken up."
            )
        self.promised[w] += 1
        number, has = int(self.promised[w]), reply.weights is not None
        rows = -1 if reply.rows is None else reply.rows

        def let_go() -> None:
            slots.answer[s, w, number % 2] = reply.version, self.incarnation, rows, has
            slots.answered[s, w] = number  # from here on it counts
            self.job.to_worker[w].ring()

        if not has:
            return let_go()
        if not self.complete:
            slots.bytes_out[s] += bytes_of(reply.weights)
        return self.freight.give(s, w, reply.weights, let_go)

    def go_on(self) -> None:
        """Take the place of a server that was killed."""
        slots, s = self.slots, self.number
        state = self.job.vaults[s].load()
        if state is None:
            replies, taken = self.core.begin(), [1] * self.job.plan.workers
        else:
            self.core, replies, taken = state
        self.saved = self.core.rule.version
        for w, number in enumerate(taken):
            slots.taken[s, w] = max(number, int(slots.answered[s, w]))
        for reply in replies:
            self.answer(reply)
        slots.version[s] = self.core.rule.version
        if self.at_the_end():
            self.finish()
        for w, gone in enumerate(slots.gone):
            self.job.to_worker[w].ring()  # it may have been answered and not woken
            self.hear(w)
            if gone:
                self.hear(-1 - w)

    @property
    def complete(self) -> bool:
        """Whether it has made its last update."""
        return bool(self.slots.complete[self.number])

    def at_the_end(self) -> bool:
        """Whether the last update is made, or the order has come to its end."""
        if self.order is not None:
            return len(self.core.log) >= len(self.order)
        return self.core.rule.version >= (self.job.plan.updates or 0)

    def finish(self) -> None:
        """Say that the last update is made and saved."""
        if not self.complete:
            self.slots.finished[self.number] = self.slots.now()
            self.slots.complete[self.number] = 1
        self.job.bell.ring()

    def look(self, made: int) -> None:
        """Keep the weights for the curve, if it is time."""
        every = self.job.plan.evaluate_every
        if every and made % every == 0 and made // every < self.slots.looks.shape[1]:
            put(self.slots.seen[self.number][made // every], self.core.rule.weights, "The weights")
            self.slots.looks[self.number, made // every] = self.slots.now()

    def _kill_at(self) -> int | None:
        """The update after which this incarnation is to die, for demonstrations."""
        kills = [k for k in self.job.plan.kill.get(f"server {self.number}", ()) if type(k) is int]
        return kills[self.incarnation] if self.incarnation < len(kills) else None
