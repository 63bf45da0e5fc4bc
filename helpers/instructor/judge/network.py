"""The network between the ranks of a submission, played by the judge on its own virtual clock.

Each rank of a call runs in a sandbox of its own and has its own arguments only. Here a proxy
stands for it: what the child asks for is done on the trusted virtual engine. So the bytes, the
messages, their order, the clock, the trace and a deadlock are the judge's own count, and what a
child says of itself is worth no more than a function's return value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from helpers.checks.compare import Other
from helpers.checks.drives.calling import failed
from helpers.checks.drives.ranks import Ranked, clock_of, returned
from helpers.checks.spec import Case, Observation
from helpers.engine.errors import Deadlock, RankFailed
from helpers.engine.virtual import run_virtual
from helpers.instructor.drivers import driver_name
from helpers.instructor.judge.channel import Channel, Violation
from helpers.instructor.judge.exchange import Exchange, Record
from helpers.instructor.judge.handing import Handing
from helpers.instructor.judge.messages import Packed, header_of, whole
from helpers.instructor.judge.remote import RemoteFunction, Talk
from helpers.instructor.judge.replies import observed, without_end
from helpers.instructor.judge.shared_memory import Buffers
from helpers.worker.encoding import Malformed, decode, encode
from helpers.worker.frames import Closed, Late


class Ended(Exception):
    """A rank that did not return. seen: how, as an observation."""

    def __init__(self, seen: Observation) -> None:
        super().__init__(seen.trouble)
        self.seen = seen


def observe_ranks(
    channels: Sequence[Channel],
    drive: Ranked,
    function: str,
    case: Case,
    seconds: float,
    inside: bool = False,
) -> Observation:
    """Run one case on the ranks behind these channels; what they did, as the judge saw it.

    seconds: for each rank, of its own time. inside: the driver runs in the children, whose word it
    is then. After trouble the children are in no known state: end them.
    """
    buffers = Buffers(case.ranks)
    ranks = [Proxy(channel, case.ranks, buffers, inside or drive.inside) for channel in channels]

    def body(comm: Any) -> None:
        args = case.args[comm.rank]
        ranks[comm.rank].run(comm, drive, function, args, seconds)

    try:
        results = run_virtual(
            body, (), ranks=case.ranks, show=False, timeout=None, **clock_of(case)
        )
    except RankFailed as error:
        if isinstance(error.__cause__, Ended):
            return error.__cause__.seen
        raise
    except Deadlock as error:
        return Observation(trouble="deadlock", waiting=dict(error.waiting))
    finally:
        buffers.close()
    values = [proxy.value for proxy in ranks]
    return returned(results, values, [proxy.sent for proxy in ranks])


class Proxy:
    """One rank: the child's requests done on the virtual engine's comm.

    value: what the rank gave. sent: to whom its own thread sent, in order.
    """

    def __init__(self, channel: Channel, size: int, buffers: Buffers, inside: bool) -> None:
        self.channel, self.size, self.buffers, self.inside = channel, size, buffers, inside
        self.value: Any = None
        self.sent: list[int] = []

    def run(
        self, comm: Any, drive: Ranked, function: str, args: tuple[Any, ...], seconds: float
    ) -> None:
        """One rank from its call to its return. Raises Ended."""
        handing = Handing(comm, self.buffers)
        comm.shared = partial(self.buffers.shared, comm)
        lane = Lane(self, comm, handing, {})
        call = {"function": function, "rank": comm.rank, "hosts": list(comm.hosts)}
        try:
            number = self.channel.begin(seconds)
            if self.inside:
                told = {"drive": driver_name(drive), "args": encode(list(args))}
                self.channel.send({"do": "rank", "call": number, **call, **told})
                op, said = lane.serve("return", "trouble")
                if op == "trouble":
                    raise Ended(observed(said, comm.rank))
                self.value = _value(said)
            else:
                self.channel.send({"do": "case", "call": number, **call})
                fn = RemoteFunction(Talk(lane, handing, comm.rank), function)
                self.value = _driven(drive, fn, comm, args)
            comm.finish()
            if lane.behind or not self.inside:
                self.channel.send({"lane": 0, "last": True})
        except (Late, Closed, Violation, Malformed) as error:
            raise ended(error, comm.rank) from None


def _driven(drive: Ranked, fn: RemoteFunction, comm: Any, args: tuple[Any, ...]) -> Any:
    """What a driver gives. Raises Ended where it, or the function, did not come to an end."""
    try:
        return drive.on_rank(fn, comm, args)
    except Ended:
        raise
    except Exception as error:
        # The function's own, or the driver's at what the function gave, as in a learner's check.
        raise Ended(failed(error, fn, comm.rank)) from None


def ended(error: Exception, rank: int) -> Ended:
    """How a rank ended whose connection gave this error."""
    return Ended(without_end(error, rank))


def _value(args: list[Any]) -> Any:
    try:
        return decode(args[0] if len(args) == 1 else None)
    except Malformed as error:
        return Other(f"value that cannot be taken: {error}")


class Lane(Exchange):
    """A rank's own thread (lane 0) or its communication thread (lane 1): its requests, in turn."""

    def __init__(
        self, rank: Proxy, comm: Any, handing: Handing, records: dict[int, Record], lane: int = 0
    ) -> None:
        super().__init__(rank.channel, handing, records, lane)
        self.rank, self.comm = rank, comm
        self.behind: Lane | None = None
        self._under_way: dict[int, Any] = {}

    def own_comm(self) -> Any:
        return self.comm

    def attempt(self, do: Callable[..., Any], *args: Any) -> Any:
        """Do something that may be refused in words, which are the child's answer then."""
        try:
            return do(*args)
        except (ValueError, TypeError, RuntimeError) as error:
            self.refuse(error)
            return _REFUSED

    def isend(self, number: Any, to: Any, message: Any) -> None:
        to, header = whole(to, self.rank.size), header_of(message)
        self._begin(number, self.comm.isend(Packed(header, message), to))
        if self.lane == 0:
            self.rank.sent.append(to)

    def irecv(self, number: Any, source: Any) -> None:
        self._begin(number, self.comm.irecv(whole(source, self.rank.size)))

    def wait(self, number: Any, answer: Any) -> None:
        got = self._take(number).wait()
        if answer:
            self.answer(got)

    def done(self, number: Any) -> None:
        number = whole(number, 2**31)
        if number not in self._under_way:
            raise Violation("a communication that there is not")
        self.answer(self._under_way[number].done())

    def barrier(self, answer: Any) -> None:
        self.comm.barrier()
        if answer:
            self.answer(None)

    def time(self) -> None:
        self.answer(self.comm.time())

    def compute(self, seconds: Any, answer: Any) -> None:
        seconds = decode(seconds)
        if type(seconds) is not float:
            raise Violation("no seconds")
        if self.attempt(self.comm.compute, seconds) is not _REFUSED and answer:
            self.answer(None)

    def shared(self, shape: Any, dtype: Any) -> None:
        found = self.attempt(self.rank.buffers.share, self.comm, shape, dtype)
        if found is not _REFUSED:
            self.answer(None, (found,))

    def background(self, number: Any, name: Any) -> None:
        if self.lane or type(name) is not str:
            raise Violation("no communication thread")

        def function(comm: Any) -> None:
            if self.behind is None:
                self.behind = Lane(self.rank, comm, self.handing, self.records, 1)
            try:
                self.rank.channel.send({"lane": 1, "begin": True})
                self.behind.serve("ended")
            except (Late, Closed, Violation, Malformed) as error:
                raise ended(error, comm.rank) from None

        function.__name__ = name[:80]  # for the trace
        self._begin(number, self.comm.background(function))
        self.answer(None)

    def _begin(self, number: Any, request: Any) -> None:
        number = whole(number, 2**31)
        if number in self._under_way:
            raise Violation("a number twice")
        self._under_way[number] = request

    def _take(self, number: Any) -> Any:
        request = self._under_way.pop(whole(number, 2**31), None)
        if request is None:
            raise Violation("a communication that there is not")
        return request


_REFUSED = object()
Lane.requests = {
    **Exchange.requests,
    **{
        do.__name__: do
        for do in (
            Lane.isend,
            Lane.irecv,
            Lane.wait,
            Lane.done,
            Lane.barrier,
            Lane.time,
            Lane.compute,
            Lane.shared,
            Lane.background,
        )
    },
}
