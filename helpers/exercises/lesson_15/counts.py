"""Exercise 15.4, a test for a counter of steps that ranks share.

`test_counts(count)`: fails where steps get lost. The claim: in every run it fails
on code in which another rank may come between reading and writing, and passes on code in which none
can, however long that takes.
"""

from __future__ import annotations

from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import listing
from helpers.exercises.drives_under_test import Run, on_counts
from helpers.exercises.drives_watched import Counted
from helpers.exercises.lesson_15 import counts_code as code
from helpers.exercises.lesson_15 import counts_wrong as wrong
from helpers.exercises.lesson_15 import under_test
from helpers.exercises.lesson_15.under_test import Piece
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

WAITS = "waits"  # of a piece: it takes longer than its steps
_FAULTY = (
    Piece(code.around_the_step, "reads before the step and writes after it"),
    Piece(code.after_the_step, "reads and writes after the step, with 10 ms between"),
    Piece(code.lock_with_a_gap, "finds the lock open, and closes it 1 ms later"),
)
_SOUND = (
    Piece(code.at_once, "nobody comes between reading and writing"),
    Piece(code.spin_lock, "reads and writes under a lock", WAITS),
    Piece(code.own_counters, "each rank has a counter of its own"),
)
_HIDDEN_FAULTY = (
    Piece(code.lock_of_its_own, "each rank locks a lock of its own"),
    Piece(code.by_twos, "adds two steps at a time, unlocked"),
    Piece(code.never_reads_again, "reads once and goes on counting alone"),
    Piece(code.lock_left_early, "opens the lock between reading and writing"),
)
_HIDDEN_SOUND = (
    Piece(code.by_messages, "counts are sent to rank 0, and the sum comes back", WAITS),
    Piece(code.lock_for_all, "one rank at a time takes a step", WAITS),
    Piece(code.in_turns, "ranks count in turns", WAITS),
    Piece(code.in_place, "adds in place"),
)


def cases(seed: int) -> list[Case]:
    """Seed 0: three faults and three sound pieces; else four others of each, in another order."""
    if not seed:
        return under_test.pieces(code.HEAD, _FAULTY, _SOUND, None, runs=2)
    return under_test.pieces(code.HEAD, _HIDDEN_FAULTY, _HIDDEN_SOUND, rng(seed, "15.4"), runs=2)


def claim(case: Case, seen: Observation) -> str | None:
    """It fails in every run on a fault, and in none on sound code."""
    return under_test.claim(case, seen)


def _calls(run: Run) -> list[Counted]:
    return [Counted(*call) for call in run.calls]


def _all_counted(call: Counted) -> bool:
    return all(gave == sum(call.steps) for _, gave in call.gave)


def _not_shown(case: Case, run: Run) -> str | None:
    """Why no step was lost, though the code is faulty."""
    calls = _calls(run)
    if all(call.ranks < 2 for call in calls):
        return "one rank"
    return "no step lost" if all(_all_counted(call) for call in calls) else None


def _alarmed(case: Case, run: Run) -> str | None:
    """Where a test fails on sound code: that may have to do with its time."""
    return "alarm, where it waits" if case.facts["argument"] == WAITS else None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what was counted, in the run of ranks that tells most."""
    found = under_test.said(case, seen)
    run = under_test.wrong_run(case, seen)
    found["what"] = "passed" if case.facts["fault"] else "failed"
    if run is None or not run.calls:
        return found
    calls = _calls(run)
    told = next((call for call in calls if not _all_counted(call)), calls[-1])
    gave = listing(dict.fromkeys(gave for _, gave in told.gave))
    return {
        **found,
        "steps": sum(told.steps),
        "ranks": told.ranks,
        "gave": gave,
        "wanted": str([sum(told.steps)] * told.ranks),
    }


def reference(count: Any) -> None:
    """Three ranks whose steps end at the same moments."""
    import helpers

    seconds = [[1.0] * steps for steps in (4, 2, 3)]
    counted = helpers.run(count, seconds, ranks=3, engine="virtual", show=False)
    assert list(counted) == [9, 9, 9], f"Of 9 steps the ranks counted {list(counted)}."


EXERCISE = Exercise(
    number="15.4",
    title="Lost steps",
    stars=2,
    minutes=10,
    points=3,
    function="test_counts",
    asks=(
        "it fails, in every run, where steps get lost because another rank may "
        "come between the reading of a counter and its writing, and passes, in every run, where "
        "none can."
    ),
    cases=cases,
    drive=on_counts,
    claim=claim,
    praise=under_test.praise,
    reference=reference,
    numbers=numbers,
    compared=under_test.compared(_not_shown, _alarmed),
    wrong=(
        WrongAnswer("never fails", wrong.never_fails, under_test.NEVER_CALLED),
        WrongAnswer("always fails", wrong.always_fails, under_test.NEVER_CALLED),
        WrongAnswer("breaks off", under_test.breaks_off, under_test.BROKE_OFF),
        WrongAnswer("real processes", wrong.real_processes, wrong.REAL_PROCESSES),
        WrongAnswer("one rank", wrong.one_rank, wrong.ONE_RANK),
        WrongAnswer("hopes for luck", wrong.lucky, wrong.LUCKY),
        WrongAnswer("compares the ranks", wrong.among_ranks, wrong.AMONG_RANKS),
        WrongAnswer("returns its verdict", wrong.returns, under_test.RETURNED),
        WrongAnswer("swallows its own error", wrong.swallows, under_test.SWALLOWED),
        WrongAnswer("asks for a time", wrong.in_time, wrong.IN_TIME),
        WrongAnswer("asks for each rank's own steps", wrong.own_steps, wrong.OWN_STEPS),
        WrongAnswer("too few rows", wrong.too_few_rows, wrong.TOO_FEW_ROWS),
    ),
    ranked=False,
)
