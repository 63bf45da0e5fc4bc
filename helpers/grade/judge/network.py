"""The network between the ranks of a submission, played by the judge on its own virtual clock.

Each rank of a call runs in a sandbox of its own and has its own arguments only. Here a proxy
stands for it: what the child asks for is done on the trusted virtual engine. So the bytes, the
messages, their order, the clock, the trace and a deadlock are the judge's own count, and what a
child says of itself is worth no more than a function's return value.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from helpers.checks.drives.handed import told
from helpers.checks.drives.ranks import Ranked, clock_of, returned
from helpers.checks.drives.requests import OPEN
from helpers.checks.drives.values import plain, tensors
from helpers.checks.encoding import Malformed, decode, encode
from helpers.checks.spec import Case, Exercise, Observation
from helpers.engine.errors import Deadlock, RankFailed
from helpers.engine.virtual import run_virtual
from helpers.grade.judge.channel import NOTHING, OVER, Channel, Lane, observed, without_end
from helpers.grade.judge.messages import Buffers, Packed, header_of, whole
from helpers.grade.sandbox.visible import driver_name
from helpers.grade.seen import SEEN

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
    buffers = Buffers(case.ranks, drive.shares)
    ranks = [Rank(channel, case.ranks, buffers) for channel in channels]
    call = {"do": "rank", "function": exercise.function, "drive": driver_name(drive)}

    def body(comm: Any) -> None:
        args = case.args[comm.rank]
        hands = None if alone or drive.hands is None else drive.hands(comm, *map(tensors, args))
        asked = {**call, "args": encode(list(told(args, hands))), "local": alone}
        ranks[comm.rank].hands = hands
        ranks[comm.rank].run(comm, asked, seconds, SEEN.get(exercise.number, {}))

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
    return returned(results, [rank.value for rank in ranks], [rank.sent for rank in ranks])


class Rank(Lane):
    """A rank: the requests of its own thread, or of its communication thread, done on the virtual
    engine's comm.

    value: what the rank gave. sent: to whom this thread sent, in order. behind: the communication
    thread, where there is one.
    """

    requests = (
        *Lane.requests,
        *("isend", "irecv", "wait", "done"),
        *("barrier", "time", "compute", "shared", "background"),
    )

    def __init__(self, channel: Channel, size: int, buffers: Buffers, first: bool = True) -> None:
        super().__init__(channel)
        self.size, self.buffers, self.first = size, buffers, first
        self.value: Any = None
        self.sent: list[int] = []
        self.behind: Rank | None = None
        self._under_way: dict[int, Any] = {}
        self._open: dict[str, set[int]] = {OPEN: set(), _RECEIVING: set()}
        self._told: list[Packed] = []

    def run(self, comm: Any, asked: dict[str, Any], seconds: float, keys: Container[str]) -> None:
        """From its call to its return. keys: what it says of its messages, which the judge saw
        itself. Raises Ended."""
        self.comm = comm
        try:
            self.channel.begin(seconds)
            self.channel.send({**asked, "rank": comm.rank, "hosts": list(comm.hosts)})
            seen = observed(self.serve(), comm.rank)
            if seen.trouble:
                raise Ended(seen)
            if len(seen.values) != 1:
                raise Malformed("no value of a rank")
            value = seen.values[0] if self.hands is None else _noted(self.hands, seen.values[0])
            self.value = self.by_messages(value, keys)
            comm.finish()
        except OVER as error:
            raise Ended(without_end(error, comm.rank)) from None
        finally:
            if self.behind:
                self.behind.channel.frames.close()

    def by_messages(self, value: Any, keys: Container[str]) -> Any:
        """What a rank gave, where what it says of its messages is what was seen of them here."""
        for key, numbers in self._open.items():
            value = _seen_open(value, key, len(numbers)) if key in keys else value
        for key in _TOLD:
            if key in keys and type(value) is dict and key in value:
                value = {**value, key: [plain(each.unpacked()) for each in self._told]}
        return value

    def isend(self, number: Any, to: Any, message: Any) -> Any:
        to, packed = whole(to, self.size), Packed(header_of(message), message)
        self._begin(number, self.comm.isend(packed, to))
        self._open[OPEN].add(number)
        self.sent.append(to)
        self._told.append(packed)
        return NOTHING

    def irecv(self, number: Any, source: Any) -> Any:
        self._begin(number, self.comm.irecv(whole(source, self.size)))
        self._open[_RECEIVING].add(number)
        return NOTHING

    def wait(self, number: Any, answer: Any) -> Any:
        got = self._known(number).wait()
        self._seen(number)
        del self._under_way[number]
        return got if answer else NOTHING

    def done(self, number: Any) -> bool:
        found = bool(self._known(number).done())
        if found:
            self._seen(number)
        return found

    def barrier(self, answer: Any) -> Any:
        self.comm.barrier()
        return None if answer else NOTHING

    def time(self) -> float:
        return float(self.comm.time())

    def compute(self, seconds: Any, answer: Any) -> Any:
        seconds = decode(seconds)
        if type(seconds) is not float:
            raise Malformed("no seconds")
        self.comm.compute(seconds)
        return None if answer else NOTHING

    def shared(self, shape: Any, dtype: Any) -> Any:
        fd = self.buffers.share(self.comm, shape, dtype)
        self.channel.send({"value": None}, (fd,))
        return NOTHING

    def background(self, number: Any, name: Any) -> Any:
        """A function begins on the communication thread, whose connection the first one brings."""
        if not self.first or type(name) is not str:
            raise Malformed("no communication thread")
        theirs = None
        if self.behind is None:
            channel, theirs = self.channel.beside(self.channel.left)
            self.behind = Rank(channel, self.size, self.buffers, first=False)
        behind = self.behind

        def function(comm: Any) -> None:
            behind.comm, behind.hands = comm, self.hands
            try:
                behind.channel.send({"value": None})
                behind.serve("ended")
            except OVER as error:
                raise Ended(without_end(error, comm.rank)) from None

        function.__name__ = name[:80]  # for the trace
        self._begin(number, self.comm.background(function))
        self.channel.send({"value": None}, (theirs.fileno(),) if theirs else ())
        if theirs:
            theirs.close()
        return NOTHING

    def _seen(self, number: int) -> None:
        """Somebody has waited for a communication."""
        for numbers in self._open.values():
            numbers.discard(number)

    def _begin(self, number: Any, request: Any) -> None:
        number = whole(number, 2**31)
        if number in self._under_way:
            raise Malformed("a number twice")
        self._under_way[number] = request

    def _known(self, number: Any) -> Any:
        request = self._under_way.get(whole(number, 2**31))
        if request is None:
            raise Malformed("a communication that there is not")
        return request


def _noted(hands: Any, value: Any) -> Any:
    """What a rank gave, with what was seen of what was handed over."""
    try:
        return plain(hands.noted(value))
    except Exception:  # the value may be anything at all
        raise Malformed("no value of this driver") from None


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
