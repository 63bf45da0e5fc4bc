"""The network between the ranks of a submission, played by the judge on its own virtual clock.

Each rank of a call runs in a sandbox of its own and has its own arguments only. Here a proxy
stands for it: what the child asks for is done on the trusted virtual engine. So the bytes, the
messages, their order, the clock, the trace and a deadlock are the judge's own count, and what a
child says of itself is worth no more than a function's return value.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from functools import partial
from typing import Any

from helpers.checks.drives.handed import told
from helpers.checks.drives.ranks import Ranked, clock_of, returned
from helpers.checks.drives.requests import OPEN
from helpers.checks.drives.values import plain, tensors
from helpers.checks.encoding import Malformed, decode, encode
from helpers.checks.spec import Case, Exercise, Observation
from helpers.engine.errors import Deadlock, RankFailed
from helpers.engine.virtual import run_virtual
from helpers.grade.judge.channel import Channel, Lane, Violation, observed, without_end
from helpers.grade.judge.messages import Buffers, Packed, header_of, whole
from helpers.grade.sandbox.visible import driver_name
from helpers.grade.seen import SEEN
from helpers.grade.worker.frames import Closed, Late

_RECEIVING, _TOLD = "receiving", ("told", "pushed")


class Ended(Exception):
    """A rank that did not return. seen: how, as an observation."""

    def __init__(self, seen: Observation) -> None:
        super().__init__(seen.trouble)
        self.seen = seen


def observe_ranks(
    channels: Sequence[Channel],
    exercise: Exercise,
    drive: Ranked,
    case: Case,
    seconds: float,
    alone: bool = False,
) -> Observation:
    """Run one case on the ranks behind these channels; what they did, as the judge saw it.

    seconds: for each rank, of its own time. alone: what is handed over is in the children, too.
    After trouble the children are in no known state: end them.
    """
    buffers = Buffers(case.ranks)
    ranks = [Proxy(channel, case.ranks, buffers) for channel in channels]
    call = {"do": "rank", "function": exercise.function, "drive": driver_name(drive)}

    def body(comm: Any) -> None:
        args = case.args[comm.rank]
        hands = None if alone or drive.hands is None else drive.hands(comm, *map(tensors, args))
        asked = {**call, "args": encode(list(told(args, hands))), "local": alone}
        ranks[comm.rank].run(comm, asked, hands, seconds, SEEN.get(exercise.number, {}))

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

    def __init__(self, channel: Channel, size: int, buffers: Buffers) -> None:
        self.channel, self.size, self.buffers = channel, size, buffers
        self.value: Any = None
        self.sent: list[int] = []

    def run(
        self, comm: Any, asked: dict[str, Any], hands: Any, seconds: float, keys: Container[str]
    ) -> None:
        """One rank from its call to its return. keys: what it says of its messages, which the
        judge saw itself. Raises Ended."""
        comm.shared = partial(self.buffers.shared, comm)
        lane = RankLane(self, comm, hands)
        try:
            number = self.channel.begin(seconds)
            at = {"rank": comm.rank, "hosts": list(comm.hosts)}
            self.channel.send({**asked, "call": number, **at})
            seen = observed(lane.serve(), comm.rank)
            if seen.trouble:
                raise Ended(seen)
            if len(seen.values) != 1:
                raise Violation("no value of a rank")
            value = seen.values[0] if hands is None else _noted(hands, seen.values[0])
            self.value = lane.by_messages(value, keys)
            comm.finish()
            if lane.behind:
                self.channel.send({"lane": 0, "last": True})
        except (Late, Closed, Violation, Malformed) as error:
            raise Ended(without_end(error, comm.rank)) from None


def _noted(hands: Any, value: Any) -> Any:
    """What a rank gave, with what was seen of what was handed over."""
    try:
        return plain(hands.noted(value))
    except Exception:  # the value may be anything at all
        raise Violation("no value of this driver") from None


def _seen_open(value: Any, key: str, seen: int) -> Any:
    """What a rank gave, with what is right under a key: how many communications it left open."""
    if type(value) is dict and key in value:
        if _is_so(value[key], seen):
            return value
        return value["returned"] if value.keys() == {key, "returned"} else {**value, key: seen}
    if type(value) is dict and "returned" in value:
        return {**value, "returned": _seen_open(value["returned"], key, seen)}
    if type(value) is list and value and all(type(e) is dict and key in e for e in value):
        said = [each[key] for each in value]
        if any(_is_so(one, 1) for one in said) if seen else all(_is_so(one, 0) for one in said):
            return value
        return [*({**each, key: 0} for each in value[:-1]), {**value[-1], key: seen}]
    return {key: seen, "returned": value} if seen else value


def _is_so(said: Any, seen: int) -> bool:
    """Whether a process says that something is open where it is, and otherwise that nothing is."""
    return type(said) is int and (said > 0 if seen else said == 0)


class RankLane(Lane):
    """A rank's own thread (lane 0) or its communication thread (lane 1): its requests, in turn."""

    def __init__(self, rank: Proxy, comm: Any, hands: Any, lane: int = 0) -> None:
        super().__init__(rank.channel, hands, lane, comm)
        self.rank = rank
        self.behind: RankLane | None = None
        self._under_way: dict[int, Any] = {}
        self._open: dict[str, set[int]] = {OPEN: set(), _RECEIVING: set()}
        self._told: list[Packed] = []

    def by_messages(self, value: Any, keys: Container[str]) -> Any:
        """What a rank gave, where what it says of its messages is what was seen of them here."""
        for key, numbers in self._open.items():
            value = _seen_open(value, key, len(numbers)) if key in keys else value
        for key in _TOLD:
            if key in keys and type(value) is dict and key in value:
                value = {**value, key: [plain(each.unpacked()) for each in self._told]}
        return value

    def attempt(self, do: Callable[..., Any], *args: Any) -> Any:
        """Do something that may be refused in words, which are the child's answer then."""
        try:
            return do(*args)
        except (ValueError, TypeError, RuntimeError) as error:
            self.refuse(error)
            return _REFUSED

    def isend(self, number: Any, to: Any, message: Any) -> None:
        to, packed = whole(to, self.rank.size), Packed(header_of(message), message)
        self._begin(number, self.comm.isend(packed, to))
        self._open[OPEN].add(number)
        if self.lane == 0:
            self.rank.sent.append(to)
            self._told.append(packed)

    def irecv(self, number: Any, source: Any) -> None:
        self._begin(number, self.comm.irecv(whole(source, self.rank.size)))
        self._open[_RECEIVING].add(number)

    def wait(self, number: Any, answer: Any) -> None:
        got = self._take(number).wait()
        self._seen(number)
        if answer:
            self.answer(got)

    def done(self, number: Any) -> None:
        number = whole(number, 2**31)
        if number not in self._under_way:
            raise Violation("a communication that there is not")
        found = bool(self._under_way[number].done())
        if found:
            self._seen(number)
        self.answer(found)

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
                self.behind = RankLane(self.rank, comm, self.hands, 1)
            try:
                self.rank.channel.send({"lane": 1, "begin": True})
                self.behind.serve("ended")
            except (Late, Closed, Violation, Malformed) as error:
                raise Ended(without_end(error, comm.rank)) from None

        function.__name__ = name[:80]  # for the trace
        self._begin(number, self.comm.background(function))
        self.answer(None)

    def _seen(self, number: int) -> None:
        """Somebody has waited for a communication."""
        for numbers in self._open.values():
            numbers.discard(number)

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
RankLane.requests = {
    do.__name__: do
    for do in (
        RankLane.hand,
        RankLane.isend,
        RankLane.irecv,
        RankLane.wait,
        RankLane.done,
        RankLane.barrier,
        RankLane.time,
        RankLane.compute,
        RankLane.shared,
        RankLane.background,
    )
}
