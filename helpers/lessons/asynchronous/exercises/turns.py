"""What the specs of lesson 06 share: arrivals as cases, their turns judged, what many get wrong.

A case's facts hold the turns that are wanted. Where everybody waits in the end, the last turn is
`{"stuck"}`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from helpers.checks.common import fails_with
from helpers.checks.compare import count, describe, is_array, listing, rounded
from helpers.checks.drives.calling import Function
from helpers.checks.spec import Case, Driver, Mistake, Observation

Turn = dict[str, Any]
Random = np.random.Generator


def arrivals(
    random: Random, seed: int, workers: int, length: int, late: set[int], limit: float = math.inf
) -> list[int]:
    """An order in which workers arrive, drawn again, at most 50 times, for what is to be in it.

    length: of the order; a hidden one is somewhat longer. late: how late some gradients are to be
    where each worker pulls at once, and what is no later than `limit` is applied.
    """
    order: list[int] = []
    length += int(random.integers(8, 13)) if seed else 0
    for _ in range(50):
        order, made = [int(w) for w in random.integers(0, workers, length)], 0
        pulled, found = dict.fromkeys(order, 0), set[int]()
        for worker in order:
            found.add(made - pulled[worker])
            made += made - pulled[worker] <= limit
            pulled[worker] = made
        if late <= found:
            break
    return order


def case(
    words: str,
    drive: Driver,
    random: Random,
    order: list[int],
    workers: int,
    extra: tuple[Any, ...],
    right: Function,
    option: str = "",
    width: int = 3,
) -> Case:
    """A case with the turns of the right class. words: how its name goes on behind the number of
    workers. option: what the driver has inside or around. width: so many weights."""
    goals = np.round(random.standard_normal((workers, width)), 2)
    args = ((goals, round(float(random.uniform(0.1, 0.4)), 2), extra, order),)
    options = {option: True} if option else {}
    made = Case(f"With {count(workers, 'worker')}{words}", args, options=options)
    return replace(made, facts={"want": drive(right, made).values[0]})


def same(got: Turn | None, want: Turn | None) -> bool:
    """Whether two turns are the same; weights to nine digits, infinities and NaN alike.

    How many tensors a cure holds is its own affair, but for the exercise that asks for it. None
    stands for what nobody saw.
    """
    if got is None or want is None or got.keys() != want.keys():
        return False
    if "again" in got:
        return all(same(*pair) for pair in zip_longest(got["again"], want["again"]))
    for key in want.keys() - {"weights", "held", "arrive"}:
        if got[key] not in (None, want[key]):
            return False
    if "stuck" in got:
        return True
    mine, right = got["weights"], want["weights"]
    return is_array(mine, right.shape) and np.allclose(mine, right, 1e-9, 1e-9, equal_nan=True)


def first_difference(case: Case, seen: Observation) -> tuple[int, Turn | None, Turn | None]:
    """The number of the first turn that is not as wanted, from 1; and both turns. 0 for none."""
    for number, (got, want) in enumerate(zip_longest(seen.values[0], case.facts["want"]), 1):
        if not same(got, want):
            return number, got, want
    return 0, None, None


def late(turns: Sequence[Turn]) -> list[int]:
    """How late each gradient is when it comes: what was made by then, less its version."""
    whole = [turn for turn in turns if "made" in turn]
    made = [0, *(turn["made"] for turn in whole)]
    return [by_then - turn["version"] for by_then, turn in zip(made, whole, strict=False)]


def fault(case: Case, seen: Observation) -> str | None:
    """Every turn as wanted: weights, who is released, what is noted."""
    said = _fault(case, seen)
    if said and seen.values[0] and "stuck" in seen.values[0][-1]:
        return f"{said} In the end everybody waits for the server to let them go on."
    return said


def _fault(case: Case, seen: Observation) -> str | None:
    number, got, want = first_difference(case, seen)
    if number == 0:
        return None
    if got is None or want is None:
        return f"there are {len(seen.values[0])} turns, not {len(case.facts['want'])}."
    if "stuck" in got:
        return f"at turn {number} nobody comes any more: all wait for the server to let them go on."
    by = updates(late(case.facts["want"])[number - 1])
    where = f"worker {want['worker']} comes at turn {number}, {by} late"
    if "decision" in got:
        gave = describe(got["decision"])
        return f"{where}, and `arrive` returned {gave}: return a Decision, on every way through it."
    for key, words in (("worker", "who comes"), ("version", "the version it computed on")):
        if got[key] != want[key]:
            return f"{where}; {words} is {got[key]} instead of {want[key]}."
    if got["release"] != want["release"]:
        return f"{where}; you release {people(got['release'])}, not {people(want['release'])}."
    for key in ("applied", "dropped"):
        if got[key] != want[key]:
            return (
                f"{where}; your decision says {key}={pushes(got[key])}; it should say "
                f"{pushes(want[key])} (worker, version, staleness)."
            )
    if got.get("inside") not in (want.get("inside"), None):
        return f"{where}; hand a gradient on to `self.rule` once, and return what that decides."
    if got["made"] != want["made"]:
        return f"{where}; by then there are {updates(got['made'])} instead of {want['made']}."
    right = f"{describe(want['weights'])}{rounded([got['weights']], [want['weights']])}"
    return f"{where}; the weights are then {describe(got['weights'])}; they should be {right}."


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


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: the first turn that is not as wanted, and what was done in it."""
    number, got, want = first_difference(case, seen)
    if want is None:
        return {}
    by = updates(late(case.facts["want"])[number - 1])
    found: dict[str, Any] = {"turn": number, "worker": want["worker"], "late": by}
    if got is not None and "weights" in got:
        found |= {"released": people(got["release"]), "right": people(want["release"])}
        found |= {"made": updates(got["made"])}
    return found


def without_held(case: Case, seen: Observation) -> Any:
    """The turns, but for how many tensors are held: that is an answer's own affair."""
    return [{key: turn[key] for key in turn if key != "held"} for turn in seen.values[0]]


# --- what else is said to wrong answers -----------------------------------------------------------


def _no_push(case: Case, seen: Observation) -> Iterator[str]:
    for number, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=False), 1):
        for part in ("applied", "dropped") if "release" in got and "release" in want else ():
            odd = [push for push in got[part] if type(push) is not list]
            if not odd:
                continue
            where = f"`{part}` at turn {number}"
            if want[part] and got[part] == want[part][0]:
                yield (
                    f"{where} is one push where a tuple of them belongs: a comma makes it one, "
                    "`(push,)`."
                )
            if type(odd[0]) is tuple:
                yield (
                    f"{where} holds {describe(odd[0])}, a plain tuple: who reads the decision asks "
                    "for `push.staleness` by its name. `self.push(worker, version)` makes a Push, "
                    "which has one."
                )
            late = updates(want[part][0][2]) if want[part] else "so many"
            yield (
                f"{where} holds {describe(odd[0])} where a Push belongs: `self.push(worker, "
                "version)` makes one, which says who gave the gradient, of which version, and "
                f"that it is {late} late."
            )


_no_tuple = fails_with(
    "not iterable",
    "there is a single value where several can stand: `release`, `applied`, `dropped` "
    "and what `start` gives are tuples, and `(worker,)` holds one worker.",
    kind="TypeError",
)


def _written_into(case: Case, seen: Observation) -> Iterator[str]:
    if "were written into" in seen.text:
        yield (
            f"{seen.text} while it computed (`-=`, or a method with `_`): it holds that very "
            "tensor, and so may others. Make a new one."
        )


WRITTEN_INTO = Mistake("writes into weights", _written_into, unfinished=True)
KINDS = (Mistake("no push", _no_push), Mistake("no tuple", _no_tuple, unfinished=True))
