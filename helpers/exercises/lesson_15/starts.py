"""Exercise 15.3, a test for threads whose target is bound late.

`test_starts(start_all)`: fails where some worker does not run exactly once. The
claim: in every run, also where a thread that is started has ended before the next is made, it fails
on code that looks its worker up late, and passes on code that does not, in whatever order the
workers run.
"""

from __future__ import annotations

import threading
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_under_test import Run, on_starts
from helpers.exercises.drives_watched import Started
from helpers.exercises.lesson_15 import starts_code as code
from helpers.exercises.lesson_15 import starts_wrong as wrong
from helpers.exercises.lesson_15 import under_test
from helpers.exercises.lesson_15.under_test import Piece
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer

_FAULTY = (
    Piece(code.late_lambda, "each thread looks `worker` up when it runs"),
    Piece(code.late_number, "each thread looks `number` up when it runs"),
    Piece(code.late_attribute, "all threads look at one attribute when they run"),
    Piece(code.once_more, "the first worker gets a second thread"),
)
_SOUND = (
    Piece(code.itself, "each target is its worker"),
    Piece(
        code.default_backwards, "each target holds its worker; joined from the last to the first"
    ),
    Piece(code.by_arguments, "each thread gets its worker's number by `args`, and a name"),
)
_HIDDEN_FAULTY = (
    Piece(code.late_function, "an inner function looks its worker up late"),
    Piece(code.late_while, "an index goes on while threads wait"),
    Piece(code.late_partial, "what is handed on holds the last worker"),
    Piece(code.twice_over, "each worker runs twice"),
    Piece(code.late_pairs, "two threads at a time, bound late"),
)
_HIDDEN_SOUND = (
    Piece(code.by_factory, "a function makes each target; started from the last to the first"),
    Piece(code.by_partial, "targets are partial functions"),
    Piece(code.by_object, "targets are methods of objects"),
    Piece(code.by_iterator, "threads share out the workers under a lock"),
)


def cases(seed: int) -> list[Case]:
    """Seed 0: four faults and three sound pieces; else five and four others, in another order."""
    if not seed:
        return under_test.pieces(code.HEAD, _FAULTY, _SOUND, None)
    return under_test.pieces(code.HEAD, _HIDDEN_FAULTY, _HIDDEN_SOUND, rng(seed, "15.3"))


def claim(case: Case, seen: Observation) -> str | None:
    """It fails in every run on a fault, and in none on sound code."""
    return under_test.claim(case, seen)


def _once(call: Started) -> bool:
    return sorted(call.ran) == list(range(call.workers))


def _calls(run: Run) -> list[Started]:
    return [Started(*call) for call in run.calls]


def _not_shown(case: Case, run: Run) -> str | None:
    """Why every worker ran once, though the code is faulty."""
    calls = _calls(run)
    if all(call.workers < 2 for call in calls):
        return "one worker" if any(call.workers for call in calls) else "no worker"
    if not all(_once(call) for call in calls):
        return None
    if any(call.plain for call in calls):
        return "luck"
    return "given time" if run.patient else "at once"


def _misused(case: Case, run: Run) -> str | None:
    """What was handed in that is no worker, or breaks off."""
    if any(call.odd for call in _calls(run)):
        return "no functions"
    if any(call.instance for call in _calls(run)):
        return "an instance"
    if run.ended:
        return "broke off in a thread"
    early = any(ended < call.workers for call in _calls(run) for ended in call.ended)
    return "not waited for" if early else None


def _alarmed(case: Case, run: Run) -> str | None:
    """Why a test may fail on sound code."""
    calls = _calls(run)
    if any(call.same and _once(call) for call in calls):
        return "its own variables"
    mixed = any(_once(call) and call.ran != sorted(call.ran) for call in calls)
    return "order" if mixed else None


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: who ran, in the call that tells most."""
    run = under_test.wrong_run(case, seen)
    if run is None or not run.calls:
        return {
            **under_test.said(case, seen),
            "what": "passed" if case.facts["fault"] else "failed",
        }
    calls = _calls(run)
    told = next((c for c in calls if not _once(c)), calls[-1])
    often = [told.ran.count(number) for number in range(told.workers)]
    words = [f"worker {n} ran {_times(times)}" for n, times in enumerate(often)]
    who = f"each of {count(told.workers, 'worker')} ran once" if _once(told) else listing(words)
    odd = next((each.odd for each in calls if each.odd), "")
    odd = "None" if odd == "NoneType" else f"of type {odd}"
    return {
        **under_test.said(case, seen),
        "who": who,
        "order": listing(told.ran),
        "odd": odd,
        "ended": run.ended,
    }


def _times(times: int) -> str:
    few = ("never", "once", "twice", "three times", "four times", "five times")
    return few[times] if times < len(few) else f"{times} times"


def reference(start_all: Any) -> None:
    """Holds all threads back until they are joined."""

    class Held(threading.Thread):
        def start(self) -> None:
            pass

        def join(self, timeout: float | None = None) -> None:
            super().start()
            super().join(timeout)

    ran: list[int] = []
    start_all([lambda n=n: ran.append(n) for n in range(3)], Held)
    assert sorted(ran) == [0, 1, 2], f"These workers ran: {ran}."


EXERCISE = Exercise(
    number="15.3",
    title="Who runs?",
    stars=2,
    minutes=12,
    points=3,
    function="test_starts",
    asks=(
        "it fails, in every run, where `start_all(workers, thread)` does not run "
        "each worker exactly once, and passes, in every run, where it does, in whatever order."
    ),
    cases=cases,
    drive=on_starts,
    claim=claim,
    praise=under_test.praise,
    reference=reference,
    numbers=numbers,
    compared=under_test.compared(_not_shown, _alarmed, _misused),
    wrong=(
        WrongAnswer("never fails", wrong.never_fails, under_test.NEVER_CALLED),
        WrongAnswer("always fails", wrong.always_fails, under_test.NEVER_CALLED),
        WrongAnswer("breaks off", under_test.breaks_off, under_test.BROKE_OFF),
        WrongAnswer("one worker", wrong.one_worker, wrong.ONE_WORKER),
        WrongAnswer("no worker", wrong.no_worker, wrong.NO_WORKER),
        WrongAnswer("calls its workers itself", wrong.calls_them, wrong.CALLS_THEM),
        WrongAnswer("a worker that breaks off", wrong.broken, wrong.BROKEN),
        WrongAnswer("hopes for luck", wrong.lucky, wrong.LUCKY),
        WrongAnswer("runs each at once", wrong.at_once, wrong.AT_ONCE),
        WrongAnswer("waits a while", wrong.waits_a_while, wrong.WAITS_A_WHILE),
        WrongAnswer("does not wait in join", wrong.no_join, wrong.NO_JOIN),
        WrongAnswer("asks who, and not how often", wrong.as_a_set, wrong.AS_A_SET),
        WrongAnswer("counts, and does not ask who", wrong.counts, wrong.COUNTS),
        WrongAnswer("returns its verdict", wrong.returns, under_test.RETURNED),
        WrongAnswer("swallows its own error", wrong.swallows, under_test.SWALLOWED),
        WrongAnswer("asserts in a thread", wrong.in_a_thread, under_test.ELSEWHERE),
        WrongAnswer("binds its own workers late", wrong.late_itself, wrong.LATE_ITSELF),
        WrongAnswer("an instance for a class", wrong.an_instance, wrong.AN_INSTANCE),
        WrongAnswer("asks for an order", wrong.in_order, wrong.IN_ORDER),
        WrongAnswer("fails when all have run", wrong.the_wrong_way, wrong.THE_WRONG_WAY),
        WrongAnswer("a thread that takes a target alone", wrong.narrow, wrong.NARROW),
    ),
    ranked=False,
)
