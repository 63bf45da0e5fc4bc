"""The process that makes servers and workers, waits for their ends, and restarts servers.

It is forked by `helpers.run` and computes nothing before it forks, so that its forks are clean.
When it ends, however it ends, whatever it has started is ended with it.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import termios
import time
from contextlib import suppress
from typing import Any, NamedTuple

from helpers.engine.servers import real_report as words
from helpers.engine.servers.freight import be_porter
from helpers.engine.servers.job import BEGIN, Job, Pipe
from helpers.engine.servers.real_child import be_child
from helpers.engine.servers.slots import RESTARTS
from helpers.engine.waiting import Patience, Stillness

_LOOK_SECONDS = 0.1
_TELL_SECONDS = 0.2
_VAIN = 10  # deaths of a server in a row without a single update


class Ending(Exception):
    """A training that cannot go on. what: which kind of end; value: what is told of it."""

    def __init__(self, what: str, value: Any) -> None:
        super().__init__(what)
        self.what, self.value = what, value


class Story(NamedTuple):
    """What the supervisor saw: workers that died, and of each server its restarts, in words."""

    died: dict[int, str]
    restarts: list[list[str]]
    lost: list[int]


class Supervisor:
    """Runs one job from the first fork to the last end."""

    def __init__(self, job: Job) -> None:
        self.job, self.slots = job, job.slots
        self.pids: dict[str, int] = {}
        self.porters: list[int] = []
        count = job.plan.servers
        self.story = Story({}, [[] for _ in range(count)], [0] * count)
        self.kills = sorted(
            (float(moment), name)
            for name, moments in job.plan.kill.items()
            for moment in moments
            if not isinstance(moment, int)
        )
        self._still = Stillness(self.moves_no_more, lambda: [*self.pids.values(), *self.porters])
        self._status: int | None = None
        self._told = 0.0
        self._patience = Patience(self.job.plan.timeout, lambda: ())
        with suppress(OSError):  # not on every system
            self._status = os.open(job.plan.status, os.O_WRONLY)

    def run(self) -> Story:
        """Train to the end. Raises Ending where that is not possible."""
        before = signal.signal(signal.SIGCHLD, lambda *_: None)
        wakeup = signal.set_wakeup_fd(self.job.bell.writer, warn_on_full_buffer=False)
        try:
            self.start_porters()
            for name in self.job.names:
                self.fork(name)
            self.slots.began[0] = time.monotonic()
            self._patience = Patience(self.job.plan.timeout, lambda: list(self.pids.values()))
            for pipe in self.job.to_server:
                pipe.send(BEGIN)
            while not self.slots.complete.all():
                self.look()
            self.reap(over=True)
            return self.story
        finally:
            signal.set_wakeup_fd(wakeup)
            signal.signal(signal.SIGCHLD, before)
            self.end_all()

    def start_porters(self) -> None:
        """Have a porter on each host, and wait until all listen."""
        places = self.job.plan.places
        if places is None:
            return
        reader, writer = os.pipe()
        hosts = sorted({*places.servers, *places.workers})
        for host in hosts:
            pid = os.fork()
            if pid == 0:
                os.close(reader)
                be_porter(self.slots, host, writer)  # does not return
            self.porters.append(pid)
        os.close(writer)
        if any(not os.read(reader, 1) for _ in hosts):
            raise Ending("dead", "A host could not be reached: its porter did not start.")
        os.close(reader)

    def fork(self, name: str) -> None:
        """Start a server or a worker."""
        pid = os.fork()
        if pid == 0:
            be_child(self.job, name)  # does not return
        self.pids[name] = pid

    def look(self) -> None:
        """Wait for something to happen, for a moment at most, and see to it."""
        now = self.slots.now()
        if self._patience.left <= 0:
            raise Ending("late", words.late(self.job, self.pids))
        until = min([_LOOK_SECONDS, *(moment - now for moment, _ in self.kills)])
        ready, _, _ = select.select([self.job.bell.reader], [], [], max(until, 0))
        if ready:
            self.job.bell.rest()
        self.kill()
        self.reap()
        self.stuck()
        if self._status is not None and now - self._told > _TELL_SECONDS:
            self._told = now
            text = "\n".join(words.progress(self.job)).encode()
            os.pwrite(self._status, text, 0)
            os.ftruncate(self._status, len(text))

    def kill(self) -> None:
        """Kill whom the plan wants killed by now."""
        while self.kills and self.kills[0][0] <= self.slots.now():
            _, name = self.kills.pop(0)
            if name in self.pids:
                os.kill(self.pids[name], signal.SIGKILL)

    def reap(self, over: bool = False) -> None:
        """See to the processes that have ended; once all is over, only to workers' deaths."""
        for name, pid in list(self.pids.items()):
            ended, status = os.waitpid(pid, os.WNOHANG)
            if not ended:
                continue
            del self.pids[name]
            kind, number = name.split()
            if over and (kind == "server" or not os.WIFSIGNALED(status)):
                continue
            last = os.pread(self.job.words[name], 1 << 24, 0)
            if last:
                raise Ending("failed", (name, last))
            how = words.death(os.waitstatus_to_exitcode(status))
            (self.worker_died if kind == "worker" else self.server_died)(int(number), how)

    def worker_died(self, number: int, how: str) -> None:
        """Let the servers know, so that nobody waits for it."""
        steps = int(self.slots.steps[number])
        made = int(self.slots.version.min())
        self.story.died[number] = (
            f"worker {number} {how} in its step {steps}, when {words.count(made, 'update')} "
            f"had been made; the others went on"
        )
        self.slots.gone[number] = 1
        for pipe in self.job.to_server:
            pipe.send(-1 - number)

    def server_died(self, number: int, how: str) -> None:
        """Start it again from what it saved, and say what was lost."""
        slots, old = self.slots, int(self.slots.incarnation[number])
        saved = self.job.vaults[number].version
        answers = slots.last_answers(number)
        told = answers[answers[:, 1] == old, 0]  # versions that this incarnation gave out
        at = max([saved, *(int(version) for version in told)])
        slots.ended[number, old] = at
        self.story.lost[number] += at - saved
        self.story.restarts[number].append(words.restart(number, how, at, saved))
        before = slots.restored[number, max(old - _VAIN + 1, 0) : old + 1]
        if old + 1 >= RESTARTS or (old + 1 >= _VAIN and (before == saved).all()):
            raise Ending("dead", words.in_vain(number, old + 1, self.story.restarts[number]))
        slots.restored[number, old + 1] = saved
        slots.idle[number] = 0
        slots.incarnation[number] = old + 1
        self.fork(f"server {number}")

    def moves_no_more(self) -> Any:
        """How far all have come where all wait and nothing is under way; None where not."""
        slots = self.slots
        waiting = slots.waiting().any(axis=0) | (slots.gone == 1)
        under_way = (slots.promised > slots.answered) & (slots.gone == 0)  # on a link
        still = waiting.all() and slots.idle.all() and not under_way.any()
        still = still and not any(map(_filled, self.job.to_server))
        return (slots.asked.sum(), slots.taken.sum(), slots.answered.sum()) if still else None

    def stuck(self) -> None:
        """Raise Ending where all wait for good."""
        if self._still.for_good() and not self.slots.complete.all():
            if self.slots.gone.all():
                raise Ending("dead", words.all_dead(self.job, self.story.died))
            raise Ending("stuck", words.stuck(self.job))

    def end_all(self) -> None:
        """End every process that is left and wait until it is gone."""
        everybody = [*self.pids.values(), *self.porters]
        for pid in everybody:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in everybody:
            os.waitpid(pid, 0)
        self.pids.clear()
        self.porters.clear()


def _filled(pipe: Pipe) -> bool:
    """Whether something lies in a pipe that nobody has read."""
    waiting = fcntl.ioctl(pipe.reader, termios.FIONREAD, b"\0" * 4)
    return any(waiting)
