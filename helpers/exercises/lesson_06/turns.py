"""What the specs of lesson 06 share: arrivals as cases, and what tells two lists of turns apart.

A case's facts hold the turns that are wanted, and, by a name, those that answers with one thing
wrong give, which is how a mistake is recognised. Where everybody waits in the end, the last turn is
`{"stuck"}`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import zip_longest
from typing import Any

import numpy as np

from helpers.exercises.compare import count, describe, listing
from helpers.exercises.spec import Case, Driver, Mistake, Observation

Turn = dict[str, Any]
_TOLERANCE = 1e-9
_WIDTH = 3  # weights


def arrivals(random: np.random.Generator, workers: int, length: int, late: set[int]) -> list[int]:
    """An order in which workers arrive, drawn again, at most 50 times, for what is to be in it.

    late: how late some gradients are to be where each is applied and its worker pulls at once.
    """
    order: list[int] = []
    for _ in range(50):
        order = [int(w) for w in random.integers(0, workers, length)]
        if late <= set(lateness(order)):
            break
    return order


def lateness(order: Sequence[int]) -> list[int]:
    """How late each gradient is where every one is applied and its worker pulls at once."""
    pulled: dict[int, int] = {}
    late = []
    for made, worker in enumerate(order):
        late.append(made - pulled.get(worker, 0))
        pulled[worker] = made + 1
    return late


def case(
    name: str,
    drive: Driver,
    random: np.random.Generator,
    order: list[int],
    workers: int,
    extra: tuple[Any, ...],
    right: Callable[..., Any],
    others: Mapping[str, Callable[..., Any]],
    options: dict[str, Any] | None = None,
    width: int = _WIDTH,
) -> Case:
    """A case with what the right class gives, and each of the others. width: so many weights."""
    goals = np.round(random.standard_normal((workers, width)), 2)
    args = ((goals, round(float(random.uniform(0.1, 0.4)), 2), extra, order),)
    blind = Case(name, args, options=options or {})
    wanted = drive(right, blind)
    seen = {known: drive(other, blind) for known, other in others.items()}
    facts = {
        "want": wanted.values[0],
        "others": {known: one.values[0] for known, one in seen.items()},
    }
    return Case(name, args, options=options or {}, facts=facts)


def around_pairs(
    drive: Driver,
    random: np.random.Generator,
    extra: tuple[Any, ...],
    right: Callable[..., Any],
    others: Mapping[str, Callable[..., Any]],
) -> Case:
    """A case whose rule inside waits for two gradients: who decides in its place is wrong."""
    order: list[int] = []
    for number in range(12):
        waits = order[-1:] if number % 2 else []
        order.append(int(random.choice([w for w in range(3) if w not in waits])))
    name = named(3, ", around a rule that waits for two gradients")
    return case(name, drive, random, order, 3, extra, right, others, {"pairs": True})


def named(workers: int, words: str = "") -> str:
    """How a hint begins."""
    return f"With {count(workers, 'worker')}{words}"


def same(got: Turn | None, want: Turn | None) -> bool:
    """Whether two turns are the same; weights to nine digits, infinities and NaN alike.

    How many tensors a cure holds is its own affair, but for the exercise that asks for it. None
    stands for what nobody saw.
    """
    if got is None or want is None or got.keys() != want.keys() or "decision" in got:
        return False
    if "stuck" in got:
        return got == want
    for key, value in want.items():
        if key not in ("weights", "held") and got[key] is not None and got[key] != value:
            return False
    return alike(got["weights"], want["weights"])


def alike(got: Any, want: Any) -> bool:
    """Whether two arrays of weights are close; where one is infinite or NaN, so is the other."""
    if type(got) is not np.ndarray or got.shape != np.shape(want):
        return False
    return bool(np.allclose(got, want, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True))


def first_difference(case: Case, seen: Observation) -> tuple[int, Turn | None, Turn | None]:
    """The number of the first turn that is not as wanted, from 1; and both turns. 0 for none."""
    pairs = zip_longest(seen.values[0], case.facts["want"])
    for number, (got, want) in enumerate(pairs, 1):
        if not same(got, want):
            return number, got, want
    return 0, None, None


def late(turn: Turn) -> int:
    """How late the gradient of a wanted turn is; 0 where its fate is open yet."""
    parts = [*turn["applied"], *turn["dropped"]]
    return int(parts[0][2]) if parts else 0


def fault(case: Case, seen: Observation) -> str | None:
    """Every turn as wanted: weights, who is released, what is noted."""
    if type(seen.values[0]) is not list:
        return f"{case.name}, your class gave {describe(seen.values[0])} instead of decisions."
    number, got, want = first_difference(case, seen)
    if number == 0:
        return None
    if got is None or want is None:
        return f"{case.name}, there are {len(seen.values[0])} turns, not {len(case.facts['want'])}."
    where = (
        f"{case.name}, worker {want['worker']} comes at turn {number}, {updates(late(want))} late"
    )
    if "stuck" in got:
        said = "nobody comes any more: all wait for the server to let them go on"
        return f"{case.name}, at turn {number} {said}."
    if "decision" in got:
        gave = describe(got["decision"])
        return f"{where}, and `arrive` returned {gave}: return a Decision, on every way through it."
    for key, words in (("worker", "who comes"), ("version", "the version it computed on")):
        if got[key] != want[key]:
            return f"{where}; {words} is {got[key]} instead of {want[key]}."
    if got["release"] != want["release"]:
        return (
            f"{where}; you release {people(got['release'])} instead of {people(want['release'])}."
        )
    for key in ("applied", "dropped"):
        if got[key] != want[key]:
            return (
                f"{where}; your decision says {key}={pushes(got[key])}; it should say "
                f"{pushes(want[key])} (worker, version, staleness)."
            )
    if got.get("inside") not in (want.get("inside"), None):
        return f"{where}; hand a gradient on to `self.rule` once, and return what that decides."
    if got["made"] != want["made"]:
        return f"{where}; {updates(got['made'])} were made by then instead of {want['made']}."
    return (
        f"{where}; the weights are then {describe(got['weights'])}; they should be "
        f"{describe(want['weights'])}."
    )


def is_stuck(seen: Observation) -> bool:
    """Whether everybody waits in the end."""
    return bool(seen.values[0]) and "stuck" in seen.values[0][-1]


def updates(number: int) -> str:
    """ "1 update", "2 updates"."""
    return count(number, "update")


def people(workers: Sequence[int]) -> str:
    """ "nobody", "worker 0", "workers 0 and 2"."""
    if not workers:
        return "nobody"
    return f"{'worker' if len(workers) == 1 else 'workers'} {listing(workers)}"


def pushes(found: Sequence[Any]) -> str:
    """Pushes as in a tuple of Push(worker, version, staleness), anything else by its value."""
    words = [f"Push{tuple(p)}" if type(p) is list else describe(p) for p in found]
    return f"({', '.join(words)}{',' if len(words) == 1 else ''})"


def like(name: str, words: str) -> Mistake:
    """An answer whose turns are those of a known wrong one, `name` in the facts.

    words: the hint; {turn}, {worker}, {late}, {got} and {want} (weights), {released} and {made}
    stand for what is at the first turn that differs.
    """

    def look(case: Case, seen: Observation) -> str | None:
        other, turns = case.facts["others"].get(name), seen.values[0]
        if other is None or len(turns) != len(other):
            return None
        if not all(same(a, b) for a, b in zip(turns, other, strict=True)):
            return None
        number, got, want = first_difference(case, seen)
        if number == 0 or want is None:
            return None
        facts = {"turn": number, "worker": want["worker"], "late": updates(late(want))}
        if got is not None and "stuck" not in got:
            facts["got"], facts["want"] = describe(got["weights"]), describe(want["weights"])
            facts["released"], facts["made"] = people(got["release"]), updates(got["made"])
            facts["right"] = people(want["release"])
        return f"{case.name}, {words.format(**facts)}"

    return Mistake(name, look)


def holds_up(words: str) -> Mistake:
    """An answer after which everybody waits though somebody was to go on."""

    def look(case: Case, seen: Observation) -> str | None:
        if not is_stuck(seen):
            return None
        number, got, want = first_difference(case, seen)
        if (
            got is None
            or want is None
            or "stuck" in got
            or set(got["release"]) >= set(want["release"])
        ):
            return None
        facts = {"turn": number, "worker": want["worker"], "late": updates(late(want))}
        facts |= {"released": people(got["release"]), "right": people(want["release"])}
        return f"{case.name}, {words.format(**facts)}"

    return Mistake("everybody waits", look)


def stuck(case: Case, seen: Observation) -> str | None:
    """What any answer is told after which everybody waits."""
    if not is_stuck(seen):
        return None
    said = fault(case, seen) or f"{case.name}, every turn is right so far."
    return f"{said} In the end everybody waits for the server to let them go on."


STUCK = Mistake("everybody waits in the end", stuck)


def no_tuple(case: Case, seen: Observation) -> str | None:
    """A worker's number, or a push, where a tuple of them belongs."""
    if seen.kind != "TypeError" or "not iterable" not in seen.text:
        return None
    return (
        f"{case.name}, there is a single value where several can stand: `release`, `applied`, "
        "`dropped` and what `start` gives are tuples, and `(worker,)` holds one worker."
    )


NO_TUPLE = Mistake("no tuple", no_tuple, unfinished=True)
