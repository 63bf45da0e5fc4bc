"""What is said to a replay of a run (07.6): where its tables are others, or none at all."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.compare import close, count, describe, is_array, listing, number, short
from helpers.exercises.drives_split import changed
from helpers.exercises.spec import Case, Mistake, Observation

_TOLERANCE = 1e-6  # of the run's last moment


def named(workers: list[int]) -> str:
    """ "worker 2", "workers 0 and 2"."""
    return f"worker{'s' if len(workers) > 1 else ''} {listing(workers)}"


def answer(seen: Observation) -> tuple[np.ndarray, np.ndarray]:
    """What was returned, as two arrays; raises where it is something else."""
    begun, ready = seen.values[0]
    return _array(begun), _array(ready)


def _array(value: Any) -> np.ndarray:
    if type(value) in (list, tuple):
        value = np.array([_array(each) for each in value])
    made = np.asarray(value)
    if made.dtype.kind not in "iuf":
        raise TypeError
    return made.astype(np.float64)


def claim(case: Case, seen: Observation) -> str | None:
    """Both tables are those of the run that would have been."""
    got, want = answer(seen), (case.facts["begun"], case.facts["ready"])
    for row in range(len(want[0])):
        for table, what in ((0, "begins step"), (1, "has its gradient of step")):
            if row < len(want[table]) and not close(
                got[table][row],
                want[table][row],
                _TOLERANCE * want[0].max() / want[table][row].max(),
            ):
                return _apart(case, what, row, got[table][row], want[table][row])
    return None


def _apart(case: Case, what: str, row: int, got: np.ndarray, want: np.ndarray) -> str:
    with np.errstate(all="ignore"):
        away = np.nan_to_num(np.abs(got - want), nan=np.inf)
    worker = int(away.argmax())
    words = "is through" if row == case.facts["steps"] else f"{what} {row}"
    text = (
        f"{case.name}, worker {worker} {words} at {short(float(got[worker]))} s; it should be "
        f"{short(float(want[worker]))} s."
    )
    if not case.facts["fixed"]:
        text += " With nobody fixed the replay gives the run that you were given."
    return text


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how long the run took, takes in the answer, and should take."""
    begun = case.args[0][0]
    got, want = answer(seen)[0], case.facts["begun"]
    ran, made, asked = (f"{lasted(each):.4g} s" for each in (begun, got, want))
    told = f"the run of {ran} becomes one of {made}, and should become one of {asked}"
    fixed = case.facts["fixed"]
    return {"told": told, "who": named(fixed) if fixed else "nobody"}


def lasted(begun: np.ndarray) -> float:
    """Seconds from the first worker's beginning to the last one's end."""
    return float(begun[-1].max() - begun[0].min())


def _changed(case: Case, seen: Observation) -> str | None:
    place = changed(seen.values[0])
    if place is None:
        return None
    what = ("begun", "ready", "fixed")[min(place, 2)]
    return f"{case.name}, `{what}` holds other numbers now: whoever called needs it still."


def _not_two(case: Case, seen: Observation) -> str | None:
    try:
        answer(seen)
    except Exception:  # whatever a stranger's function gives
        value = seen.values[0]
        what = f"gave {describe(value)}"
        if is_array(value) and value.ndim == 2:
            what = "gave one table"
        elif number(value) is not None:
            what = f"gave one number, {describe(value)}"
        return (
            f"{case.name}, your function {what}; return begun and ready of the run that would "
            "have been, both tables of seconds."
        )
    return None


def _shapes(case: Case, seen: Observation) -> str | None:
    got, given = answer(seen), case.args[0]
    steps = case.facts["steps"]
    shapes = [table.shape for table in got]
    if shapes == [table.shape for table in given[:2]]:
        return None
    if shapes == [table.shape for table in (given[1], given[0])]:
        return (
            f"{case.name}, both tables are there: begun first, which has the row more, then ready."
        )
    if shapes[0] == given[1].shape:
        return (
            f"{case.name}, begun has {count(steps, 'row')}; it has one more, for when each worker "
            "is through with the last step."
        )
    return (
        f"{case.name}, the tables have the shapes {shapes[0]} and {shapes[1]}; they should be as "
        f"those given, {given[0].shape} and {given[1].shape}."
    )


MISTAKES = (
    Mistake("changes its argument", _changed),
    Mistake("not two tables", _not_two),
    Mistake("other shapes", _shapes),
)
