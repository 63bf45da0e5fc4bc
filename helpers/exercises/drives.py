"""Drivers: call a learner's function for a case and note, in plain values, what it did.

This is the side that is not trusted: nothing here knows what is right.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from helpers.engines.errors import Deadlock, RankFailed, RunError
from helpers.engines.hosts.network import network
from helpers.engines.trace import Results
from helpers.exercises.compare import Other
from helpers.exercises.spec import Case, Observation, Place

Function = Callable[..., Any]


class Remote:
    """Something of a learner's that lives in another process, as a grader's driver has it.

    kind: the name of its type there.
    """

    kind = ""


class Offered:
    """An object of a driver's that a learner's function is given, and what may be used of it."""

    methods: tuple[str, ...] = ()
    attributes: tuple[str, ...] = ()


class Made:
    """Stands for an object that is made where the learner's function is: its class, by
    "module:name", and the arguments."""

    def __init__(self, home: str, args: tuple[Any, ...]) -> None:
        self.home, self.args = home, args


def made(fn: Function, make: Callable[..., Any], *args: Any) -> Any:
    """`make(*args)`, where the learner's function is."""
    if isinstance(fn, Remote):
        return Made(f"{make.__module__}:{make.__qualname__}", args)
    return make(*args)


def plain_call(fn: Function, case: Case) -> Observation:
    """Call an ordinary function once; its value is `values[0]`."""
    trouble = wrong_signature(fn, len(case.args[0]))
    if trouble:
        return trouble
    try:
        return Observation(values=[plain(fn(*[tensors(a) for a in case.args[0]]))])
    except Exception as error:
        return failed(error, fn)


def there(fn: Function, ask: Callable[..., Any], *args: Any) -> Any:
    """`ask(*args)`, where the learner's function is: a function of this package's own that asks
    for several values at a time."""
    return fn.run(ask, args) if isinstance(fn, Remote) else ask(*args)


def at_hand(fn: Function, thing: Any) -> Any:
    """Something that was `made`, to be used by the driver as well."""
    return fn.at_hand(thing) if isinstance(fn, Remote) else thing


class Ranked:
    """A driver on ranks: `call(fn, comm, *args of this rank)` on every rank, on the virtual clock.

    `values` are what the ranks' calls gave. arguments: how many `fn` is called with, where that
    is not `comm` and the case's. clocked: keys of what it gives that depend on how long things
    took. The grader calls `on_rank` for each rank, with a function that is in a process of its own;
    inside: it runs in that process itself, so that what it gives is the learner's own word.
    """

    def __init__(
        self,
        call: Function,
        arguments: int | None = None,
        clocked: tuple[str, ...] = (),
        inside: bool = False,
    ) -> None:
        self.call, self.arguments, self.clocked, self.inside = call, arguments, clocked, inside

    def __call__(self, fn: Function, case: Case) -> Observation:
        return virtual(fn, self.call, case, self.arguments)

    def on_rank(self, fn: Function, comm: Any, args: tuple[Any, ...]) -> Any:
        """One rank's part of a case: what its call gives, in plain values."""
        return plain(self.call(fn, comm, *[tensors(a) for a in args]))

    def wrong_signature(self, fn: Function, args: tuple[Any, ...]) -> Observation | None:
        """As the function of that name, for one rank's arguments."""
        return wrong_signature(fn, 1 + len(args) if self.arguments is None else self.arguments)


def inside(drive: Any) -> Any:
    """Mark a driver that runs in the learner's process when it is graded: what it gives is nothing
    but what the learner's function gives."""
    return inside_where(lambda case: True)(drive)


def inside_where(holds: Callable[[Case], bool]) -> Callable[[Any], Any]:
    """Mark a driver that does so in some cases."""

    def mark(drive: Any) -> Any:
        drive.inside = holds
        return drive

    return mark


def is_inside(drive: Any, case: Case) -> bool:
    """Whether a driver is marked so for a case."""
    holds = getattr(drive, "inside", None)
    return holds is not None and bool(holds(case))


class Apart:
    """A driver for a function that is told its rank and has no comm; nothing is shared by ranks.

    `call(fn, rank, *the case's arguments)` gives a list; `values[0][i][rank]` are its items. Each
    rank has a copy of its own of what `fn` refers to. arguments: how many `fn` is called with. The
    grader asks for each rank in a process of its own, by the case's option "rank".
    """

    def __init__(self, call: Function, arguments: int) -> None:
        self.call, self.arguments = call, arguments

    def __call__(self, fn: Function, case: Case) -> Observation:
        from helpers.engines.copies import Copies

        trouble = wrong_signature(fn, self.arguments)
        if trouble:
            return trouble
        only, rank = case.options.get("rank"), 0
        lists = []
        try:
            copies = None if isinstance(fn, Remote) else Copies(fn, ())
            for rank in range(case.ranks) if only is None else [only]:
                own = fn if copies is None else copies.take()[0]
                lists.append(self.call(own, rank, *case.args[0]))
        except Exception as error:
            return failed(error, fn, rank)
        return Observation(values=[[list(items) for items in zip(*lists, strict=True)]])


def _on_ranks(fn: Function, comm: Any, *args: Any) -> Any:
    return fn(comm, *args)


def _in_place(fn: Function, comm: Any, *args: Any) -> Any:
    """The first argument afterwards, what was returned, and how many messages were left open."""
    from helpers.exercises.drives_requests import OPEN, Requests

    requests = Requests(comm)
    returned = fn(comm, *args)
    given = None if returned is args[0] else returned
    return {"after": args[0], "returned": given, OPEN: requests.end()}


def _in_a_row(fn: Function, comm: Any, calls: int) -> Any:
    """`fn(comm)`, so often: what it gave, what its messages told, how many are open."""
    from helpers.exercises.drives_requests import OPEN, Requests

    requests = Requests(comm, note=plain)
    gave = [plain(fn(comm)) for _ in range(calls)]
    return {"gave": gave, "told": requests.told, OPEN: requests.end()}


on_ranks = Ranked(_on_ranks)  # `values` are what the ranks returned
in_a_row = Ranked(_in_a_row, arguments=1)
in_place = Ranked(_in_place)  # for functions that write into their first argument


def virtual(fn: Function, call: Function, case: Case, arguments: int | None = None) -> Observation:
    """Run `call(fn, comm, *args)` on the virtual clock; note values, bytes, messages and trace.

    arguments: how many `fn` is called with, where that is not `comm` and the case's.
    """
    from helpers.engines.virtual import run_virtual

    expected = 1 + len(case.args[0]) if arguments is None else arguments
    trouble = wrong_signature(fn, expected)
    if trouble:
        return trouble
    faults: dict[int, Observation] = {}
    sent: list[list[int]] = [[] for _ in range(case.ranks)]

    def rank(comm: Any, mine: Function) -> Any:
        note_sends(comm, sent[comm.rank])
        try:
            return plain(call(mine, comm, *[tensors(a) for a in case.args[comm.rank]]))
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


def wrong_signature(fn: Function, arguments: int) -> Observation | None:
    """An observation where `fn` cannot be called with so many arguments, None where it can."""
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):
        return None
    try:
        signature.bind(*range(arguments))
    except TypeError:
        names = ", ".join(signature.parameters)
        text = f"is called with {arguments} arguments, but yours takes ({names})."
        return Observation(trouble="signature", text=text)
    return None


class Elsewhere(Exception):
    """A learner's function in another process did not return. seen: how, as an observation."""

    def __init__(self, seen: Observation) -> None:
        super().__init__(seen.text)
        self.seen = seen


def failed(error: Exception, fn: Function, rank: int | None = None) -> Observation:
    """An exception as an observation; an exercise that is not done yet is none."""
    if isinstance(error, Elsewhere):
        return error.seen
    text = str(error)
    if isinstance(error, NotImplementedError) and "is not done yet" in text:
        return Observation(trouble="not done", text=text, rank=rank)
    where, trail = None, error.__traceback__
    while trail is not None:
        if trail.tb_frame.f_code.co_filename == source_file(fn):
            where = Place(trail.tb_frame.f_code.co_filename, trail.tb_lineno)
        trail = trail.tb_next
    return Observation(
        trouble="failed", kind=type(error).__name__, text=text[:2000], rank=rank, place=where
    )


def source_file(fn: Any) -> str:
    """The file, or the cell, that a function or class was written in."""
    code = getattr(inspect.unwrap(fn) if callable(fn) else fn, "__code__", None)
    if code is None:
        members = (
            (getattr(m, "__code__", None) for m in vars(fn).values()) if inspect.isclass(fn) else ()
        )
        code = next((c for c in members if c is not None), None)
    return code.co_filename if code is not None else ""


def tensors(value: Any) -> Any:
    """The case's arrays as torch tensors of the learner's own, also inside lists and dicts."""
    if isinstance(value, np.ndarray):
        import torch

        return torch.from_numpy(value.copy())
    if isinstance(value, list | tuple):
        return type(value)(tensors(v) for v in value)
    if isinstance(value, dict):
        return {k: tensors(v) for k, v in value.items()}
    return value


def is_namedtuple(value: Any) -> bool:
    """Whether a value is a tuple whose items have names, which stands for the tuple of them."""
    return isinstance(value, tuple) and hasattr(type(value), "_fields")


def plain(value: Any, depth: int = 0) -> Any:
    """A value without behaviour: tensors become numpy arrays, anything strange only its name."""
    if value is None or type(value) in (bool, int, float, str):
        return value
    if depth > 8:
        return Other("deeply nested collection")
    if isinstance(value, np.generic):
        return np.asarray(value)
    if type(value) is np.ndarray:
        return value.copy() if value.dtype.kind in "biufc" else Other("numpy array of objects")
    if type(value) in (list, tuple, range):
        items = [plain(v, depth + 1) for v in value]
        return tuple(items) if type(value) is tuple else items
    if is_namedtuple(value):
        return tuple(plain(v, depth + 1) for v in value)
    if type(value) is dict:
        return {k: plain(v, depth + 1) for k, v in value.items() if type(k) in (int, str)}
    import torch

    if isinstance(value, torch.Tensor):
        held = value.detach().cpu()
        floats = held.is_floating_point() and held.itemsize == 1  # which numpy has no types for
        return (held.float() if floats or held.dtype == torch.bfloat16 else held).numpy().copy()
    return Other(value.kind if isinstance(value, Remote) else type(value).__name__)
