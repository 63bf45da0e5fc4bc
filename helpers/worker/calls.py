"""One case of one exercise in a submission's process: calls that the judge makes, one by one.

The driver runs on the judge's side. Here are the submission's function, the objects that it makes,
and what it was handed; nothing that this side says of itself decides anything.
"""

from __future__ import annotations

import ctypes
import gc
import mmap
import os
import sys
import threading
import weakref
from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.graph import GradientEdge

from helpers.checks.random_states import here, seed_all
from helpers.worker.handed import Handed
from helpers.worker.remote_comm import Line, RemoteComm, raised
from helpers.worker.stand_ins import ANCHOR, Entry
from helpers.worker.told import as_data

_PRIVATE = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


class Calls:
    """A case, from its first call to its end.

    fn: the submission's function. line: to the judge. comm: of this rank, or None.
    """

    def __init__(self, fn: Callable[..., Any], line: Line, comm: RemoteComm | None) -> None:
        self.fn, self.line, self.comm = fn, line, comm
        self.handed = Handed(comm, self.call_back, line.frames.received)
        self.linked: dict[int, tuple[list[GradientEdge], list[Entry]]] = {}
        self.dropped: list[int] = []  # the judge's records that nothing here can go back through

    def serve(self) -> None:
        """Do what the judge asks for, until the case is over."""
        while not (message := self.line.next(0)).get("last"):
            self.answer(message)

    def answer(self, message: dict[str, Any]) -> None:
        """Do one thing and say what came of it."""
        from helpers.checks.drives.calling import failed

        for number in message.get("forget", ()):
            self.linked.pop(number, None)
        try:
            told = getattr(self, f"do_{message['do']}")(message)
        except Exception as error:
            rank = None if self.comm is None else self.comm.rank
            self.line.tell(0, "trouble", as_data(failed(error, self.fn, rank))["seen"])
        else:
            if told is not None:
                self.line.tell(0, *told, list(self.drops()))
        self.line.flush()

    def drop(self, record: int) -> None:
        """Nothing here can go back through this record any more."""
        self.dropped.append(record)

    def drops(self) -> list[int]:
        """The records that were dropped since the last time."""
        dropped, self.dropped = self.dropped, []
        return dropped

    # --- what the judge asks for ------------------------------------------------------------------

    def do_invoke(self, message: dict[str, Any]) -> Any:
        """Call the function, an object or its method; read an attribute; list items."""
        from helpers.checks.drives.calling import wrong_signature

        self.handed.entries = []
        args = self.handed.take(message["args"])
        entries = self.handed.entries
        self.handed.set_gradients(message["gradients"])
        for number, training in message["modes"]:
            self.handed.known[number].train(training)
        what, name, number = message["what"], message["name"], message["object"]
        if number is None:
            trouble = wrong_signature(self.fn, len(args))
            if trouble is not None:
                self.line.tell(0, "trouble", as_data(trouble)["seen"])
                return None
            value = self.fn(*args)
        else:
            value = _use(self.handed.objects[number], what, name, args)
        tensors: list[Tensor] | None = [] if message["links"] is not None else None
        data = self.handed.tell(value, tensors)
        if tensors is not None:
            # Not the tensors themselves: what the function let go of is not to be held here.
            edges = [torch.autograd.graph.get_gradient_edge(tensor) for tensor in tensors]
            self.linked[message["links"]] = edges, entries
        return "return", data, self.handed.parameters()

    def do_run(self, message: dict[str, Any]) -> Any:
        """Call one of the course's own functions, which asks objects here for several values."""
        module, _, name = message["home"].partition(":")
        args = self.handed.take(message["args"])
        return "return", self.handed.tell(getattr(import_module(module), name)(*args)), []

    def do_backward(self, message: dict[str, Any]) -> Any:
        """Go back through what a call has given; tell the gradients of what it was given."""
        gradients = self.handed.take(message["gradients"])
        edges, entries = self.linked.pop(message["links"])
        pairs = [(e, g) for e, g in zip(edges, gradients, strict=True) if g is not None]
        if pairs:
            torch.autograd.backward([edge for edge, _ in pairs], [above for _, above in pairs])
        found = [None if e.gradient is None else self.handed.copied(e.gradient) for e in entries]
        return "return", found, self.handed.parameters()

    def do_accumulate(self, message: dict[str, Any]) -> Any:
        """A gradient comes to a parameter, as from a backward here: its hooks run."""
        parameter = self.handed.known[message["parameter"]]
        self.handed.set_gradients(message["gradients"])
        # As a product: torch loads a compiler's shapes to look at a gradient that it is given.
        (parameter * self.handed.take(message["gradient"])).sum().backward()
        return "return", None, []

    def do_draw(self, message: dict[str, Any]) -> Any:
        """Use up the next random numbers of this process; which those are, the judge knows."""
        torch.rand(message["shape"])
        return "return", None, []

    def do_hand(self, message: dict[str, Any]) -> Any:
        """Make something that the judge uses as well."""
        return "return", self.handed.keeps(self.handed.take(message["value"])), []

    def do_seed(self, message: dict[str, Any]) -> Any:
        """Set the global random states."""
        seed_all(message["seed"])
        return "return", None, []

    def do_states(self, message: dict[str, Any]) -> Any:
        """The global random states, for a judge that may not read this process's memory."""
        return "return", self.handed.tell([state.hex() for state in here().values()]), []

    def do_collect(self, message: dict[str, Any]) -> Any:
        """What only a cycle holds is nobody's, and what is free is the system's."""
        gc.collect()
        give_back()
        return "return", None, []

    # --- what the function asks the judge for -----------------------------------------------------

    def call_back(
        self,
        number: int,
        args: tuple[Any, ...],
        options: Mapping[str, Any] = MappingProxyType({}),
        parameters: tuple[Tensor, ...] = (),
    ) -> Any:
        """Call something of the judge's. options: arguments by name. parameters: what it works
        with besides."""
        lane, args = _lane(), (*args, *options.values())
        into: list[Tensor] = []
        grad = torch.is_grad_enabled()
        told = [_flagged(self.handed, each, into if grad else None) for each in args]
        answer = self._ask(lane, "callback", number, told, list(options), grad)
        for place, data in answer["written"]:  # as if it had been written into in this process
            with torch.no_grad():
                args[place].copy_(self.handed.take(data))
        made: list[Tensor] = []
        value = _unflagged(self.handed, answer["value"], made)
        if answer["record"] is None:
            return _placed(value, made)
        given = _Made(self, answer["record"], made, answer["links"])
        outs = _Back.apply(ANCHOR, given, *into, *parameters)
        return _placed(value, list(outs if isinstance(outs, tuple) else (outs,)))

    def _ask(self, lane: int, op: str, *args: Any) -> Any:
        self.line.tell(lane, op, *args, list(self.drops()))
        self.line.flush()
        while "do" in (message := self.line.next(lane)):
            self.answer(message)  # the judge needs something from here first
        if "error" in message:
            raise raised(*message["error"])
        return message["value"]

    def back(self, record: int, gradients: list[Any]) -> list[Any]:
        """The gradients of what a callback was given, from those of what it gave."""
        told = [None if g is None else self.handed.copied(g) for g in gradients]
        found = self._ask(_lane(), "callback_backward", record, told)
        return [self.handed.take(each) for each in found]


def give_back() -> None:
    """Give free memory back to the system, and have the kernel's count of the rest be exact."""
    if sys.platform != "linux":
        return
    if hasattr(library := ctypes.CDLL(None), "malloc_trim"):
        library.malloc_trim(0)
    # The kernel counts some pages for each core by itself, the more the more cores there are, until
    # many go at once.
    many = 4 * max(os.cpu_count() or 1, 16)
    with mmap.mmap(-1, many * mmap.PAGESIZE, _PRIVATE) as pages:
        pages[:: mmap.PAGESIZE] = bytes(many)


def _lane() -> int:
    return int(threading.current_thread().name == "communication")


def _use(held: Any, what: str, name: str, args: list[Any]) -> Any:
    if what == "items":
        return [item for item, _ in zip(held, range(args[0]), strict=False)]
    if what == "get":
        return getattr(held, name)
    return (getattr(held, name) if name else held)(*args)


def _flagged(handed: Handed, value: Any, into: list[Tensor] | None) -> Any:
    """An argument of a callback: its tensors by value, numbered where they ask for a gradient."""
    if isinstance(value, RemoteComm):
        return {"comm": True}
    if isinstance(value, Tensor):
        if value.layout is not torch.strided:
            return {"other": type(value).__name__}
        data = handed.copied(value)
        if into is not None and value.requires_grad:
            into.append(value)
            return {"linked": [len(into) - 1, data]}
        return data
    if type(value) in (list, tuple):
        items = [_flagged(handed, each, into) for each in value]
        return {"tuple": items} if type(value) is tuple else items
    return handed.tell(value)


def _unflagged(handed: Handed, data: Any, made: list[Tensor]) -> Any:
    """The value of a callback: places where linked tensors belong stand as `_Place`."""
    if type(data) is list:
        return [_unflagged(handed, each, made) for each in data]
    if type(data) is dict and "tuple" in data:
        return tuple(_unflagged(handed, each, made) for each in data["tuple"])
    if type(data) is dict and ("copy" in data or "lent" in data):
        made.append(handed.take(data))
        return _Place(len(made) - 1, made[-1])
    return handed.take(data)


class _Place:
    def __init__(self, number: int, tensor: Tensor) -> None:
        self.number, self.tensor = number, tensor


def _placed(value: Any, outs: list[Tensor]) -> Any:
    if isinstance(value, list | tuple):
        return type(value)(_placed(each, outs) for each in value)
    return outs[value.number] if isinstance(value, _Place) else value


class _Made:
    """What the judge has made in a callback, and by which record it can be gone back through."""

    def __init__(self, calls: Calls, record: int, made: list[Tensor], links: list[bool]) -> None:
        self.calls, self.record, self.made, self.links = calls, record, made, links


class _Back(torch.autograd.Function):
    """What a callback gave: its backward is the judge's.

    The record's number is saved as a tensor: like a layer's inputs it is gone with the graph, or
    sooner where somebody takes what is saved out of it and makes it anew. The judge is told so.
    """

    @staticmethod
    def forward(ctx: Any, anchor: Tensor, given: _Made, *tensors: Tensor) -> Any:
        ctx.calls = given.calls
        number = np.array([given.record])
        weakref.finalize(number, given.calls.drop, given.record).atexit = False
        ctx.save_for_backward(torch.from_numpy(number))
        made, given.made = given.made, []
        pairs = zip(made, given.links, strict=True)
        ctx.mark_non_differentiable(*[tensor for tensor, linked in pairs if not linked])
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        (number,) = ctx.saved_tensors  # held until the judge has gone back through the record
        found = ctx.calls.back(int(number), list(gradients))
        return (None, None, *found)
