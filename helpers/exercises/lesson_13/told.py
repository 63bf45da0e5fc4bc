"""What may be wrong with any schedule: items that are no instructions, work left out or doubled.

These questions are asked by the exercises whose answers are schedules. Each gives the hint, or
None; they go from what makes a list no schedule at all to what makes it one that nobody can run.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from helpers.exercises.compare import Other, count, describe
from helpers.exercises.lesson_13.play import play, written
from helpers.exercises.spec import Case, Mistake, Observation


def no_list(case: Case, seen: Observation) -> str | None:
    """A stage that was given nothing with items."""
    for stage, mine in enumerate(seen.values[0]):
        if "told" not in mine:
            gave = mine["gave"]
            if isinstance(gave, Other) and gave.kind in ("Forward", "Backward"):
                return (
                    f"{case.name}, stage {stage} got a single {gave.kind}: `return` ends the "
                    "function at the first one. Write `yield`, and go on."
                )
            return (
                f"{case.name}, stage {stage} got {describe(gave)} instead of instructions: "
                "`yield` each of them, in order."
            )
    return None


def no_end(case: Case, seen: Observation) -> str | None:
    """A stage whose instructions never end."""
    for stage, mine in enumerate(seen.values[0]):
        if mine.get("endless"):
            there = 2 * case.facts["microbatches"]
            return (
                f"{case.name}, stage {stage} is still given instructions after "
                f"{len(mine['told'])}, and there is work for {there}: stop after the last Backward."
            )
    return None


def no_instruction(case: Case, seen: Observation) -> str | None:
    """An item that is neither Forward nor Backward."""
    for stage, mine in enumerate(seen.values[0]):
        for place, item in enumerate(mine["told"]):
            if item[0] in ("F", "B"):
                continue
            what = item[1]
            if isinstance(what, Other) and what.kind == "type":
                said = "a class without its microbatch: write `Forward(i)`"
            else:
                said = f"{describe(what)}: give `Forward(i)` and `Backward(i)` alone"
            return f"{case.name}, instruction {place} of stage {stage} is {said}."
    return None


def other_numbers(case: Case, seen: Observation) -> str | None:
    """A microbatch that there is not, or a chunk other than 0."""
    microbatches = case.facts["microbatches"]
    for stage, mine in enumerate(seen.values[0]):
        for kind, microbatch, chunk in mine["told"]:
            if chunk != 0:
                return (
                    f"{case.name}, stage {stage} is told about chunk {describe(chunk)} of its own. "
                    "A chunk is one of several pieces of the model on one rank, and here each rank "
                    "has one: leave it at 0."
                )
            if type(microbatch) is not int:
                return (
                    f"{case.name}, stage {stage} is given microbatch {describe(microbatch)}, which "
                    "is no whole number."
                )
            if not 0 <= microbatch < microbatches:
                last = microbatches - 1
                which = f"microbatches 0 to {last}" if last else "microbatch 0 alone"
                return (
                    f"{case.name}, stage {stage} is given {written(kind, microbatch)}, "
                    f"and there {'are' if last else 'is'} {which}."
                )
    return None


def not_once(case: Case, seen: Observation) -> str | None:
    """A microbatch that does not go forward once and backward once."""
    for stage, mine in enumerate(seen.values[0]):
        found = Counter((kind, microbatch) for kind, microbatch, _ in mine["told"])
        for kind in ("F", "B"):
            for microbatch in range(case.facts["microbatches"]):
                times = found[kind, microbatch]
                if times == 1:
                    continue
                total = sum(found[kind, i] for i in range(case.facts["microbatches"]))
                if times:
                    said = f"gets {written(kind, microbatch)} {count(times, 'time')}"
                else:
                    said = f"never gets {written(kind, microbatch)}"
                return (
                    f"{case.name}, stage {stage} {said} ({total} of "
                    f"{case.facts['microbatches']} in all): every microbatch goes through every "
                    f"stage once forward and once backward."
                )
    return None


def too_soon(case: Case, seen: Observation) -> str | None:
    """A backward before its own forward."""
    for stage, mine in enumerate(seen.values[0]):
        gone = set()
        for kind, microbatch, _ in mine["told"]:
            if kind == "F":
                gone.add(microbatch)
            elif microbatch not in gone:
                return (
                    f"{case.name}, stage {stage} is told {written('B', microbatch)} before "
                    f"{written('F', microbatch)}: there is nothing to go back through yet."
                )
    return None


def stuck(case: Case, seen: Observation) -> str | None:
    """Stages that wait for each other."""
    waiting = play([mine["told"] for mine in seen.values[0]], 1.0, 2.0).waiting
    if not waiting:
        return None
    words = [
        f"stage {stage} waits with {written(*own)} for {written(*other[:2])} of stage {other[2]}"
        for stage, (own, other) in sorted(waiting.items())
    ]
    return (
        f"{case.name}, nobody moves any more: {'; '.join(words)}. "
        "Before a stage waits to go back, it has to go forward with all that the stages after it "
        "need to start."
    )


_QUESTIONS: tuple[tuple[str, Any], ...] = (
    ("no instructions at all", no_list),
    ("instructions without an end", no_end),
    ("something that is no instruction", no_instruction),
    ("a microbatch that is not there", other_numbers),
    ("work left out or done twice", not_once),
    ("backward before forward", too_soon),
    ("stages that wait for each other", stuck),
)

MISTAKES = tuple(Mistake(name, look) for name, look in _QUESTIONS)


def fault(case: Case, seen: Observation) -> str | None:
    """Why the lists are no schedule that can be run; None where they are one."""
    stages = seen.values[0]
    if len(stages) != case.facts["stages"]:
        return f"{case.name}, there are instructions for {len(stages)} stages."
    for _, look in _QUESTIONS:
        found: str | None = look(case, seen)
        if found:
            return found
    return None


def lists(seen: Observation) -> list[Any]:
    """Every stage's tuples."""
    return [mine["told"] for mine in seen.values[0]]
