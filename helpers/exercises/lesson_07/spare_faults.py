"""What the rule's turns should be, and the mistakes that they show (07.3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.compare import close, count, describe, listing
from helpers.exercises.lesson_07.spare_cases import RATE
from helpers.exercises.spec import Case, Observation

_TOLERANCE = 1e-9


def _first(case: Case, seen: Observation) -> tuple[int, dict[str, Any], dict[str, Any]] | None:
    """The first turn that is not as it should be: its number, what it was, what it should be."""
    want = case.facts["want"]
    for turn, got in enumerate(seen.values[0]):
        if turn >= len(want) or _fault(got, want[turn]):
            return turn, got, want[min(turn, len(want) - 1)]
    return None


def _fault(got: dict[str, Any], want: dict[str, Any]) -> str:
    """What of a turn is wrong, "" where nothing is."""
    if "stuck" in got:
        return "stuck"
    if set(got) != set(want):
        return "decision"
    for part in ("applied", "dropped", "release"):
        if _in_order(got[part]) != want[part]:
            return part
    if got["made"] != want["made"]:
        return "made"
    return "" if close(got["weights"], want["weights"], _TOLERANCE) else "weights"


def _in_order(found: Sequence[Any]) -> list[Any]:
    """Pushes or workers sorted; as they are where some are something else."""
    one_kind = all(type(each) is list for each in found) or all(type(e) is int for e in found)
    return sorted(found) if one_kind else list(found)


def claim(case: Case, seen: Observation) -> str | None:
    """Every turn as it should be."""
    found = _first(case, seen)
    if found is None:
        done, turns = len(seen.values[0]), len(case.facts["want"])
        return None if done == turns else f"{case.name}, only {done} of {turns} gradients came."
    turn, got, want = found
    fault = _fault(got, want)
    start = _start(case, turn, want)
    if fault == "stuck":
        return f"{case.name}, everybody waits after {turn} arrivals: release somebody."
    if fault == "made":
        return f"{start}: {got['made']} updates are made by then, {want['made']} should be."
    if fault == "weights":
        return f"{start}: the weights are {describe(got['weights'])}, not what they should be."
    said = {"applied": "in the update", "dropped": "dropped", "release": "released"}[fault]
    workers = [_workers(each[fault]) for each in (got, want)]
    return f"{start}: {said} are {workers[0]}; they should be {workers[1]}."


def _workers(of: Sequence[Any]) -> str:
    """Workers as released, or as named by pushes, in words."""
    named = sorted({worker for worker in map(_worker, of) if worker is not None})
    return f"those of worker {listing(named)}" if named else "none"


def _worker(named: Any) -> int | None:
    """Whose a push is, or who is released; None for what is neither."""
    if type(named) is list:
        return int(named[0])
    return named if type(named) is int else None


def _start(case: Case, turn: int, want: dict[str, Any]) -> str:
    version = want["version"]
    return f"{case.name}, arrival {turn + 1} (worker {want['worker']}, version {version})"


def _look_at(fault: str) -> Any:
    """A recogniser that is asked where the first wrong turn has this wrong."""

    def decorate(ask: Any) -> Any:
        def look(case: Case, seen: Observation) -> str | None:
            found = _first(case, seen)
            if found is None or fault not in (_fault(*found[1:]), "any"):
                return None
            hint = ask(case, *found)
            return f"{_start(case, found[0], found[2])}: {hint}" if hint else None

        return look

    return decorate


@_look_at("decision")
def no_decision(case: Case, turn: int, got: Any, want: Any) -> str | None:
    return (
        f"`arrive` gave {describe(got['decision'])}. It gives a `Decision` whatever happens; "
        "`Decision()` where the gradient is only kept."
    )


def counts_late(case: Case, seen: Observation) -> str | None:
    found = _first(case, seen)
    if found is None or not found[2]["dropped"] or found[1].get("dropped", True):
        return None
    turn, got, want = found
    later = [push for each in seen.values[0][turn:] for push in each.get("applied", ())]
    if want["worker"] in got["release"] or want["worker"] not in [_worker(push) for push in later]:
        return None
    return (
        f"{_start(case, turn, want)}: its step is over, but its gradient is kept for the next one. "
        "Drop it: a gradient counts only where its version is the rule's."
    )


@_look_at("any")
def says_nothing_of_late(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if not want["dropped"] or got["dropped"] or want["worker"] in got["release"]:
        return None
    return (
        "its step is over, and the decision neither names its gradient in `dropped` nor lets its "
        "worker go on: an empty `Decision()` is for a gradient that is kept."
    )


@_look_at("any")
def not_released(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if not want["dropped"] or not got["dropped"] or got["release"]:
        return None
    return (
        f"the gradient is dropped, but worker {want['worker']} is not released, and waits for "
        "ever. It pulls the newest weights and goes on: release it."
    )


@_look_at("dropped")
def not_said(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if got["dropped"] or got["release"] != want["release"] or not want["dropped"]:
        return None
    return "its gradient is left out without a word: name it in the decision's `dropped`."


@_look_at("dropped")
def drops_fresh(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if want["dropped"] or not got["dropped"]:
        return None
    return "its gradient is dropped, but it is of the current version: only a lower one is late."


@_look_at("any")
def waits_for_all(case: Case, turn: int, got: Any, want: Any) -> str | None:
    n = case.facts["aggregate"]
    if not want["applied"] or got["applied"] or got["made"] == want["made"]:
        return None
    if got["release"]:
        return None
    return (
        f"{n} gradients of this step are there, and no update is made. Do not wait for all "
        f"{case.facts['workers']} workers: the first {n} make it."
    )


def _same_workers(got: Any, want: Any) -> bool:
    """Whether both name the same workers' gradients, and got names them by pushes."""
    pushes = got["applied"]
    if not pushes or not all(isinstance(push, list) and len(push) == 3 for push in pushes):
        return False
    return sorted(push[0] for push in pushes) == [push[0] for push in want["applied"]]


@_look_at("applied")
def named_late(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if not _same_workers(got, want):
        return None
    _, version, late = got["applied"][0]
    return (
        f"the gradients in `applied` are named as of version {version} and {count(late, 'update')} "
        f"late; they are of version {want['version']} and in time. Name each by "
        "`self.push(worker, version)` when it comes, before `self.apply` raises the version."
    )


@_look_at("any")
def named_by_number(case: Case, turn: int, got: Any, want: Any) -> str | None:
    for part in ("applied", "dropped"):
        odd = [each for each in got[part] if type(each) is not list]
        if odd and type(odd[0]) is tuple:
            return (
                f"`{part}` holds {describe(odd[0])}, a plain tuple: who reads the decision asks "
                "for `push.worker` by its name. `self.push(worker, version)` makes a Push."
            )
        if odd:
            return (
                f"`{part}` holds {describe(odd[0])}, which is no gradient's name. Name each by "
                "`self.push(worker, version)`; numbers of workers belong in `release`."
            )
    return None


@_look_at("applied")
def not_named(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if got["applied"] or not want["applied"] or got["made"] != want["made"]:
        return None
    if sorted(got["release"]) != want["release"]:
        return None
    return "an update is made, but the decision does not name its gradients: `applied=…`."


@_look_at("made")
def made_too_many(case: Case, turn: int, got: Any, want: Any) -> str | None:
    made = got["made"] - want["made"]
    if made > 0:
        return (
            f"the version is {got['made']} by then; it should be {want['made']}. Call `self.apply` "
            "once, with the mean, and leave the version to it."
        )
    return "the decision names an update's gradients, but none was made: call `self.apply`."


def not_a_number(case: Case, seen: Observation) -> str | None:
    if seen.place is not None or "'Push'" not in seen.text:
        return None
    return (
        f"{case.name}, `release` holds pushes. It takes the numbers of the workers that go on: "
        "`push.worker` of each."
    )


def not_a_tuple(case: Case, seen: Observation) -> str | None:
    if seen.place is not None or "object is not iterable" not in seen.text:
        return None
    return (
        f"{case.name}, a part of your decision is one thing alone. `release`, `applied` and "
        "`dropped` are tuples, also of one: `release=(worker,)`."
    )


@_look_at("weights")
def wrong_mean(case: Case, turn: int, got: Any, want: Any) -> str | None:
    n, workers = case.facts["aggregate"], case.facts["workers"]
    step = want["weights"]
    if turn and want["made"] != 1:
        return None
    if workers > n and close(got["weights"], step * n / workers, _TOLERANCE):
        return (
            f"the step is {n}/{workers} of what it should be: the sum was divided by all {workers} "
            f"workers. Only {n} gradients are in it: divide by {n}."
        )
    if n > 1 and close(got["weights"], step * n, _TOLERANCE):
        return f"the step is {n} times too long: the {n} gradients were summed and not averaged."
    return None


@_look_at("weights")
def last_only(case: Case, turn: int, got: Any, want: Any) -> str | None:
    goals = case.args[0][0]
    if want["made"] != 1 or not close(got["weights"], RATE * goals[want["worker"]], _TOLERANCE):
        return None
    return "only the gradient that came last is in the update: apply the mean of all that are held."


@_look_at("any")
def kept_on(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if want["made"] < 2 - bool(not want["applied"]) or len(got["applied"]) <= len(want["applied"]):
        return None
    return (
        f"gradients of an earlier step are in this update, {len(got['applied'])} in all. Empty "
        "what is held once the update is made."
    )


@_look_at("release")
def releases_everyone(case: Case, turn: int, got: Any, want: Any) -> str | None:
    extra = sorted(set(got["release"]) - set(want["release"]))
    if not want["applied"] or not extra:
        return None
    return (
        f"worker {listing(extra)} is released too, though it is still computing. It learns that "
        "its step is over when it comes: release those whose gradients are in the update."
    )


@_look_at("release")
def releases_at_once(case: Case, turn: int, got: Any, want: Any) -> str | None:
    if want["release"] or not got["release"]:
        return None
    return (
        f"worker {listing(got['release'])} goes on before the step is over, and would give it a "
        "second gradient. While the step waits for more, nobody is released: `Decision()`."
    )


@_look_at("release")
def releases_too_few(case: Case, turn: int, got: Any, want: Any) -> str | None:
    missing = sorted(set(want["release"]) - set(got["release"]))
    if not want["applied"] or not missing:
        return None
    return (
        f"the update is made, but worker {listing(missing)} is not released. All whose gradients "
        "are in the update have waited for it: release all of them."
    )
