"""Exercise 08.3, a thread a replica.

`run_threads(session, updates, step, last) -> None` to write. The claim: every op is run over and
over by a thread of its own, all at once, until the step is `last`; when the function returns, no
thread goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.common import rng
from helpers.exercises.compare import count, listing
from helpers.exercises.drives_four_ways_threads import thread_runs
from helpers.exercises.lesson_08 import threads_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 ops; `last` is sometimes what they reach together, sometimes between.

    In the last case op 0 is slow, and the others must not wait for it.
    """
    random = rng(seed, "08.3")
    made = list[Case]()
    for ops in (3, 1, 2, 5) if not seed else (4, 3):
        turns = int(random.integers(2, 5))
        # The first case ends on a full turn of all ops, where one more would show.
        last = ops * turns - (int(random.integers(0, ops)) if made else 0)
        made.append(
            Case(
                f"With {count(ops, 'op')} until step {last}",
                ((ops, last),),
                facts={"ops": ops, "last": last, "turns": turns},
            )
        )
    ops, last = (3, 9) if not seed else (int(random.integers(2, 5)), int(random.integers(8, 14)))
    made.append(
        Case(
            f"With {count(ops, 'op')}, of which op 0 is slow, until step {last}",
            ((ops, last, "slow"),),
            facts={"ops": ops, "last": last, "turns": last, "slow": True},
        )
    )
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """Together, often enough, and all ended."""
    got = seen.values[0]
    if got["alone"]:
        return f"{case.name}, {count(got['alone'], 'run')} had no other under way."
    if not _often_enough(case, got):
        return f"{case.name}, the ops were run {listing(got['runs'])} times."
    if got["here"] or max(got["threads"] or [0]) > 1:  # the grader sees no threads, but runs
        return f"{case.name}, not every op has one thread of its own."
    if got["looks"] < sum(got["runs"]):
        return f"{case.name}, the step was not looked at before each run."
    return f"{case.name}, threads go on after it has returned." if got["open"] else None


def _often_enough(case: Case, got: dict[str, Any]) -> bool:
    """Whether each op was run as often as it should.

    A slow op 0 has one run, and the others make the rest: each of them may have looked at the step
    before the last one counted.
    """
    runs, facts = got["runs"], case.facts
    if not facts.get("slow"):
        return bool(runs == [facts["turns"]] * facts["ops"])
    last = facts["last"]
    return not got["held"] and runs[0] == 1 and last <= sum(runs[1:]) <= last + facts["ops"] - 2


def _held(case: Case, seen: Observation) -> str | None:
    if not seen.values[0]["held"]:
        return None
    return (
        f"{case.name}, op 0 was under way, and the others waited for it: with a barrier the "
        "slowest sets the pace. Each thread goes on at its own, and looks at nothing but the step."
    )


def _no_join(case: Case, seen: Observation) -> str | None:
    open_ = seen.values[0]["open"]
    if not open_:
        return None
    return (
        f"{case.name}, it returns while {count(open_, 'thread')} still run: the session would be "
        "closed under their feet. `join` each thread before you return."
    )


def _one_op(case: Case, seen: Observation) -> str | None:
    runs = seen.values[0]["runs"]
    if seen.values[0]["much"] or len(runs) < 2 or any(runs[:-1]) or not runs[-1]:
        return None
    return (
        f"{case.name}, all threads run the last op. A `lambda` in a loop looks `update` up when it "
        "runs, and then the loop is over: hand it over by `args=(update,)`."
    )


def _alone(case: Case, seen: Observation) -> str | None:
    got = seen.values[0]
    if not got["alone"] or case.facts["ops"] == 1:
        return None
    if any(got["runs"][1:]):
        return (
            f"{case.name}, the ops take turns in one thread: while one runs, the others wait. Make "
            "a thread for each op, and start all."
        )
    if got["here"] is None:
        return (
            f"{case.name}, op 0 makes all {got['runs'][0]} updates while the others have not "
            "begun. Start all threads first, in a loop of its own, and hand the work over: "
            "`Thread(target=work, args=(update,))`."
        )
    if got["here"]:
        return (
            f"{case.name}, op 0 makes all {got['runs'][0]} updates in no thread at all. "
            "`work(update)` runs at once, and so does `thread.run()`: hand both over, "
            "`Thread(target=work, args=(update,))`, and call `start`."
        )
    return (
        f"{case.name}, op 0 makes all {got['runs'][0]} updates while the others have not begun. A "
        "`join` waits for the end: start all threads first, in a loop of its own."
    )


def _once(case: Case, seen: Observation) -> str | None:
    got = seen.values[0]
    if got["runs"] != [1] * case.facts["ops"] or case.facts["turns"] == 1:
        return None
    return (
        f"{case.name}, each op was run once, and the step is {got['step']}. A thread goes on "
        f"while the step is below {case.facts['last']}."
    )


def _too_many(case: Case, seen: Observation) -> str | None:
    got, last = seen.values[0], case.facts["last"]
    turns = case.facts["turns"]
    if got["much"] or min(got["runs"]) <= turns:
        return None
    if min(got["runs"]) == turns + 1:
        return (
            f"{case.name}, all ops are run once more at step {last}: it is enough when the step "
            f"*is* {last}. Compare with `<`."
        )
    return _endless(case, seen)


def _endless(case: Case, seen: Observation) -> str | None:
    got = seen.values[0]
    if not got["much"] and min(got["runs"]) <= case.facts["turns"] + 1:
        return None
    return (
        f"{case.name}, the step is {got['step']} and the ops still went on. Look at the step "
        "before each run, with `session.run(step)`: it counts the updates of all threads."
    )


def _new_threads(case: Case, seen: Observation) -> str | None:
    most = max(seen.values[0]["threads"] or [0])
    if most < 2:
        return None
    return (
        f"{case.name}, {most} threads ran an op one after the other, a new one for each run. Who "
        "joins them between waits for the slowest, and that is synchronous. The loop belongs into "
        "the thread."
    )


def _never_looks(case: Case, seen: Observation) -> str | None:
    got = seen.values[0]
    if got["looks"] or not any(got["runs"]):
        return None
    return (
        f"{case.name}, nobody asks for the step, and each op has its share of runs. A quick worker "
        "would end early and leave the rest to a slow one: go on while `session.run(step)` is "
        "below `last`."
    )


def _looks_seldom(case: Case, seen: Observation) -> str | None:
    got = seen.values[0]
    runs = sum(got["runs"])
    if not got["looks"] or got["looks"] >= runs:
        return None
    return (
        f"{case.name}, the step was read {count(got['looks'], 'time')} for {runs} runs: who counts "
        "its own runs ends early where it is quick, and leaves the rest to a slow one. Each thread "
        "reads the step before *every* run."
    )


def _no_tuple(case: Case, seen: Observation) -> str | None:
    if seen.place is not None or "positional argument" not in seen.text:
        return None
    return (
        f"{case.name}, a thread's `args` are a tuple of arguments, with a comma even for one: "
        "`args=(update,)`."
    )


def _not_read(case: Case, seen: Observation) -> str | None:
    if "not supported between instances" not in seen.text:
        return None
    return f"{case.name}, `step` is a variable of the graph: `session.run(step)` reads its number."


def _nobody(case: Case, seen: Observation) -> str | None:
    if any(seen.values[0]["runs"]):
        return None
    return f"{case.name}, no op was run. A thread begins with `thread.start()`."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    runs, last = seen[0].values[0]["runs"], cases[0].facts["last"]
    return (
        f"Passed with 1, 2, 3 and 5 ops: with 3 until step {last}, each was run {runs[0]} times, "
        "all three at once, and no thread is left."
    )


EXERCISE = Exercise(
    number="08.3",
    title="A thread a replica",
    stars=1,
    minutes=10,
    points=2,
    function="run_threads",
    asks=(
        "a thread for each op, all at once; each runs its op as long as the step is below `last`; "
        "the function returns when all threads have ended."
    ),
    cases=cases,
    drive=thread_runs,
    claim=claim,
    mistakes=(
        Mistake("arguments that are no tuple", _no_tuple, unfinished=True),
        Mistake("compares the variable", _not_read, unfinished=True),
        Mistake("nothing is run", _nobody),
        Mistake("threads go on", _no_join),
        Mistake("waits for the slow one", _held),
        Mistake("all threads run one op", _one_op),
        Mistake("one after the other", _alone),
        Mistake("run once", _once),
        Mistake("run too often", _too_many),
        Mistake("never enough", _endless),
        Mistake("a thread a run", _new_threads),
        Mistake("never looks at the step", _never_looks),
        Mistake("looks at the step once", _looks_seldom),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("no thread", wrong.no_thread, hint="the ops take turns in one thread"),
        WrongAnswer("joins at once", wrong.joins_at_once, hint="A `join` waits"),
        WrongAnswer("never joins", wrong.never_joins, hint="it returns while"),
        WrongAnswer("the last op", wrong.late_binding, hint="all threads run the last op"),
        WrongAnswer("once", wrong.once, hint="each op was run once"),
        WrongAnswer("one step more", wrong.one_more, hint="Compare with `<`"),
        WrongAnswer("last each", wrong.last_each, hint="it counts the updates of all threads"),
        WrongAnswer("never starts", wrong.never_starts, hint="no op was run"),
        WrongAnswer("calls the work", wrong.calls_at_once, hint="`work(update)` runs at once"),
        WrongAnswer("no tuple", wrong.no_tuple, hint="with a comma even for one"),
        WrongAnswer("the variable itself", wrong.the_variable, hint="a variable of the graph"),
        WrongAnswer("rounds of threads", wrong.rounds, hint="The loop belongs into"),
        WrongAnswer("a share each", wrong.a_share_each, hint="nobody asks for the step"),
        WrongAnswer("looks once", wrong.looks_once, hint="before *every* run"),
        WrongAnswer("a barrier", wrong.waits_for_the_others, hint="with a barrier the"),
    ),
    ranked=False,
    unseen={
        "threads": "in which thread an op is run (but how many runs are under way at one time)",
        "here": "whether a run is made in no thread of its own",
    },
)
