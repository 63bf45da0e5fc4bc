"""What the specs of lesson 06 share: arrivals as cases, their turns judged, what many get wrong.

A case's facts hold the turns that are wanted. Where everybody waits in the end, the last turn is
`{"stuck"}`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

import numpy as np

from helpers.algorithms.servers.cure import Cure
from helpers.algorithms.servers.rule import Decision, Rule
from helpers.exercises.compare import count, describe, listing
from helpers.exercises.spec import Case, Driver, Mistake, Observation

Turn = dict[str, Any]
_TOLERANCE = 1e-9


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
    pulled, late = dict[int, int](), list[int]()
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
    options: dict[str, Any] | None = None,
    width: int = 3,
) -> Case:
    """A case with the turns of the right class. width: so many weights."""
    goals = np.round(random.standard_normal((workers, width)), 2)
    args = ((goals, round(float(random.uniform(0.1, 0.4)), 2), extra, order),)
    wanted = drive(right, Case(name, args, options=options or {}))
    return Case(name, args, options=options or {}, facts={"want": wanted.values[0]})


def around_pairs(
    drive: Driver, random: np.random.Generator, extra: tuple[Any, ...], right: Callable[..., Any]
) -> Case:
    """A case whose rule inside waits for two gradients: who decides in its place is wrong."""
    order: list[int] = []
    for number in range(12):
        waits = order[-1:] if number % 2 else []
        order.append(int(random.choice([w for w in range(3) if w not in waits])))
    name = named(3, ", around a rule that waits for two gradients")
    return case(name, drive, random, order, 3, extra, right, {"pairs": True})


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
    mine, right = got["weights"], want["weights"]
    if type(mine) is not np.ndarray or mine.shape != right.shape:
        return False
    return bool(np.allclose(mine, right, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True))


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
    said = _fault(case, seen)
    if said and seen.values[0] and "stuck" in seen.values[0][-1]:
        return f"{said} In the end everybody waits for the server to let them go on."
    return said


def _fault(case: Case, seen: Observation) -> str | None:
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
    found: dict[str, Any] = {"turn": number, "worker": want["worker"], "late": updates(late(want))}
    if got is not None and "weights" in got:
        found |= {"got": describe(got["weights"]), "want": describe(want["weights"])}
        found |= {"released": people(got["release"]), "right": people(want["release"])}
        found["made"] = updates(got["made"])
    return found


def without_held(case: Case, seen: Observation) -> Any:
    """The turns, but for how many tensors are held: that is an answer's own affair."""
    return [{key: turn[key] for key in turn if key != "held"} for turn in seen.values[0]]


# --- what else is said to wrong answers -----------------------------------------------------------


def _no_push(case: Case, seen: Observation) -> str | None:
    for number, (got, want) in enumerate(zip(seen.values[0], case.facts["want"], strict=False), 1):
        if "release" not in got or "release" not in want:
            continue
        for part in ("applied", "dropped"):
            given, right = got[part], want[part]
            odd = [push for push in given if type(push) is not list]
            if not odd:
                continue
            if right and given == right[0]:
                return (
                    f"{case.name}, `{part}` at turn {number} is one push where a tuple of them "
                    "belongs: a comma makes it one, `(push,)`."
                )
            if type(odd[0]) is tuple:
                return (
                    f"{case.name}, `{part}` at turn {number} holds {describe(odd[0])}, a plain "
                    "tuple: who reads the decision asks for `push.staleness` by its name. "
                    "`self.push(worker, version)` makes a Push, which has one."
                )
            return (
                f"{case.name}, `{part}` at turn {number} holds {describe(odd[0])} where a Push "
                "belongs: `self.push(worker, version)` makes one, which says who gave the "
                "gradient,"
                f" of which version, and that it is {updates(right[0][2]) if right else 'so many'} "
                "late."
            )
    return None


def _no_tuple(case: Case, seen: Observation) -> str | None:
    if seen.kind != "TypeError" or "not iterable" not in seen.text:
        return None
    return (
        f"{case.name}, there is a single value where several can stand: `release`, `applied`, "
        "`dropped` and what `start` gives are tuples, and `(worker,)` holds one worker."
    )


KINDS = (Mistake("no push", _no_push), Mistake("no tuple", _no_tuple, unfinished=True))
NOT_HANDED = (
    "the gradient at turn {turn} never reaches the rule inside: you make the update and the "
    "decision yourself, which is right around the plain rule alone. Around a synchronous rule, or "
    "another cure, it is not: hand it on with `self.rule.arrive(worker, …, version)` and return "
    "what that decides."
)
OWN_DECISION = (
    "you hand on the gradient at turn {turn} and then decide for yourself: the rule inside has "
    "decided already, and it may know better who goes on. Return what `self.rule.arrive(…)` gives."
)


# --- wrong answers that any of the rules can give -------------------------------------------------


def one_push(rule: Rule) -> Rule:
    """A rule that gives a push where a tuple of them belongs."""
    return _saying(rule, lambda said: {"applied": said.applied[0] if said.applied else ()})


def no_comma(rule: Rule) -> Rule:
    """A rule that gives a number where a tuple of them belongs."""
    return _saying(rule, lambda said: {"release": said.release[0] if said.release else ()})


def applies_itself(cure: Cure) -> Cure:
    """A cure that makes updates itself, around any rule as around the asynchronous one."""
    return _deciding(cure, lambda worker, gradient, version: cure.apply(gradient))


def decides_itself(cure: Cure) -> Cure:
    """A cure that hands on, and decides all the same."""
    return _deciding(cure, cure.rule.arrive)


def _deciding(cure: Cure, use: Callable[[int, Any, int], Any]) -> Cure:
    """A cure that decides as the asynchronous rule does. use: what it does with a gradient."""

    def arrive(worker: int, gradient: Any, version: int) -> Decision:
        push = cure.push(worker, version)
        use(worker, gradient, version)
        return Decision(release=(worker,), applied=(push,))

    cure.rule.arrive = arrive  # type: ignore[method-assign]
    return cure


def _saying(rule: Rule, changed: Callable[[Decision], dict[str, Any]]) -> Rule:
    """A rule with some parts of its decisions changed."""
    decide = rule.arrive

    def arrive(worker: int, gradient: Any, version: int) -> Decision:
        said = decide(worker, gradient, version)
        return replace(said, **changed(said))

    rule.arrive = arrive  # type: ignore[method-assign]
    return rule
