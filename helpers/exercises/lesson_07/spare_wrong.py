"""What is wrong in turns of N of N + b, and rules that are wrong in one thing (07.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce
from operator import iadd
from typing import Any

from helpers.algorithms.servers.rule import Decision, Push, Rule, mean
from helpers.exercises.common import fails_with
from helpers.exercises.compare import close, describe
from helpers.exercises.spec import Case, Mistake, Observation

_TOLERANCE = 1e-9
_PARTS = ("release", "applied", "dropped")


def in_order(seen: Observation) -> list[dict[str, Any]]:
    """The turns with who is released, and what is named, in the order of the workers."""
    return [
        {key: _sorted(part) if key in _PARTS else part for key, part in turn.items()}
        for turn in seen.values[0]
    ]


def _sorted(found: Sequence[Any]) -> list[Any]:
    """Pushes or workers sorted; as they are where some are something else."""
    one_kind = all(type(each) is list for each in found) or all(type(e) is int for e in found)
    return sorted(found) if one_kind else list(found)


def first(case: Case, seen: Observation) -> tuple[int, dict[str, Any], dict[str, Any]] | None:
    """The first turn that is not as it should be: its number, what it was, what it should be."""
    want = case.facts["want"]
    for turn, got in enumerate(in_order(seen)):
        if turn >= len(want) or fault(got, want[turn]):
            return turn, got, want[min(turn, len(want) - 1)]
    return None


def fault(got: dict[str, Any], want: dict[str, Any]) -> str:
    """What of a turn is wrong, "" where nothing is."""
    if "stuck" in got:
        return "stuck"
    if set(got) != set(want):
        return "decision"
    for part in ("applied", "dropped", "release"):
        if got[part] != want[part]:
            return part
    if got["made"] != want["made"]:
        return "made"
    return "" if close(got["weights"], want["weights"], _TOLERANCE) else "weights"


def start(case: Case, turn: int, want: dict[str, Any]) -> str:
    """Which arrival it is, in words."""
    version = want["version"]
    return f"{case.name}, arrival {turn + 1} (worker {want['worker']}, version {version})"


def _no_decision(case: Case, seen: Observation) -> str | None:
    found = first(case, seen)
    if found is None or "decision" not in found[1]:
        return None
    return (
        f"{start(case, found[0], found[2])}: `arrive` gave {describe(found[1]['decision'])}. It "
        "gives a `Decision` whatever happens; `Decision()` where the gradient is only kept."
    )


def _no_push(case: Case, seen: Observation) -> str | None:
    found = first(case, seen)
    for part in ("applied", "dropped") if found is not None else ():
        turn, got, want = found or (0, {}, {})
        odd = [each for each in got[part] if type(each) is not list]
        if not odd:
            continue
        said = f"{start(case, turn, want)}: `{part}` holds {describe(odd[0])}"
        if type(odd[0]) is tuple:
            return (
                f"{said}, a plain tuple: who reads the decision asks for `push.worker` by its "
                "name. `self.push(worker, version)` makes a Push."
            )
        return (
            f"{said}, which is no gradient's name. Name each by `self.push(worker, version)`; "
            "numbers of workers belong in `release`."
        )
    return None


_not_a_number = fails_with(
    "'Push'",
    "`release` holds pushes. It takes the numbers of the workers that go on: "
    "`push.worker` of each.",
    ours=True,
)


_not_a_tuple = fails_with(
    "object is not iterable",
    "a part of your decision is one thing alone. `release`, `applied` and `dropped` are "
    "tuples, also of one: `release=(worker,)`.",
    ours=True,
)


def _late(case: Case, seen: Observation) -> str | None:
    """What is not decided at once about a gradient that comes too late."""
    turn, got, want = first(case, seen) or (0, {}, {})
    if not want.get("dropped") or set(got) != set(want):
        return None
    begin = f"{start(case, turn, want)}: its step is over,"
    if not got["dropped"]:
        return f"{begin} and its gradient is not dropped now. Nothing is kept of a late one."
    named, right = got["dropped"][0], want["dropped"][0]
    if type(named) is list and named[1] != right[1]:
        return (
            f"{begin} and its gradient is named as of version {named[1]}: name it by the version "
            "that it came with, `self.discard(worker, version)`."
        )
    if not got["release"]:
        return (
            f"{begin} and its worker does not go on now. It pulls the newest weights at once, and "
            "takes part in the step that is going on."
        )
    return None


FAMILIES = (
    Mistake("a late gradient", _late),
    Mistake("releases pushes", _not_a_number, unfinished=True),
    Mistake("no tuple", _not_a_tuple, unfinished=True),
    Mistake("no decision", _no_decision),
    Mistake("named by numbers", _no_push),
)


# --- rules with one thing wrong -------------------------------------------------------------------


class Spare(Rule):
    """A right rule in parts, of which each wrong answer has another one."""

    is_late: Any = staticmethod(lambda version, current: version < current)
    late: Any = staticmethod(lambda rule, push: rule.discard(push.worker, push.version))
    needed: Any = staticmethod(lambda rule: rule.aggregate)
    waiting: Any = staticmethod(lambda push: Decision())
    combined: Any = staticmethod(lambda rule, gradients: mean(gradients))
    kept: Any = staticmethod(lambda held: [])  # after an update
    released: Any = staticmethod(lambda rule, pushes: tuple(push.worker for push in pushes))
    named: Any = staticmethod(lambda rule, pushes: pushes)

    def __init__(self, weights: Any, optimizer: Any, workers: Any, aggregate: int) -> None:
        super().__init__(weights, optimizer, workers)
        self.aggregate = aggregate
        self.held: list[tuple[Any, Push]] = []
        self.aside: list[Push] = []

    def set_aside(self, push: Push) -> tuple[Push, ...]:
        """Keep the name of a late gradient."""
        self.aside.append(push)
        return (push,)

    def taken(self) -> tuple[Push, ...]:
        """Those that were kept since the last update."""
        found, self.aside = self.aside, []
        return tuple(found)

    def arrive(self, worker: int, gradient: Any, version: int) -> Any:
        push = self.push(worker, version)
        if self.is_late(version, self.version):
            return self.late(self, push)
        self.held.append((gradient, push))
        if len(self.held) < self.needed(self):
            return self.waiting(push)
        gradients, pushes = zip(*self.held, strict=True)
        self.held = self.kept(self.held)
        self.apply(self.combined(self, gradients))
        return Decision(self.released(self, pushes), self.named(self, pushes))


def _with(**parts: Callable[..., Any]) -> type[Spare]:
    return type("Spare", (Spare,), {name: staticmethod(part) for name, part in parts.items()})


counts_late = _with(is_late=lambda version, current: False)
drops_equal = _with(is_late=lambda version, current: version <= current)
not_released = _with(late=lambda rule, push: Decision(dropped=(push,)))
says_nothing = _with(late=lambda rule, push: Decision())


def _all_now(rule: Any, pushes: tuple[Push, ...]) -> tuple[int, ...]:
    return tuple(push.worker for push in (*pushes, *rule.taken()))


drops_as_new = _with(late=lambda rule, push: rule.discard(push.worker, rule.version))
released_later = _with(
    late=lambda rule, push: Decision(dropped=rule.set_aside(push)), released=_all_now
)
holds_back = _with(
    late=lambda rule, push: Decision(dropped=rule.set_aside(push)[1:]), released=_all_now
)
counts_dropped = _with(
    late=lambda rule, push: Decision((push.worker,), dropped=rule.set_aside(push)),
    needed=lambda rule: rule.aggregate - len(rule.aside),
    released=lambda rule, pushes: (rule.taken(), tuple(push.worker for push in pushes))[1],
)
adds_in_place = _with(combined=lambda rule, gradients: reduce(iadd, gradients) / len(gradients))
divides_in_place = _with(
    combined=lambda rule, gradients: sum(gradient.div_(rule.aggregate) for gradient in gradients)
)
silent = _with(late=lambda rule, push: Decision(release=(push.worker,)))
names_tuples = _with(
    late=lambda rule, push: replace(rule.discard(push.worker, push.version), dropped=[tuple(push)])
)
releases_number = _with(late=lambda rule, push: Decision(push.worker, dropped=(push,)))
waits_for_all = _with(needed=lambda rule: len(rule.workers))
releases_at_once = _with(waiting=lambda push: Decision(release=(push.worker,)))
returns_nothing = _with(waiting=lambda push: None)
divides_by_all = _with(combined=lambda rule, gradients: sum(gradients) / len(rule.workers))
sums = _with(combined=lambda rule, gradients: sum(gradients))
last_only = _with(combined=lambda rule, gradients: gradients[-1])
never_empties = _with(kept=lambda held: held)
releases_everyone = _with(released=lambda rule, pushes: rule.start())
releases_last = _with(released=lambda rule, pushes: (pushes[-1].worker,))
releases_pushes = _with(released=lambda rule, pushes: pushes)
names_numbers = _with(named=lambda rule, pushes: tuple(push.worker for push in pushes))
names_nothing = _with(named=lambda rule, pushes: ())
names_late = _with(
    named=lambda rule, pushes: tuple(rule.push(push.worker, push.version) for push in pushes)
)


class RaisesVersion(Spare):
    def apply(self, gradient: Any) -> None:
        super().apply(gradient)
        self.version += 1


class NeverApplies(Spare):
    def apply(self, gradient: Any) -> None:
        pass
