"""A server's process: it takes up requests in the order of their arrival and answers them."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import socket
import struct
import time
from collections.abc import Callable, Sequence

from helpers.engine.servers.job import Answer, Plan, Request, State, Table, check_like, dumps
from helpers.engine.servers.parameter_server import Message, Reply
from helpers.engine.servers.rule import Push
from helpers.engine.servers.training import bytes_of
from helpers.engine.wire import HEAD

LEFT = struct.Struct("=i")  # what the supervisor says of a worker that is gone: its number
_BUFFER = 1 << 24  # bytes of a request that are read ahead


class ServerProcess:
    """Server `number`; `run` does not return, the supervisor ends it.

    state: where it begins. restored: at which update each of its incarnations began, this one last.
    A server that has made its last update saves its state and then only answers, without taking
    anything up, until all servers have.
    """

    def __init__(
        self,
        plan: Plan,
        table: Table,
        number: int,
        state: State,
        restored: Sequence[int],
        listener: socket.socket,
        control: socket.socket,
        tell: Callable[..., None],
        fail: Callable[[BaseException], None],
    ) -> None:
        self.plan, self.table, self.number = plan, table, number
        self.tell, self.fail = tell, fail
        self.core, self.taken, self.said, self.answers, self.logged = state
        self.listener, self.control = listener, control
        self.restored, self.incarnation = restored, len(restored) - 1
        self.arrived: dict[int, Request] = {}  # by worker, the first one first
        self.wires: dict[int, asyncio.StreamWriter] = {}
        self.order = None if plan.order is None else plan.order[number]
        self.over = bool(self.incarnation) and self.at_the_end()
        self.saved = self.core.rule.version  # as the last snapshot has it
        self.like = self.core.rule.weights
        kills = [k for k in plan.kill.get(f"server {number}", ()) if type(k) is int]
        self.kill_at = kills[self.incarnation] if self.incarnation < len(kills) else None
        table.heard[number] = 0  # what was on its way to another incarnation died with it
        table.taken[number], table.said[number] = self.taken, self.said
        table.version[number] = self.core.rule.version

    def run(self) -> None:
        """Serve for ever."""
        asyncio.run(self.serve())

    async def serve(self) -> None:
        """Begin, or go on where the last incarnation was saved; then take up what comes."""
        if not self.incarnation:
            self.look(0)
        if not self.logged and not any(self.said):
            self.after(self.core.begin(), 0)
        for worker in self.table.gone.nonzero()[0].tolist():
            self.leave(worker)
        asyncio.get_running_loop().add_reader(self.control, self.told)
        server = await asyncio.start_server(self.hear, sock=self.listener, limit=_BUFFER)
        await server.serve_forever()

    def told(self) -> None:
        """The supervisor says that workers are gone."""
        for (worker,) in LEFT.iter_unpack(self.control.recv(LEFT.size)):
            self.guarded(self.leave, worker)

    async def hear(self, reader: asyncio.StreamReader, wire: asyncio.StreamWriter) -> None:
        """Take what comes over one connection, as long as its worker is there."""
        try:
            while True:
                length, _ = HEAD.unpack(await reader.readexactly(HEAD.size))
                request: Request = pickle.loads(await reader.readexactly(length))
                self.wires[request.worker] = wire
                self.guarded(self.take, request)
        except (EOFError, OSError):
            self.wires = {w: other for w, other in self.wires.items() if other is not wire}
            wire.close()

    def guarded(self, act: Callable[..., None], *args: object) -> None:
        """Do it; what it raises ends the server."""
        self.table.busy[self.number] = 1
        try:
            act(*args)
        except BaseException as error:
            self.fail(error)
        self.table.busy[self.number] = 0

    def take(self, request: Request) -> None:
        """A request has come: a new one, or once more one that was taken up before."""
        worker, number = request.worker, request.number
        if number > self.taken[worker]:
            self.arrived[worker] = request
        elif worker in self.answers and self.said[worker] == number:
            self.send(worker)
        self.table.heard[self.number, worker] = number
        self.work()

    def send(self, worker: int) -> None:
        """Send a worker its answer, without waiting until it has come."""
        data = dumps(self.answers[worker])
        self.wires[worker].write(HEAD.pack(len(data), 0) + data)

    def work(self) -> None:
        """Take up what has arrived, as far as the order, where there is one, allows."""
        while (message := self.next()) is not None:
            before = self.core.rule.version
            if message.kind == "leave":
                self.after(self.core.leave(message.worker), before)
            else:
                self.after(self.take_up(self.arrived.pop(message.worker)), before)

    def next(self) -> Message | None:
        """What is to be taken up now, None where that has not arrived."""
        if self.order is None or self.over:
            first = next(iter(self.arrived.values()), None)
            return first and Message(first.kind, first.worker)
        message = self.order[self.logged + len(self.core.log)]
        if message.kind == "leave":
            if message.worker not in self.core.rule.workers:
                raise ValueError(
                    f"In the order worker {message.worker} leaves, which is not there."
                )
            return message
        found = self.arrived.get(message.worker)
        if found is not None and found.kind != message.kind:
            raise ValueError(
                f"Message {self.logged + len(self.core.log)} of the order is a {message.kind} of "
                f"worker {message.worker}, but what has come from it is a {found.kind}. The order "
                "belongs to another rule or client."
            )
        return found and message

    def take_up(self, request: Request) -> list[Reply]:
        """One request, by the core. Returns: the answers that follow."""
        worker = request.worker
        self.answers.pop(worker, None)  # it has come, for its worker asks something else
        self.taken[worker] = self.table.taken[self.number, worker] = request.number
        if self.over:
            return self.core.refuse(worker, request.wants)
        if request.kind == "pull":
            return self.core.pull(worker)
        self.table.bytes_in[self.number] += bytes_of(request.part)
        if request.version > min(self.restored[request.incarnation + 1 :], default=request.version):
            return self.refuse(request)
        return self.core.push(worker, request.part, request.version, request.wants)

    def refuse(self, request: Request) -> list[Reply]:
        """A push that was computed on weights that were lost: its worker pulls and goes on."""
        if self.order is not None:
            raise ValueError(
                f"Server {self.number} has lost updates and cannot follow an order any more; use "
                "write_through=True."
            )
        replies = self.core.refuse(request.worker, request.wants)
        if replies:
            self.core.log.append(Message("pull", request.worker))
            self.core.dropped.append(Push(request.worker, request.version, 0))
        return replies

    def leave(self, worker: int) -> None:
        """A worker is gone."""
        if not self.over and self.order is None:
            before = self.core.rule.version
            self.after(self.core.leave(worker), before)

    def after(self, replies: Sequence[Reply], before: int) -> None:
        """Keep what has to be kept, then let the answers out."""
        made = self.core.rule.version
        ends = not self.over and self.at_the_end()
        if ends and self.plan.servers > 1:
            replies = [*replies, *self.core.finish()]
        if made > before:
            self.look(made)
        going = [reply.worker for reply in replies if self.is_due(reply)]
        every = self.plan.snapshot_every
        due = every and made > before and made // every > self.saved // every
        through = self.plan.write_through and (made > before or replies)
        if ends or (not self.over and (due or through)):
            self.save(ends)
        for worker in going:
            self.table.said[self.number, worker] = self.said[worker]
            if worker in self.wires:
                self.send(worker)
        self.over = self.over or ends
        self.table.version[self.number] = made
        if made > before and made == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)

    def is_due(self, reply: Reply) -> bool:
        """Whether a worker waits for this answer, which is kept until it asks again."""
        worker = reply.worker
        if self.said[worker] >= self.taken[worker]:
            if self.incarnation:
                return False  # the last incarnation has let it go on already
            raise RuntimeError(
                f"The rule of server {self.number} releases worker {worker}, which is not waiting "
                "for it. A worker is released once for each push that was taken up."
            )
        if reply.weights is not None:
            what = f"What the rule of server {self.number} gives as weights"
            check_like(self.like, reply.weights, what)
        if not self.over:
            self.table.bytes_out[self.number] += bytes_of(reply.weights)
        self.said[worker] = self.taken[worker]
        self.answers[worker] = Answer(self.taken[worker], self.incarnation, reply)
        return True

    def save(self, ends: bool) -> None:
        """Give the supervisor the state, and of the log what is new."""
        core, self.saved = self.core, self.core.rule.version
        new = core.log, core.updates, core.dropped
        core.log, core.updates, core.dropped = [], [], []
        self.logged += len(new[0])
        state = State(core, self.taken, self.said, self.answers, self.logged)
        self.tell("saved", self.saved, new, dumps(state), ends, time.monotonic())

    def at_the_end(self) -> bool:
        """Whether the last update is made, or the order has come to its end."""
        if self.order is not None:
            return self.logged + len(self.core.log) >= len(self.order)
        return self.core.rule.version >= (self.plan.updates or 0)

    def look(self, made: int) -> None:
        """Keep the weights for the curve, if it is time."""
        every = self.plan.evaluate_every
        if every and made % every == 0:
            self.tell("look", made, time.monotonic(), self.core.rule.weights)
