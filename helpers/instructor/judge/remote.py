"""A submission's function as the judge's drivers have it: calls go to its process and back.

A driver runs here, where the submission reaches nothing. What it gives a function lies in memory
that both sides see; what it gives it to call is called here; and what the function gives is a value
or, where it is an object, stays in its process and is asked. Autograd goes across both ways.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from helpers.checks.drives.calling import Elsewhere
from helpers.checks.drives.values import Made, Remote
from helpers.checks.random_states import States, draw, places, seeded
from helpers.instructor.judge.channel import Violation
from helpers.instructor.judge.handing import Handing, by_value
from helpers.instructor.judge.replies import observed, without_end
from helpers.instructor.judge.taken import MOST
from helpers.worker.encoding import Malformed
from helpers.worker.frames import Closed, Late

if TYPE_CHECKING:
    from helpers.instructor.judge.exchange import Exchange

_ITEMS = 10_000


class Talk:
    """The judge's calls in one process, for one case. exchange: where they come and go.

    rank: for what is said of trouble.
    """

    def __init__(self, exchange: Exchange, handing: Handing, rank: int | None) -> None:
        self.exchange, self.handing, self.rank = exchange, handing, rank
        self.most = MOST  # numbers that an object gives at a time
        self.forget: list[int] = []  # of the calls there, those that nothing here goes back through
        self._links = count()

    def call(
        self,
        what: str,
        name: str,
        held: int | None,
        args: Sequence[Any],
        most: int | None = None,
    ) -> Any:
        """Use the function (held None) or an object there. Raises Elsewhere.

        what: "call", "get" or "items". most: so many numbers may its value hold.
        """
        into: list[Tensor] = []
        data, fds = self.handing.give(tuple(args), into if torch.is_grad_enabled() else None)
        links = next(self._links) if into else None
        modes = self.handing.modes()
        asked = {"what": what, "name": name, "object": held, "args": data, "links": links}
        told, parameters = self.ask(
            fds, do="invoke", gradients=self.handing.gradients(), modes=modes, **asked
        )
        with self.told():
            value, made = self.handing.take(told, self._object, most)
            self.handing.take_parameters(parameters)
        if links is not None:
            holder = _Holder(self, links)
            if made:
                _Across.apply(holder, made, *into)
        return value

    def ask(self, fds: Sequence[int] = (), **asked: Any) -> tuple[Any, Any]:
        """Ask the process for one thing; what it tells, and of its parameters.

        fds: of memory that goes along.
        """
        forget, self.forget = self.forget, []
        with self.told():
            self.exchange.send({"lane": 0, "forget": forget, **asked}, fds)
            op, args = self.exchange.serve("return", "trouble")
            if op == "trouble":
                raise Elsewhere(observed(args, self.rank))
            if len(args) != 3:
                raise Violation("a return of another kind")
            self.exchange.drop(args[2])
        return args[0], args[1]

    @contextmanager
    def told(self) -> Iterator[None]:
        """What goes wrong with the process is what became of the function: a driver notes it."""
        try:
            yield
        except (Late, Closed, Violation, Malformed) as error:
            raise Elsewhere(without_end(error, self.rank)) from None

    def back(
        self, links: int, gradients: Sequence[Any], given: Sequence[tuple[int, ...]]
    ) -> list[Any]:
        """Go back through a call there: the gradients of what it was given, of these shapes."""
        data, fds = self.handing.give(tuple(gradients))
        told, parameters = self.ask(fds, do="backward", links=links, gradients=data)
        with self.told():
            found, _ = self.handing.take(told, self._object)
            self.handing.take_parameters(parameters)
            shapes = [None if each is None else tuple(each.shape) for each in found]
            if len(found) != len(given):
                raise Malformed("other gradients than were asked for")
            if any(s is not None and s != g for s, g in zip(shapes, given, strict=True)):
                raise Malformed("a gradient of another shape")
        return list(found)

    def value(self, fds: Sequence[int] = (), **asked: Any) -> Any:
        """What comes of something that is asked for, by value."""
        told, _ = self.ask(fds, **asked)
        with self.told():
            return self.handing.take(told, self._object, self.most)[0]

    def _object(self, told: Any) -> RemoteObject:
        if type(told) is not list or [type(each) for each in told] != [int, str, list, dict]:
            raise Malformed("no object")
        number, kind, methods, what = told
        if not all(type(each) is str for each in methods):
            raise Malformed("no object")
        cls = _KINDS[bool(what.get("call")), bool(what.get("items"))]
        return cls(self, number, kind[:80], frozenset(methods), what.get("type") is True)


class RemoteFunction(Remote):
    """The submission's function."""

    def __init__(self, talk: Talk, name: str) -> None:
        self.talk, self.__name__ = talk, name

    def __call__(self, *args: Any) -> Any:
        return self.talk.call("call", "", None, args)

    def at_hand(self, thing: Made) -> Any:
        """Something that is made there, for the driver to use as well."""
        data, fds = self.talk.handing.give(thing)
        return self.talk.value(fds, do="hand", value=data)

    def run(self, function: Callable[..., Any], args: Sequence[Any]) -> Any:
        """One of the course's own functions there, by value: several questions at a time."""
        data, fds = self.talk.handing.give(tuple(args))
        home = f"{function.__module__}:{function.__qualname__}"
        return self.talk.value(fds, do="run", home=home, args=data)

    def seed(self, seed: int) -> None:
        """Set the global random states where the function is."""
        self.talk.ask(do="seed", seed=seed)
        with self.talk.told():
            if self.random_states() != seeded(seed):
                raise Malformed("other random states than were asked for")

    def rand(self, *shape: int) -> Tensor:
        """The next random numbers there: made here, of the state there, which moves on."""
        with self.talk.told():
            try:
                numbers, after = draw(self.random_states()["torch"], shape)
            except ValueError as error:
                raise Malformed(str(error)) from None
        self.talk.ask(do="draw", shape=list(shape))
        with self.talk.told():
            if self.random_states()["torch"] != after:
                raise Malformed("another random state than after these numbers")
        return numbers

    def random_states(self) -> States:
        """The global random states there, read from outside; its word where nobody may read."""
        found = self.talk.exchange.channel.child.random_states()
        if found is not None:
            return found
        told = self.talk.value(do="states")
        with self.talk.told():
            if type(told) is not list or len(told) != len(places()):
                raise Malformed("no random states")
            sizes = [2 * length for _, length in places().values()]
            if any(type(t) is not str or len(t) != n for t, n in zip(told, sizes, strict=True)):
                raise Malformed("no random states")
            try:
                return {name: bytes.fromhex(t) for name, t in zip(places(), told, strict=True)}
            except ValueError:
                raise Malformed("no random states") from None

    def collect(self) -> None:
        """Have what only a cycle holds go there."""
        self.talk.ask(do="collect")

    def gives(self, numbers: int) -> None:
        """Let its objects give so many numbers at a time, for a driver that looks at shapes."""
        self.talk.most = max(numbers, MOST)

    def memory(self) -> int | None:
        """Bytes that its process holds, as seen from outside; None where nobody sees that.

        Memory that was handed over is not among them, and whatever else runs beside it is.
        """
        self.collect()
        return self.talk.exchange.channel.child.held(self.talk.handing.lent)

    def follow(self, parameters: Sequence[nn.Parameter]) -> None:
        """From now on, what a backward here adds to these parameters comes to those there, too."""

        def relay(parameter: Tensor) -> None:
            number = next(n for n, p in talk.handing.parameters.items() if p is parameter)
            gradient = by_value(parameter.grad)
            asked = {"do": "accumulate", "parameter": number, "gradient": gradient}
            talk.ask(gradients=[[number, None]], **asked)
            talk.handing.synced(number)

        talk = self.talk
        for parameter in parameters:
            parameter.register_post_accumulate_grad_hook(relay)


class RemoteObject(Remote):
    """An object that the submission has made: its methods and attributes, by value."""

    def __init__(
        self, talk: Talk, number: int, kind: str, methods: frozenset[str], is_type: bool
    ) -> None:
        self._talk, self.number, self.kind = talk, number, kind
        self._methods, self.is_type = methods, is_type

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._methods:
            return lambda *args: self._talk.call("call", name, self.number, args, self._talk.most)
        return self._talk.call("get", name, self.number, (), self._talk.most)


class _Callable(RemoteObject):
    def __call__(self, *args: Any) -> Any:
        return self._talk.call("call", "", self.number, args, self._talk.most)


class _Items(RemoteObject):
    def __iter__(self) -> Iterator[Any]:
        found = self._talk.call("items", "", self.number, (_ITEMS,), self._talk.most)
        return iter(found if type(found) is list else [])


class _Both(_Callable, _Items):
    pass


_KINDS: dict[tuple[bool, bool], type[RemoteObject]] = {
    (False, False): RemoteObject,
    (True, False): _Callable,
    (False, True): _Items,
    (True, True): _Both,
}


class _Holder:
    """A call there, as long as something here can go back through it."""

    def __init__(self, talk: Talk, links: int) -> None:
        self.talk, self.links = talk, links

    def __del__(self) -> None:
        self.talk.forget.append(self.links)


class _Across(torch.autograd.Function):
    """What a call there gave: its backward is there, too."""

    @staticmethod
    def forward(ctx: Any, holder: _Holder, made: list[Tensor], *given: Tensor) -> Any:
        ctx.holder = holder
        ctx.given = [tuple(each.shape) for each in given]
        return tuple(made)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None, None, *ctx.holder.talk.back(ctx.holder.links, gradients, ctx.given))
