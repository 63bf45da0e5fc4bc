"""The process that makes servers and workers, waits for their ends, and restarts servers.

It is forked by `helpers.run` and computes nothing before it forks, so that its forks are clean.
When it ends, however it ends, whatever it has started is ended with it.
"""

from __future__ import annotations

import faulthandler
import io
import os
import pickle
import select
import signal
import socket
import sys
import time
from collections import defaultdict
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn

from helpers.engine.errors import death
from helpers.engine.family import die_with_parent
from helpers.engine.hosts.namespaces import be_on
from helpers.engine.hosts.network import address
from helpers.engine.rank import describe_failure
from helpers.engine.real import Recorder
from helpers.engine.servers import real_report as words
from helpers.engine.servers.job import RESTARTS, Plan, State, Table, dumps
from helpers.engine.servers.parameter_server import Array, Server
from helpers.engine.servers.real_server import LEFT, ServerProcess
from helpers.engine.servers.real_worker import WorkerProcess
from helpers.engine.servers.training import ServerRecord
from helpers.engine.trace import Event
from helpers.engine.waiting import Patience, Stillness
from helpers.engine.wire import anonymous_file, receive_message, send_message

_LOOK_SECONDS = 0.1
_TELL_SECONDS = 0.2
_VAIN = 10  # deaths of a server in a row without a single update


class Ending(Exception):
    """A training that cannot go on. what: which kind of end; value: what is told of it."""

    def __init__(self, what: str, value: Any) -> None:
        super().__init__(what)
        self.what, self.value = what, value


class Child(NamedTuple):
    """A process. stack: the file for where in the code it is."""

    pid: int
    control: socket.socket
    stack: int


class Life(NamedTuple):
    """One incarnation of a server that has died: how, and which update was saved."""

    how: str
    saved: int


class Supervisor:
    """Runs one training from the first fork to the last end. cores: the servers as they begin."""

    def __init__(self, plan: Plan, cores: list[Server]) -> None:
        self.plan, self.table = plan, Table(plan.servers, plan.workers)
        self.listeners = [self.listen(number) for number in range(plan.servers)]
        self.gate, self.opener = os.pipe()  # a byte lets one process begin
        self.children: dict[str, Child] = {}
        taken, said = [1] * plan.workers, [0] * plan.workers
        self.states = [dumps(State(core, taken, said, {}, 0)) for core in cores]
        self.records = [ServerRecord([], [], [], 0) for _ in cores]
        self.restored = [[0] for _ in cores]  # at which update each incarnation began
        self.lives: list[list[Life]] = [[] for _ in cores]
        self.finished = [0.0] * plan.servers
        self.looks: dict[int, dict[int, tuple[float, Array]]] = defaultdict(dict)
        self.events: list[Event] = []
        self.died: dict[int, str] = {}
        self.kills = sorted(
            (float(moment), name)
            for name, moments in plan.kill.items()
            for moment in moments
            if not isinstance(moment, int)
        )
        self._still = Stillness(self.moves_no_more, self.pids)
        self._status: int | None = None
        self._told = 0.0
        with suppress(OSError):  # not on every system
            self._status = os.open(plan.status, os.O_WRONLY)

    def listen(self, server: int) -> socket.socket:
        """A socket for a server, on its host."""
        host = self.plan.host(f"server {server}")
        if host is not None:
            be_on(host)
        at = "127.0.0.1" if host is None else address(host)
        return socket.create_server((at, 0), backlog=128)

    def pids(self) -> list[int]:
        """The processes that are there."""
        return [child.pid for child in self.children.values()]

    def now(self) -> float:
        """Seconds since the training began."""
        return time.monotonic() - float(self.table.began[0])

    def run(self) -> None:
        """Train to the end. Raises Ending where that is not possible."""
        try:
            for name in self.plan.names:
                self.fork(name)
            self.table.began[0] = time.monotonic()
            os.write(self.opener, b"!" * len(self.children))
            self._patience = Patience(self.plan.timeout, self.pids)
            while not self.table.complete.all():
                self.look()
        finally:
            self.end_all()

    def fork(self, name: str) -> None:
        """Start a server or a worker."""
        ours, control = socket.socketpair()
        stack = anonymous_file()
        pid = os.fork()
        if pid == 0:
            self.be_child(name, control, stack)  # does not return
        control.close()
        self.children[name] = Child(pid, ours, stack)

    def be_child(self, name: str, control: socket.socket, stack: int) -> NoReturn:
        """Be a server or a worker until it is ended."""

        def tell(*message: Any) -> None:
            send_message(control, dumps(message))

        def fail(error: BaseException) -> NoReturn:
            tell("failed", describe_failure(error, Recorder(0)))
            os._exit(1)

        try:
            die_with_parent()
            if (host := self.plan.host(name)) is not None:
                be_on(host)
            faulthandler.enable(stack)
            faulthandler.register(signal.SIGUSR1, stack)
            sys.stdout, sys.stderr = Named(name, 1), Named(name, 2)
            os.read(self.gate, 1)
            kind, number = name.split()
            if kind == "server":
                self.serve(int(number), control, tell, fail)
            else:
                addresses = [listener.getsockname() for listener in self.listeners]
                WorkerProcess(self.plan, self.table, int(number), addresses, tell).run()
        except BaseException as error:
            fail(error)
        finally:
            os._exit(1)

    def serve(self, number: int, control: socket.socket, tell: Any, fail: Any) -> None:
        """Be a server, from where it was saved."""
        state, restored = pickle.loads(self.states[number]), self.restored[number]
        at = self.listeners[number]
        ServerProcess(self.plan, self.table, number, state, restored, at, control, tell, fail).run()

    def look(self) -> None:
        """Wait for something to happen, for a moment at most, and see to it."""
        if self._patience.left <= 0:
            stacks = {name: (child.pid, child.stack) for name, child in self.children.items()}
            raise Ending("late", words.late(self.plan, self.table, stacks))
        until = min([_LOOK_SECONDS, *(moment - self.now() for moment, _ in self.kills)])
        names = {child.control: name for name, child in self.children.items()}
        ready, _, _ = select.select(list(names), [], [], max(until, 0))
        for control in ready:
            self.hear(names[control])
        while self.kills and self.kills[0][0] <= self.now():
            _, name = self.kills.pop(0)
            if name in self.children:
                os.kill(self.children[name].pid, signal.SIGKILL)
        self.stuck()
        if self._status is not None and self.now() - self._told > _TELL_SECONDS:
            self._told = self.now()
            text = "\n".join(words.progress(self.plan, self.table)).encode()
            os.pwrite(self._status, text, 0)
            os.ftruncate(self._status, len(text))

    def hear(self, name: str) -> None:
        """Take what a process tells, or its end."""
        kind, number = name.split()
        try:
            what, *said = pickle.loads(receive_message(self.children[name].control)[0])
        except (EOFError, OSError):
            child = self.children.pop(name)
            child.control.close()
            os.close(child.stack)
            how = death(os.waitstatus_to_exitcode(os.waitpid(child.pid, 0)[1]))
            (self.worker_died if kind == "worker" else self.server_died)(int(number), how)
            return
        if what == "failed":
            raise Ending("failed", (name, *said))
        if what == "saved":
            self.saved(int(number), *said)
        elif what == "look":
            made, moment, weights = said
            self.looks[made][int(number)] = moment - float(self.table.began[0]), weights
        else:
            self.events.append(Event(int(number), *said))

    def saved(
        self, number: int, version: int, new: tuple[Any, ...], state: bytes, ends: bool, at: float
    ) -> None:
        """A server has saved its state; what its log has more goes into its record."""
        record, self.states[number] = self.records[number], state
        record.version = version
        log, updates, dropped = new
        record.log += log
        record.updates += updates
        record.dropped += dropped
        if ends:
            self.finished[number] = at - float(self.table.began[0])
            self.table.complete[number] = 1

    def worker_died(self, number: int, how: str) -> None:
        """Let the servers know, so that nobody waits for it."""
        steps = int(self.table.steps[number])
        made = int(self.table.version.min())
        self.died[number] = (
            f"worker {number} {how} in its step {steps}, when {words.count(made, 'update')} "
            f"had been made; the others went on"
        )
        self.table.gone[number] = 1
        for name, child in self.children.items():
            if name.startswith("server"):
                with suppress(OSError):  # it has died too; the next one looks who is gone
                    child.control.sendall(LEFT.pack(number))

    def server_died(self, number: int, how: str) -> None:
        """Start it again from what it saved."""
        saved, lives = self.records[number].version, self.lives[number]
        lives.append(Life(how, saved))
        recent = lives[-_VAIN:]
        vain = len(recent) == _VAIN and all(life.saved == saved for life in recent)
        if len(lives) >= RESTARTS or vain:
            last = self.stories(number)[-1]
            raise Ending("error", words.in_vain(number, len(lives), last))
        self.restored[number].append(saved)
        self.table.busy[number] = 0
        self.table.incarnation[number] = len(lives)
        self.fork(f"server {number}")
        os.write(self.opener, b"!")

    def reached(self, number: int, incarnation: int) -> int:
        """The update after which a server died: the last that was saved, or that a worker saw."""
        seen = int(self.table.seen[number, :, incarnation].max())
        return max(seen, self.lives[number][incarnation].saved)

    def stories(self, number: int) -> list[str]:
        """Of a server's restarts, in words."""
        return [
            words.restart(number, life.how, self.reached(number, i), life.saved)
            for i, life in enumerate(self.lives[number])
        ]

    def moves_no_more(self) -> Any:
        """How far all have come where all wait and nothing is under way; None where not."""
        table = self.table
        still = bool((table.waiting().any(axis=0) | (table.gone == 1)).all())
        if not still or table.busy.any() or table.travelling():
            return None
        return table.asked.sum(), table.taken.sum(), table.answered.sum()

    def stuck(self) -> None:
        """Raise Ending where all wait for good."""
        if self._still.for_good() and not self.table.complete.all():
            if self.table.gone.all():
                raise Ending("error", words.all_dead(self.plan, self.table, self.died))
            raise Ending("error", words.stuck(self.plan, self.table))

    def end_all(self) -> None:
        """End every process that is left and wait until it is gone."""
        for pid in self.pids():
            os.kill(pid, signal.SIGKILL)
        for pid in self.pids():
            os.waitpid(pid, 0)
        self.children.clear()


class Named(io.TextIOBase):
    """Output with its process's name before each line; a line is written whole."""

    def __init__(self, name: str, fd: int) -> None:
        self._name, self._fd, self._open = name, fd, ""

    def write(self, text: str) -> int:
        """Write the lines that are complete."""
        *lines, self._open = (self._open + text).split("\n")
        for line in lines:
            os.write(self._fd, f"{self._name} | {line}\n".encode())
        return len(text)

    def fileno(self) -> int:
        """Of the stream below."""
        return self._fd

    def writable(self) -> bool:
        """Always."""
        return True
