"""Drivers on ranks: on the virtual clock, or one after the other with nothing in common."""

from collections.abc import Callable
from typing import Any

from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.handed import Hands
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Observation
from helpers.engine.errors import Deadlock, RankFailed, RunError
from helpers.engine.hosts.network import network
from helpers.engine.trace import Results


class Ranked:
    """A driver on ranks: `call(fn, comm, *args of this rank)` on every rank, on the virtual clock.

    `values` are what the ranks' calls gave. arguments: how many `fn` is called with, where that
    is not `comm` and the case's. clocked: keys of what it gives that depend on how long things
    took. hands: makes what is handed over, of `comm` and a rank's arguments (see `handed`), and
    `call` has it behind `comm`. shares: whether ranks may share memory, whose bytes nobody counts.
    The grader calls `on_rank` for each rank in a process of its own.
    """

    def __init__(
        self,
        call: Function,
        arguments: int | None = None,
        clocked: tuple[str, ...] = (),
        hands: Callable[..., Hands] | None = None,
        shares: bool = False,
    ) -> None:
        self.call, self.arguments, self.clocked, self.hands = call, arguments, clocked, hands
        self.shares = shares

    def __call__(self, fn: Function, case: Case) -> Observation:
        return virtual(fn, self, case)

    def on_rank(self, fn: Function, comm: Any, args: tuple[Any, ...], hands: Any = None) -> Any:
        """One rank's part of a case: what its call gives, in plain values.

        hands: a stand-in for what is handed over elsewhere.
        """
        given = [tensors(a) for a in args]
        if not self.shares:
            comm.shared = no_memory
        if self.hands is None:
            return plain(self.call(fn, comm, *given))
        mine = self.hands(comm, *given) if hands is None else None
        value = self.call(fn, comm, mine or hands, *given)
        return plain(value if mine is None else mine.noted(value))

    def wrong_signature(self, fn: Function, args: tuple[Any, ...]) -> Observation | None:
        """As the function of that name, for one rank's arguments."""
        return wrong_signature(fn, 1 + len(args) if self.arguments is None else self.arguments)


def no_memory(shape: Any = (), dtype: Any = None) -> Any:
    """In the place of `comm.shared`. Raises RuntimeError: numbers would go where nobody counts."""
    raise RuntimeError("This exercise is about messages: there is no `comm.shared` in it.")


class Apart:
    """A driver for a function that is told its rank and has no comm; nothing is shared by ranks.

    `call(fn, rank, *the case's arguments)` gives a list; `values[0][i][rank]` are its items. Each
    rank has a copy of its own of what `fn` refers to. arguments: how many `fn` is called with. The
    grader asks for each rank in a process of its own, by the case's option "rank".
    """

    def __init__(self, call: Function, arguments: int) -> None:
        self.call, self.arguments = call, arguments

    def __call__(self, fn: Function, case: Case) -> Observation:
        from helpers.engine.copies import Copies

        trouble = wrong_signature(fn, self.arguments)
        if trouble:
            return trouble
        only, rank = case.options.get("rank"), 0
        lists = []
        try:
            copies = Copies(fn, ())
            for rank in range(case.ranks) if only is None else [only]:
                lists.append(self.call(copies.take()[0], rank, *case.args[0]))
        except Exception as error:
            return failed(error, fn, rank)
        return Observation(values=[[list(items) for items in zip(*lists, strict=True)]])


def _on_ranks(fn: Function, comm: Any, *args: Any) -> Any:
    return fn(comm, *args)


def _in_place(fn: Function, comm: Any, *args: Any) -> Any:
    """The first argument afterwards, what was returned, and how many messages were left open."""
    from helpers.checks.drives.requests import OPEN, Requests

    requests = Requests(comm)
    returned = fn(comm, *args)
    given = None if returned is args[0] else returned
    return {"after": args[0], "returned": given, OPEN: requests.end()}


def _in_a_row(fn: Function, comm: Any, calls: int) -> Any:
    """`fn(comm)`, so often: what it gave, what its messages told, how many are open."""
    from helpers.checks.drives.requests import OPEN, Requests

    requests = Requests(comm, note=plain)
    gave = [plain(fn(comm)) for _ in range(calls)]
    return {"gave": gave, "told": requests.told, OPEN: requests.end()}


on_ranks = Ranked(_on_ranks)  # `values` are what the ranks returned
in_a_row = Ranked(_in_a_row, arguments=1)
in_place = Ranked(_in_place)  # for functions that write into their first argument


def virtual(fn: Function, drive: Ranked, case: Case) -> Observation:
    """Run a driver on the virtual clock; note values, bytes, messages and trace."""
    from helpers.engine.virtual import run_virtual

    trouble = drive.wrong_signature(fn, case.args[0])
    if trouble:
        return trouble
    faults: dict[int, Observation] = {}
    sent: list[list[int]] = [[] for _ in range(case.ranks)]

    def rank(comm: Any, mine: Function) -> Any:
        note_sends(comm, sent[comm.rank])
        try:
            return drive.on_rank(mine, comm, case.args[comm.rank])
        except Exception as error:
            faults[comm.rank] = failed(error, fn, comm.rank)
            raise

    try:
        # As an argument, so that each rank gets its own copy of what the function refers to.
        results = run_virtual(rank, (fn,), ranks=case.ranks, show=False, **clock_of(case))
    except RankFailed as error:
        known = faults.get(error.rank or 0)
        return known or Observation(
            trouble="failed", kind=error.kind, text=error.message, rank=error.rank
        )
    except Deadlock as error:
        return Observation(trouble="deadlock", text=str(error), waiting=dict(error.waiting))
    except RunError as error:
        return Observation(trouble="died", text=error.report, rank=error.rank)
    except TypeError as error:
        return failed(error, fn)
    return returned(results, list(results), sent)


def clock_of(case: Case) -> dict[str, Any]:
    """The options of the virtual clock for a case's ranks, and the hosts that they are on."""
    clock = {k: v for k, v in case.options.items() if k in ("latency", "bandwidth")}
    if each := case.options.get("ranks_per_host"):
        asked = network(case.ranks, None, each, clock.pop("bandwidth", 1e9))
        clock["network"] = asked
    return clock


def returned(results: Results, values: list[Any], sent: list[list[int]]) -> Observation:
    """A run that came to its end as an observation, with what its ranks gave in plain values."""
    return Observation(
        values=values,
        bytes=list(results.stats.bytes),
        messages=list(results.stats.messages),
        sent=sent,
        seconds=list(results.stats.seconds),
        links=[(link.out, link.into) for link in results.stats.links],
        events=list(results.trace),
    )


def note_sends(comm: Any, to: list[int]) -> None:
    """Note the receiver of every message: the trace knows only those that were waited for."""
    original = comm.isend

    def isend(tensor: Any, other: int) -> Any:
        request = original(tensor, other)
        to.append(int(other))
        return request

    comm.isend = isend
