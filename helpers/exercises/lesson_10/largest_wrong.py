"""Wrong answers to exercise 10.3: the right one with one thing exchanged, and what is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _largest(given: Any, count: int) -> Any:
    return given.abs().topk(count).indices.sort().values


def _not_at(given: Any, places: Any) -> Any:
    return given.index_fill(0, places, 0.0)


def _at(given: Any, places: Any) -> Any:
    return given - _not_at(given, places)


def _send(
    add: Callable[[Any, Any], Any] = lambda g, e: g + e,
    choose: Callable[[Any, Any, int], Any] = lambda g, w, k: _largest(w, k),
    values: Callable[[Any, Any, Any], Any] = lambda g, w, at: w[at],
    left: Callable[[Any, Any, Any, Any], Any] = lambda g, e, w, at: _not_at(w, at),
    kind: Callable[[Any], Any] = lambda places: places,
) -> Callable[..., Any]:
    """What is wanted of gradient and error; the places; the values; what is left; their type."""

    def send_largest(gradient: Any, error: Any, count: int) -> Any:
        wanted = add(gradient, error)
        places = choose(gradient, wanted, count)
        sent = values(gradient, wanted, places)
        return kind(places), sent, left(gradient, error, wanted, places)

    return send_largest


forgets = _send(add=lambda g, e: g.clone())
FORGETS = (
    "{fault} The error took no part: what a step leaves out is lost, and a number that is always "
    "small never travels. Choose from gradient + error, send of it, and keep the rest of it."
)
subtracts = _send(add=lambda g, e: g - e)
SUBTRACTS = "{fault} The error was subtracted: it is what is still owed, so add it to the gradient."
decays = _send(add=lambda g, e: g + 0.9 * e)
DECAYS = "{fault} Only 0.9 of the error was added, and the rest of what is owed is lost: add all."
all_positive = _send(add=lambda g, e: (g + e).abs())
absolute = _send(values=lambda g, w, at: w[at].abs())
SIGN = (
    "{fault} The sign is lost: only the choice is by absolute value. Find the places by `.abs()`; "
    "what is sent and what is left comes from gradient + error itself."
)
by_gradient = _send(choose=lambda g, w, k: _largest(g, k))
BY_GRADIENT = (
    "{fault} The gradient alone chose the places: so a number that is small at every step waits "
    "for ever, however much of it is owed. Choose by gradient + error."
)
signed = _send(choose=lambda g, w, k: w.topk(k).indices.sort().values)
SIGNED = "{fault} The largest are meant by absolute value, and so −3 is larger than 2: `.abs()`."
smallest = _send(choose=lambda g, w, k: w.abs().topk(k, largest=False).indices.sort().values)
SMALLEST = "{fault} These are the smallest by absolute value: the largest travel, the others wait."
above = _send(choose=lambda g, w, k: (w.abs() > w.abs().topk(k).values[-1]).nonzero().view(-1))
ABOVE = (
    "{fault} The smallest of the {count} largest is missing, as where numbers are compared with "
    "it by `>`, or where fewer than `count` are chosen: take the places that `topk(count)` gives."
)
from_it_on = _send(
    choose=lambda g, w, k: (w.abs() >= w.abs().topk(k).values[-1]).nonzero().view(-1)
)
FROM_IT_ON = (
    "{fault} All that are as large as the smallest of the {count} largest were sent: where several "
    "are equal, or zero, these are more than `count`. Take the places that `topk` gives."
)
no_zeros = _send(choose=lambda g, w, k: _at(w, w.abs().topk(k).indices).nonzero().view(-1))
NO_ZEROS = (
    "{fault} Zeros among the {count} largest were left out, as `nonzero()` does. Always `count` "
    "numbers travel, so that whoever receives knows how many come."
)
unsorted = _send(choose=lambda g, w, k: w.abs().topk(k).indices)
UNSORTED = (
    "at step {step}, places and values are right, but not in ascending order of the places: `topk` "
    "gives the largest first. Sort the places, `indices.sort().values`, then take the values there."
)
second_sort = _send(choose=lambda g, w, k: w.abs().topk(k).indices.sort().indices)
SECOND_SORT = (
    "{fault} `sort()` gives the sorted places, and where each stood before: `.values` are the "
    "places, `.indices` are not."
)
of_gradient = _send(values=lambda g, w, at: g[at])
OF_GRADIENT = "{fault} The gradient's own number was sent: {owed} is owed there and goes with it."
by_size = _send(values=lambda g, w, at: w[w.abs().topk(len(at)).indices])
BY_SIZE = (
    "{fault} The places are in ascending order and the values by size: each value stands where its "
    "place does. Sort the places first, then take the values there."
)
zeroed_first = _send(values=lambda g, w, at: w[at] * 0)
ZEROED_FIRST = (
    "{fault} All values are zero: what was sent is set to zero in the sum before it is read. Take "
    "the values first."
)
dense = _send(values=lambda g, w, at: _at(w, at))
DENSE = (
    "{fault} `values` has all {n} numbers, with zeros where nothing is sent: return the {count} at "
    "the places alone."
)
off_gradient = _send(left=lambda g, e, w, at: g - _at(w, at))
of_the_gradient = _send(left=lambda g, e, w, at: _not_at(g, at))
OLD_LOST = (
    "{fault} The new error comes from the gradient alone, so what was owed before is lost: keep "
    "what is left of gradient + error."
)
not_zeroed = _send(left=lambda g, e, w, at: w.clone())
NOT_ZEROED = (
    "{fault} What was sent is owed no more, or it would be sent once more: put zeros into the new "
    "error at the places."
)
owes_nothing = _send(left=lambda g, e, w, at: w.new_zeros(len(w)))
OWES_NOTHING = "{fault} The new error is all zeros: what was not sent now is lost. Keep it."
as_it_was = _send(left=lambda g, e, w, at: e.clone())
AS_IT_WAS = "{fault} The error came back as it was: return what is left of gradient + error."
kept_sent = _send(left=lambda g, e, w, at: _at(w, at))
KEPT_SENT = "{fault} The new error holds what was sent. It is the other part, what was not sent."
turned = _send(left=lambda g, e, w, at: -_not_at(w, at))
TURNED = "{fault} The new error has the wrong sign: gradient + error, less what was sent."
twice = _send(left=lambda g, e, w, at: _not_at(w + e, at))
TWICE = (
    "{fault} The old error counts twice: gradient + error holds it already. What is left of that "
    "sum takes the old error's place."
)
in_int32 = _send(kind=lambda places: places.int())
a_list = _send(kind=lambda places: places.tolist())
in_float32 = _send(add=lambda g, e: (g + e).float())


def swapped(gradient: Any, error: Any, count: int) -> Any:
    places, values, left = _send()(gradient, error, count)
    return values, places, left


SWAPPED = "{fault} The places come first, then the numbers there."


def into_gradient(gradient: Any, error: Any, count: int) -> Any:
    gradient += error
    places = _largest(gradient, count)
    values = gradient[places]
    gradient[places] = 0
    return places, values, gradient


def into_error(gradient: Any, error: Any, count: int) -> Any:
    return into_gradient(error, gradient, count)
