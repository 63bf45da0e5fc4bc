"""The driver of 16.1: a trial asked for again and again, also as another process would."""

import builtins
import os
from collections.abc import Iterable, Mapping
from typing import Any

from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.values import plain
from helpers.checks.random_states import seed_all, states
from helpers.checks.spec import Case, Observation
from helpers.lessons.search.algorithms.ranges import Choice, LogUniform, Uniform

PARTS = ("first", "other", "again", "turned", "salted", "elsewhere", "far")
_HASH, _ID, _PID = builtins.hash, builtins.id, os.getpid


def draws(fn: Function, case: Case) -> Observation:
    """Call `fn(space, trial, seed)` again and again.

    A case's arguments are (ranges, trials, seed): for each name a kind and what it is made of. The
    global random states are others in each part. `values[0]` is a list of the PARTS, and then
    {"random", "space": whether the global random states, and the space, were always left alone}.
    The parts: what the trials gave in turn; trials of the next seed; some of the first once more,
    from the last one back; the same ones from a space that names its ranges in the other order;
    where `hash` gives other numbers for text, as it does in every other process; of a copy of `fn`
    that was made before all calls, where `id`, `os.getpid` and the names' own hashes are others,
    too; and those of `far(seed)`. A trial gives `[[name, value], …]` by names.
    """
    from helpers.engine.copies import Copies

    trouble = wrong_signature(fn, 3)
    if trouble:
        return trouble
    ranges, trials, seed = case.args[0]
    kinds = {"linear": Uniform, "log": LogUniform, "choice": Choice}
    space = {name: kinds[kind](*given) for name, (kind, *given) in ranges.items()}
    turned = {name: space[name] for name in reversed(space)}
    alone, left = list[bool](), list[bool]()

    def ask(
        part: int, its: Mapping[str, Any], pairs: Iterable[tuple[int, int]], by: Function = fn
    ) -> list[Any]:
        seed_all(part)
        before = states()
        told = []
        for pair in pairs:
            held = dict(its)
            told.append(plain(by(held, *pair)))
            left.append(held == its)
        alone.append(states() == before)
        return [sorted(map(list, one.items())) if type(one) is dict else one for one in told]

    in_turn = [(trial, seed) for trial in range(trials)]
    few = in_turn[:6][::-1]
    try:
        copied = Copies(fn, ()).take()[0]
        found: list[Any] = [
            ask(0, space, in_turn),
            ask(1, space, [(trial, seed + 1) for trial in range(trials // 2)]),
            ask(2, space, few),
            ask(3, turned, few),
        ]
        salt(True)
        try:
            found.append(ask(4, space, few))
        finally:
            salt(False)
        move(True)
        try:
            found.append(ask(5, space, few, lambda its, *pair: named(copied, its, *pair)))
        finally:
            move(False)
        found.append(ask(6, space, far(seed)))
    except Exception as error:
        return failed(error, fn)
    return Observation(values=[[*found, {"random": all(alone), "space": all(left)}]])


def far(seed: int) -> list[tuple[int, int]]:
    """(trial, seed), far apart: of each two the first is easily taken for the second.

    The first two are the same digits behind one another; then come those of a product of the
    seed, and of a product of the trial.
    """
    products = (1000, 1024, 4096, 10_000, 65_536, 100_000)
    found = [(10, seed), (0, 10 * seed + 1)]
    for many in products:
        found += [(many, seed), (0, seed + 1)]
    for many in (100, *products):
        found += [(1, seed), (0, seed + many)]
    return found


def salt(other: bool) -> None:
    """Let `hash` give other numbers for what holds text, or the usual ones."""

    def holds_text(value: Any) -> bool:
        if isinstance(value, tuple | frozenset):
            return any(map(holds_text, value))
        return isinstance(value, str | bytes)

    def salted(value: Any, /) -> int:
        return _HASH((1, value)) if holds_text(value) else _HASH(value)

    builtins.hash = salted if other else _HASH


class Name(str):
    """A name with another hash, so that a set has its names in another order."""

    def __hash__(self) -> int:
        return _HASH((2, str(self)))


def named(fn: Function, space: dict[str, Any], trial: int, seed: int) -> Any:
    """`fn(space, trial, seed)` by such names; by ordinary ones where it finds nothing by them."""
    try:
        gave = fn({Name(name): its for name, its in space.items()}, trial, seed)
    except KeyError:
        gave = fn(space, trial, seed)
    return {str(name): its for name, its in gave.items()} if type(gave) is dict else gave


def move(other: bool) -> None:
    """Let `id` and `os.getpid` give other numbers, as in another process, or the usual ones."""
    builtins.id = (lambda value, /: _ID(value) + 4096) if other else _ID
    os.getpid = (lambda: _PID() + 1) if other else _PID
