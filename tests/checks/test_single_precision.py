"""Answers that are right but for float32 on the way are told so, and with digits that differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.checks import find
from helpers.checks.compare import told_apart
from tests.checks.table import verdict


def rounded(tensor: Any) -> Any:
    """A tensor whose numbers were float32 for a moment."""
    return tensor.float().double()


class Sending:
    """A comm whose messages are rounded."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm

    def __getattr__(self, name: str) -> Any:
        return getattr(self.comm, name)

    def isend(self, tensor: Any, to: int) -> Any:
        """As the comm's own."""
        return self.comm.isend(rounded(tensor.detach()), to)


def of(number: str, make: Callable[..., Any]) -> tuple[str, Callable[..., Any]]:
    """An exercise, and an answer made of the right one."""
    right = find(number).reference
    return number, lambda *args: make(right, *args)


def both(right: Any, *args: Any) -> Any:
    """With both of what it returns rounded."""
    return tuple(map(rounded, right(*args)))


def gradient_first(right: Any, comm: Any, parameters: Any, gradient: Any, *rest: Any) -> Any:
    """With another gradient to begin with."""
    return right(comm, parameters, rounded(gradient), *rest)


def last_alone(right: Any, *args: Any) -> Any:
    """With rounded outputs, where there are any."""
    out = right(*args)
    return None if out is None else rounded(out)


ANSWERS = [
    of("12.2", both),
    of("12.4", last_alone),
    of("12.5", last_alone),
    of("13.4", lambda right, comm, *rest: right(Sending(comm), *rest)),
    of("14.1", lambda right, *args: rounded(right(*args))),
    of("14.2", lambda right, comm: (lambda f, g: (f, lambda x: g(rounded(x))))(*right(comm))),
    of("14.3", both),
    of("14.5", gradient_first),
    of("14.6", lambda right, comm, x, own, shape: right(comm, rounded(x), rounded(own), shape)),
]


def test_float32_is_named() -> None:
    # Their values are right to seven digits: "not the right values" would help nobody.
    for number, answer in ANSWERS:
        result = verdict(find(number), answer)
        assert result.status == "wrong" and "float32" in result.hint, (number, result.hint)


def test_numbers_have_as_many_digits_as_tell_them_apart() -> None:
    assert told_apart(0.2, -0.32) == ("0.2", "-0.32")
    assert told_apart(3.892941371, 3.892941368) == ("3.892941371", "3.892941368")
    assert told_apart(1234567.0, 1234568.0) == ("1234567", "1234568")
    assert told_apart(2.0, 2.0)[0] == "2.0000000000000000"
