"""Exercise 08.3, a thread a replica.

`run_threads(session, updates, step, last) -> None` to write. The claim: every op is run over and
over by a thread of its own, all at once, until the step is `last`; when the function returns, no
thread goes on.
"""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from helpers.checks.common import raised
from helpers.checks.compare import count, listing
from helpers.checks.spec import Case, Exercise, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.four_ways.algorithms.four_ways import run_threads as reference
from helpers.lessons.four_ways.exercises.meeting import thread_runs


def cases(seed: int) -> list[Case]:
    """3, 1, 2 and 5 ops; `last` is what they reach together, or between.

    Then op 0 is slow, and the others must not wait for it; at last there is nothing to do.
    """
    random = rng(seed, "08.3")
    made = list[Case]()
    for ops in (3, 1, 2, 5) if not seed else (4, 3):
        turns = int(random.integers(2, 5))
        # The first case ends on a full turn of all ops, where one more would show.
        last = ops * turns - (int(random.integers(1, ops)) if made and ops > 1 else 0)
        made.append(Case(f"With {count(ops, 'op')} until step {last}", ((ops, last),)))
    ops, last = (3, 9) if not seed else (int(random.integers(2, 5)), int(random.integers(8, 14)))
    name = f"With {count(ops, 'op')}, of which op 0 is slow, until step {last}"
    made.append(Case(name, ((ops, last, "slow"),)))
    return [*made, Case("With 3 ops and a step that has come to its last already", ((3, 0),))]


TURNS = (
    "they take turns, as in one thread or under a lock, and wait for each other. Make a thread for "
    "each op, start all, and put no lock around `session.run`."
)


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Together, often enough, and all ended."""
    got = seen.values[0]
    if got["alone"]:
        yield f"{count(got['alone'], 'run')} had no other under way: {TURNS}"
    if not _often_enough(case, got):
        yield f"the ops were run {listing(got['runs'])} times."
    if got["here"] or max(got["threads"] or [0]) > 1:  # the grader sees no threads, but runs
        yield "not every op has one thread of its own."
    if got["looks"] < sum(got["runs"]):
        yield "the step was not looked at before each run."
    if got["open"]:
        yield "threads go on after it has returned."


def _most(case: Case) -> int:
    """How often an op is run at most."""
    ops, last, *slow = case.args[0]
    return int(last if slow else -(-last // ops))


def _often_enough(case: Case, got: dict[str, Any]) -> bool:
    """Whether each op was run as often as it should.

    A slow op 0 has one run, and the others make the rest: each of them may have looked at the step
    before the last one counted.
    """
    runs, (ops, last, *slow) = got["runs"], case.args[0]
    if not slow:
        return bool(runs == [_most(case)] * ops)
    return not got["held"] and runs[0] == 1 and last <= sum(runs[1:]) <= last + ops - 2


def compared(case: Case, seen: Observation) -> Any:
    """What does not depend on which thread was quicker: the first thing that is odd, if any."""
    got, ops, most = seen.values[0], case.args[0][0], _most(case)
    runs, looks, here, threads = (got[key] for key in ("runs", "looks", "here", "threads"))
    if got["open"] or got["held"]:
        return "threads go on" if got["open"] else "waits for the slow one"
    if got["much"] or min(runs) > most + 1:
        return "run too often"
    if not any(runs) or runs in ([1] * ops, [most + 1] * ops):
        return runs
    if got["alone"]:
        ran = [number > 0 for number in runs]
        return {"ran": ran, "here": None if here is None else here > 0}
    often = "never" if not looks else "seldom" if looks < sum(runs) else "each time"
    return {"looks": often, "threads": None if threads is None else max(threads) > 1}


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    if seen.trouble:
        return {}
    got = seen.values[0]
    rest = "A `join` waits for the end: start all threads first, in a loop of its own, and put no "
    rest += "lock around `session.run`."
    if got["here"] is None:
        rest = "Start all threads first, in a loop of its own, and hand the work over: "
        rest += "`Thread(target=work, args=(update,))`."
    return {
        "begin": rest,
        "first": got["runs"][0],
        "step": got["step"],
        "last": case.args[0][1],
        "open": count(got["open"], "thread"),
        "threads": max(got["threads"] or [0]),
        "looks": count(got["looks"], "time"),
        "runs": sum(got["runs"]),
    }


def in_turns(session: Any, updates: Any, step: Any, last: int) -> None:
    """A word goes round, and only who has it looks at the step and runs its op."""
    words = [threading.Semaphore(update == updates[0]) for update in updates]

    def work(mine: int) -> None:
        below = True
        while below:
            words[mine].acquire()
            below = session.run(step) < last
            if below:
                session.run(updates[mine])
            words[(mine + 1) % len(words)].release()

    with ThreadPoolExecutor(len(updates)) as pool:
        pool.map(work, range(len(updates)))


WRONG = """
# First, for where op 0 is slow the answers without threads of their own wait, too.
waits for the slow one
    | work(update: Any) => work(update: Any, gate: Any = threading.Barrier(len(updates)))
    | session.run(update) => session.run(update); gate.wait()
    op 0 was under way, and the others waited for it: with a barrier the slowest sets the pace. Each
    thread goes on at its own, and looks at nothing but the step.
all in one thread
    | thread.start() => pass
    | for thread in threads: thread.join()
        => while session.run(step) < last: [session.run(update) for update in updates]
    ! turns
takes turns
    = in_turns
    ! turns
# Ahead of the next, which a grader that sees no threads cannot tell from it.
joins
    | thread.start() => thread.start(); thread.join()
    op 0 makes all {first} updates, no other has run. {begin}
calls the work
    | target=work, args=(update,) => target=work(update)
    op 0 makes all {first} updates in no thread at all. `work(update)` runs at once, and so does
    `thread.run()`: hand both over, `Thread(target=work, args=(update,))`, and call `start`.
calls the work for a pool
    | threads = [threading.Thread(target=work, args=(update,)) for update in updates]
        => from concurrent.futures import ThreadPoolExecutor; threads = [];
        pool = ThreadPoolExecutor(); [pool.submit(work(each)) for each in updates]; pool.shutdown()
    `work(update)` runs at once, and the pool is given None, which it cannot run: hand both over,
    `pool.submit(work, update)`. A pool tells of an error by `result()` alone.
threads go on
    | thread.join() => pass
    it returns with {open} under way, whose session would be closed: `join` each first.
all threads run one op
    | target=work, args=(update,) => target=lambda: work(update)
    all threads run the last op. A `lambda` in a loop looks `update` up when it runs, and then the
    loop is over: hand it over by `args=(update,)`.
looks too late
    | while session.run(step) < last: session.run(update)
        => session.run(update); [session.run(update) for _ in iter(lambda: session.run(step) < last,
            False)]
    the step was reached before, as after a restart, and each op ran once more: look at the step
    first, and then run.
run once
    | while session.run(step) < last: => if True:
    each ran once: go on while the step is below {last}.
one more
    | < last => <= last
    all ran once more at step {last}: compare with `<`.
asks for equality
    | < last => != last
    the ops went on far beyond step {last}, though each asks for the step: several threads may take
    it past that number at once, and then it never is equal. Compare with `<`.
run too often
    | while session.run(step) < last: => for _ in range(last):
    the step is {step} and the ops still went on: read it before each run, as it counts the updates
    of all threads.
nothing is run
    | thread.start() => pass
    | thread.join() => pass
    no op was run: call `thread.start()`.
no tuple
    | (update,) => update
    ? with a comma even for one
the variable itself
    | session.run(step) < last => step < last
    ? a variable of the graph
never looks at the step
    | while session.run(step) < last: => for _ in range(-(-last // len(updates))):
    nobody asks for the step, and each op has its share of runs, though one may be slow: go on while
    `session.run(step)` is below `last`.
# Ahead of the next, for the same reason.
looks at the step once
    | while session.run(step) < last: => for _ in range(session.run(step), last, len(updates)):
    the step was read {looks} for {runs} runs: who counts its own leaves the rest to a slow one.
    Each thread reads the step before *every* run.
a thread a run
    | while session.run(step) < last: => if True:
    | threads = => updates = updates if session.run(step) < last else []; threads =
    | for thread in threads: thread.join()
        => [thread.join() for thread in threads];
        updates and run_threads(session, updates, step, last)
    {threads} threads ran an op one after the other, a new one for each run, and who joins them
    between waits for the slowest. The loop belongs into the thread.
"""

EXERCISE = Exercise(
    number="08.3",
    title="A thread a replica",
    size=Size(stars=1, minutes=10, points=2),
    function="run_threads",
    asks=(
        "a thread for each op, all at once; each runs its op as long as the step is below `last`; "
        "the function returns when all threads have ended."
    ),
    cases=cases,
    drive=thread_runs,
    claim=claim,
    mistakes=(
        raised(
            "arguments that are no tuple",
            "were given",
            "a thread's `args` are a tuple of arguments, with a comma even for one: "
            "`args=(update,)`.",
            ours=True,
        ),
        raised(
            "compares the variable",
            "not supported between instances",
            "`step` is a variable of the graph: `session.run(step)` reads its number.",
        ),
    ),
    numbers=numbers,
    compared=compared,
    praise=lambda cases, seen: (
        f"Passed with 1, 2, 3 and 5 ops: with 3 until step {cases[0].args[0][1]}, each was run "
        f"{seen[0].values[0]['runs'][0]} times, all three at once, and no thread is left."
    ),
    reference=reference,
    wrong=wrong_answers(
        "08.3", WRONG, reference, in_turns, turns=f"the ops run one at a time: {TURNS}"
    ),
    ranked=False,
)
