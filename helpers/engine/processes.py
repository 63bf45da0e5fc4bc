"""The engine of real ranks: processes on this machine, forked from a clean server process."""

from __future__ import annotations

import os
import pickle
import select
import selectors
import socket
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from helpers.engine import report
from helpers.engine.board import Board, RankOutput, show_output
from helpers.engine.errors import RunError, RunInterrupted
from helpers.engine.launch import Client, client_for, environment
from helpers.engine.own_time import LOOK_SECONDS, Limit, OwnTime, descendants
from helpers.engine.plan import Failure, Plan
from helpers.engine.trace import Event, RankStats, Results, Stats, Trace, with_computing
from helpers.engine.waiting import Watch
from helpers.engine.wire import Parcel, anonymous_file, pack_function, receive_message, unpack_value

if TYPE_CHECKING:
    from helpers.engine.hosts.network import Network


def readable(sock: socket.socket) -> bool:
    """Whether something, or the end, can be read from a socket now."""
    poll = select.poll()  # takes any descriptor, unlike select.select
    poll.register(sock, select.POLLIN)
    return bool(poll.poll(0))


def run_processes(
    fn: Callable[..., Any],
    args: Sequence[Any],
    ranks: int,
    framework: str = "torch",
    timeout: float = 60.0,
    transport: str = "shared memory",
    device: str | None = None,
    threads: int = 1,
    show: bool = True,
    names: Sequence[str] = (),
    network: Network | None = None,
) -> Results:
    """Run `fn(comm, *args)` on real ranks; see `helpers.run` for what comes back and is raised.

    names: what stands before what the ranks print, if not "rank 0" and so on. network: the
    virtual hosts that they are on. Raises NoHosts where this machine gives none.
    """
    plan = Plan(ranks, framework, transport, device, threads, timeout, network=network)
    return _ended(fn, args, plan, show, names).results()


def call_apart(fn: Callable[[], Any], framework: str, own_time: float) -> Any:
    """What `fn()` returns, in a process that is gone afterwards, without a world.

    own_time: seconds that it may compute, and as many that it may sleep; `own_time.Late` is raised
    behind these, and `own_time.Undecided` where the machine is too busy to tell. Otherwise it ends
    as a run of one rank does; what it prints is not shown.
    """
    return _ended(fn, (), Plan(1, framework, "none", "cpu", 1, own_time)).answers[0][0]


def _ended(
    fn: Callable[..., Any],
    args: Sequence[Any],
    plan: Plan,
    show: bool = False,
    names: Sequence[str] = (),
) -> LocalRun:
    """A run that has come to its end, by a plan that says nothing yet of the notebook."""
    parcel = pack_function(fn, args)
    client = client_for(plan.framework, plan.network is not None)
    try:
        with client.lock:
            try:
                client.ready()
                plan = plan._replace(
                    environment=environment(client.given),
                    path=[folder or os.getcwd() for folder in sys.path],
                    folder=os.getcwd(),
                    head=parcel.head,
                )
                run = LocalRun(client, plan, parcel, show, names)
            except KeyboardInterrupt:
                raise RunInterrupted("The run was interrupted before its ranks started.") from None
            try:
                run.finish()
                return run
            finally:
                run.close()
    finally:
        parcel.close()


class LocalRun:
    """One run while it goes on: sockets to the ranks, what they have answered and printed."""

    def __init__(
        self, client: Client, plan: Plan, parcel: Parcel, show: bool, names: Sequence[str] = ()
    ) -> None:
        self.client, self.plan, self.show = client, plan, show
        self.names = list(names) or [f"rank {rank}" for rank in range(plan.size)]
        self.answers: dict[int, tuple[Any, Any]] = {}
        self.controls: list[socket.socket] = []
        self.outputs: list[RankOutput] = []
        self.stacks: list[int] = []
        self.selector = selectors.DefaultSelector()
        board = anonymous_file(Board.bytes(plan.size))
        self.board = Board(board, plan.size)
        try:
            self.pids = self.start(board, parcel)
        except BaseException:
            client.destroy()
            self.close()
            raise

    def start(self, board: int, parcel: Parcel) -> list[int]:
        """Make what connects the ranks with this process, and fork them; returns their ids."""
        given, theirs = [board], [board]
        try:
            for rank in range(self.plan.size):
                mine, control = socket.socketpair()
                self.controls.append(mine)
                theirs.append(control.detach())
                reader, writer = os.pipe()
                theirs.append(writer)
                live = self.show and rank == 0
                self.outputs.append(RankOutput(self.names[rank], reader, live))
                self.stacks.append(anonymous_file())
                given += [*theirs[-2:], self.stacks[-1]]
            # The last descriptor is the parcel's; where it has none, any will do.
            given.append(parcel.fd if parcel.fd is not None else board)
            return self.client.start(self.plan, given)
        finally:
            for fd in theirs:
                os.close(fd)

    def processes(self) -> list[int]:
        """Those of the ranks, and of all that they have started."""
        return [pid for rank in self.pids for pid in descendants(rank)]

    def finish(self) -> None:
        """Wait for every rank. Raises RunError or RunInterrupted as soon as one goes wrong."""
        try:
            self.supervise()
        except KeyboardInterrupt:
            raise RunInterrupted(report.interrupted(self)) from None
        finally:
            # What frameworks print because their peers are being ended is nobody's output.
            try:
                for output in self.outputs:
                    output.finish()
            finally:  # whatever comes of showing it
                self.client.end()
            if self.show:
                show_output(["", *(output.text for output in self.outputs[1:])], self.names)

    def supervise(self) -> None:
        """Handle what the ranks send until all have answered."""
        check = self.look_at_call() if self.plan.transport == "none" else self.look_at_ranks()
        for rank, control in enumerate(self.controls):
            self.selector.register(control, selectors.EVENT_READ, ("control", rank))
            self.selector.register(self.outputs[rank].fd, selectors.EVENT_READ, ("output", rank))
        self.selector.register(self.client.socket, selectors.EVENT_READ, ("server", -1))
        while len(self.answers) < self.plan.size:
            check()
            for key, _ in self.selector.select(LOOK_SECONDS):
                self.handle(*key.data)

    def look_at_ranks(self) -> Callable[[], None]:
        """What looks whether time is over or nobody can go on."""
        own, watch = OwnTime(self.processes), Watch(self, lambda: report.deadlocked(self))

        def check() -> None:
            watch.look()
            if own.look_if_due().taken >= self.plan.timeout:
                raise report.timed_out(self)

        return check

    def look_at_call(self) -> Callable[[], None]:
        """The same for a single call, which has seconds of its own."""
        return Limit(OwnTime(self.processes), self.plan.timeout).check

    def handle(self, what: str, rank: int) -> None:
        """One thing has come: output, an answer, or the end of a process."""
        if what == "output":
            if not self.outputs[rank].read():
                self.selector.unregister(self.outputs[rank].fd)
        elif what == "control":
            self.receive(rank)
        else:
            self.ended([self.client.exits()])

    def ended(self, exits: Sequence[tuple[int, int]]) -> None:
        """Take what the server tells of processes that have ended. Raises RankDied."""
        for rank, code in exits:
            # A process that the rank had forked may hold its socket: read only what is there.
            if rank not in self.answers and readable(self.controls[rank]):
                self.receive(rank)
            if rank not in self.answers:
                raise report.died(self, rank, code)

    def receive(self, rank: int) -> None:
        """Take a rank's answer. Raises RankFailed where it is an exception."""
        if rank in self.answers or (answer := self.read_answer(rank)) is None:
            return
        what, value, account = answer
        if what == "failure":
            # What frameworks raise when a peer has died is not the cause.
            self.ended(self.client.end())
            raise report.failed(self, rank, value, self.failed_too(rank))
        self.answers[rank] = value, account
        self.selector.unregister(self.controls[rank])

    def read_answer(self, rank: int) -> tuple[str, Any, Any] | None:
        """("value" or "failure", what it is, the account of the run); None at the rank's end."""
        control = self.controls[rank]
        try:
            body, fds = receive_message(control)
        except (EOFError, ConnectionError):
            if control.fileno() in self.selector.get_map():
                self.selector.unregister(control)
            return None
        what, head, account = pickle.loads(body)
        parcel = Parcel(head, fds[0] if fds else None)
        try:
            return what, unpack_value(parcel, mapped=False), account
        except Exception as error:
            raise RunError(
                f"What rank {rank} returned or raised cannot be taken out of its pickle here: "
                f"{type(error).__name__}: {error}. Return numbers, tensors, or containers of them.",
                (rank,),
            ) from error
        finally:
            parcel.close()

    def failed_too(self, first: int) -> dict[int, Failure]:
        """The exceptions of other ranks that have come by now."""
        found = {}
        for rank in self.unfinished():
            if rank != first and readable(self.controls[rank]):
                answer = self.read_answer(rank)
                if answer is not None and answer[0] == "failure":
                    found[rank] = answer[1]
        return found

    def results(self) -> Results:
        """Put the ranks' answers together."""
        order = range(self.plan.size)
        accounts = [self.answers[rank][1] for rank in order]
        begin = min(span[0] for _, _, _, span in accounts)
        events, stats, spans, sent = [], [], [], []
        for recorded, sent_to, messages, (start, end) in accounts:
            spans.append((start - begin, end - begin))
            stats.append(RankStats(sum(sent_to.values()), messages, end - start))
            sent.append(sent_to)
            for rank, kind, first, last, *rest in recorded:
                events.append(Event(rank, kind, first - begin, last - begin, *rest))
        trace = Trace(with_computing(events, spans), self.plan.size)
        texts = [output.text for output in self.outputs]
        network = self.plan.network
        hosts = network.hosts if network else (0,) * self.plan.size
        values = [self.answers[rank][0] for rank in order]
        return Results(values, trace, Stats(stats, sent, hosts), texts)

    def unfinished(self) -> list[int]:
        """The ranks that have not answered yet."""
        return [rank for rank in range(self.plan.size) if rank not in self.answers]

    def close(self) -> None:
        """Give back every descriptor."""
        self.selector.close()
        self.board.close()
        for control in self.controls:
            control.close()
        for output in self.outputs:
            output.close()
        for stack in self.stacks:
            os.close(stack)
