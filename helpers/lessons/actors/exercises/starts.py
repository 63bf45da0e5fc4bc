"""Exercise 15.3, a test for threads whose target is bound late.

`test_starts(start_all)`: fails where some worker does not run exactly once. The claim: in every
run, also where a thread that is started has ended before the next is made, it fails on code that
looks its worker up late, and passes on code that does not, in whatever order the workers run. The
file is long because it holds sixteen pieces of code to run tests on, and twenty-one such tests.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from helpers.checks.compare import count, listing
from helpers.checks.drives.calling import Function
from helpers.checks.spec import Case, Exercise, Observation, Size
from helpers.checks.table import wrong_answers
from helpers.lessons.actors.exercises import under_test


class Started(NamedTuple):
    """A call of `start_all`."""

    workers: int  # how many there are
    plain: bool  # whether it uses Python's own threads
    odd: str  # the type of a worker that cannot be called, "" where all can
    same: bool  # whether several workers are functions of one text that look up the same variables
    ran: list[int]  # in order
    ended: list[int]  # how many calls of workers had ended when the code returned, if it did


def _look_up_the_same(workers: list[Any]) -> bool:
    """Whether several functions hold nothing of their own: one code, one closure, no defaults."""
    held = set()
    for worker in workers:
        if not hasattr(worker, "__code__") or worker.__defaults__ or worker.__kwdefaults__:
            return False
        held.add((worker.__code__, *map(id, worker.__closure__ or ())))
    return len(workers) > 1 and len(held) == 1


def starting(text: str, notes: under_test.Notes) -> under_test.Code:
    """Notes a Started for each call."""
    code = under_test.compiled(text)

    def start_all(workers: Any, thread: Any = threading.Thread) -> Any:
        workers, ran, done = list(workers), list[int](), list[int]()
        odd = next((type(each).__name__ for each in workers if not callable(each)), "")
        how = thread is threading.Thread, odd, _look_up_the_same(workers)
        note = Started(len(workers), *how, ran, [])
        notes.append(note)

        def noted(number: int, worker: Callable[[], Any]) -> Callable[[], Any]:
            def work() -> Any:
                if getattr(start_all, "slow", False):
                    time.sleep(0.02)
                ran.append(number)
                try:
                    return worker()
                finally:
                    done.append(number)

            return work

        value = code([noted(*each) for each in enumerate(workers)], thread)
        note.ended.append(len(done))
        return value

    return start_all


def on_starts(fn: Function, case: Case) -> Observation:
    """A test of code that starts a thread for each worker; see `under_test.observed`."""
    return under_test.observed(fn, case, starting, under_test.raises, patient=True)


# --- code under test: a thread for each worker; `thread` is called as `threading.Thread` is -------
def itself(workers: Any, thread: Any = threading.Thread) -> None:
    threads = []
    for worker in workers:
        one = thread(target=worker)
        one.start()
        threads.append(one)
    for one in threads:
        one.join()


FAULTY = """
each thread looks `worker` up when it runs
    | target=worker => target=lambda: worker()
each thread looks `number` up when it runs
    | threads = []
        => threads = [thread(target=lambda: workers[number]()) for number in range(len(workers))]
    | for worker in workers: one = thread(target=worker) => for one in threads:
    | threads.append(one) =>
all threads look at one attribute when they run
    | threads = [] => threads, starter = [], type("Starter", (), {})()
    | for worker in => for starter.worker in
    | target=worker => target=lambda: starter.worker()
the first worker gets a second thread
    | in workers => in (*workers, *workers[:1])
"""
HIDDEN_FAULTY = """
an inner function looks its worker up late
    | target=worker => target=lambda: worker(), name=f"worker {len(threads)}"
    | in threads => in reversed(threads)
an index goes on while threads wait
    | for worker in workers => while len(threads) < len(workers)
    | one = thread(target=worker) => one = thread(target=lambda: workers[len(threads) - 1]())
    | one.start() threads.append(one) => threads.append(one); one.start()
what is handed on holds the last worker
    | threads = [] => threads, held = [], {}
    | for worker in => for held["worker"] in
    | target=worker => target=partial(lambda held: held["worker"](), held)
each worker runs twice
    | target=worker => target=lambda worker: (worker(), worker()), args=(worker,)
two threads at a time, bound late
    | target=worker => target=lambda: worker(), daemon=True
    | threads.append(one) => threads.append(one)
        ; [threads.pop(0).join() for _ in range(len(threads) // 2 * 2)]
"""
SOUND = """
each target is its worker
    = itself
each target holds its worker; joined from the last to the first
    | target=worker => target=lambda worker=worker: worker()
    | in threads => in reversed(threads)
each thread gets its worker's number by `args`, a name and `daemon`
    | for worker in workers => for number in range(len(workers))
    | target=worker
        => target=lambda number: workers[number](), args=(number,), name=f"worker {number}",
        daemon=True
"""
HIDDEN_SOUND = """
a function makes each target; started from the last to the first
    | in workers => in reversed(workers)
    | target=worker => target=(lambda worker: lambda: worker())(worker)
targets are partial functions
    | target=worker => target=partial(lambda worker, before: worker(), before=None), args=(worker,)
    | in threads => in reversed(threads)
targets are methods of objects
    | target=worker => target=worker.__call__, daemon=True
threads share out the workers under a lock
    | threads = [] => threads, waiting, guard = [], iter(workers), threading.Lock()
    | target=worker => target=lambda: (guard.acquire(), next(waiting), guard.release())[1]()
"""


def cases(seed: int) -> list[Case]:
    """Seed 0: four faults and three sound pieces; else five and four others, in another order."""
    tables = FAULTY, SOUND, HIDDEN_FAULTY, HIDDEN_SOUND
    return under_test.cases_of("15.3", seed, tables, [itself])


def _once(call: Started) -> bool:
    return sorted(call.ran) == list(range(call.workers))


def _not_shown(case: Case, run: under_test.Run) -> str | None:
    """Why every worker ran once, though the code is faulty."""
    if all(call.workers < 2 for call in run.calls):
        return "one worker" if any(call.workers for call in run.calls) else "no worker"
    if not all(map(_once, run.calls)):
        return None
    if any(call.plain for call in run.calls):
        return "luck"
    return "given time" if run.patient else "at once"


def _misused(case: Case, run: under_test.Run) -> str | None:
    """What was handed in that is no worker, or breaks off."""
    if any(call.odd for call in run.calls):
        return "no functions"
    if run.inside and "object is not callable" in run.said:
        return "an instance"
    if run.ended:
        return "broke off in a thread"
    early = any(ended < call.workers for call in run.calls for ended in call.ended)
    return "not waited for" if early else None


def _alarmed(case: Case, run: under_test.Run) -> str | None:
    """Why a test may fail on sound code."""
    sound = [call for call in run.calls if _once(call)]
    if any(call.same for call in sound):
        return "its own variables"
    return "order" if any(call.ran != sorted(call.ran) for call in sound) else None


def told(case: Case, run: under_test.Run) -> dict[str, Any]:
    """What the hints name: who ran, in the call that tells most."""
    call = next((each for each in run.calls if not _once(each)), run.calls[-1])
    few = ("never", "once", "twice", "three times", "four times", "five times")
    words = []
    for number in range(call.workers):
        times = call.ran.count(number)
        words.append(f"worker {number} ran {few[times] if times < len(few) else f'{times} times'}")
    who = f"each of {count(call.workers, 'worker')} ran once" if _once(call) else listing(words)
    odd = next((each.odd for each in run.calls if each.odd), "")
    odd = "None" if odd == "NoneType" else f"of type {odd}"
    return {"who": who, "order": listing(call.ran), "odd": odd, "ended": run.ended}


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


WRONG = """
never fails
    | start_all([lambda n=n: ran.append(n) for n in range(3)], Held) =>
    | sorted(ran) == [0, 1, 2] => callable(start_all)
    ! never_called
always fails
    | start_all([lambda n=n: ran.append(n) for n in range(3)], Held) =>
    ! never_called
breaks off
    = breaks_off
    ! broke_off
one worker
    | range(3) => range(1)
    | [0, 1, 2] => [0]
    your test gave it one worker. A loop of one round has nothing to mix up: the worker that a
    thread finds late is the right one all the same. Give it three.
no worker
    | range(3) => range(0)
    | [0, 1, 2] => []
    your test gave it no worker, so that nothing ran and nothing was mixed up. Give it three.
calls its workers itself
    | lambda n=n: =>
    the workers that your test handed in are no functions: one is {odd}. `ran.append(n)` runs at
    once and gives None, so the list was full before any thread began. Put it off until a thread
    calls it: `lambda n=n: ran.append(n)`.
a worker that breaks off
    | ran.append(n) => ran.append("worker" + n)
    a thread that your test started broke off, by {ended}. In a thread an error ends that thread and
    nothing else: call one of your workers by itself, and see what it raises.
hopes for luck
    | , Held) => )
    your test hoped for luck: it let Python's own threads run, each had found its worker before the
    loop went on, and {who}. Repeating makes luck likelier, never sure. Hand in a `thread` of your
    own that begins only when all have been made.
runs each at once
    | def start(self) -> None: pass => def start(self) -> None: self.run()
    | super().start() super().join(timeout) => pass
    your own kind of thread ran as soon as it was started: each found its worker in time, and {who}.
    Hold all of them back until the loop is over: do nothing in `start`, and begin in `join`.
waits a while
    | def start(self) -> None: pass
        => def run(self) -> None: threading.Event().wait(0.05); super().run()
    | super().start() super().join => super().join
    your kind of thread waits a while before it runs. In this run a while passed between two starts,
    too, as it does on a busy machine: each had found its worker by then, and {who}. No while is
    long enough. Begin in `join`, when the loop is over.
does not wait in join
    | super().join(timeout) =>
    `start_all` had returned before the workers were done: your kind of thread does not wait in
    `join`, so that what your test looks at then hangs on luck. Wait there for its end, by
    `super().join(timeout)`.
asks who, and not how often
    | sorted(ran) == [0, 1, 2] => set(ran) == {0, 1, 2}
    the fault showed: {who}. Your test passed. Sound code runs each worker exactly once: look at who
    ran and at how often, as in `sorted(ran)`. {no}
counts, and does not ask who
    | sorted(ran) == [0, 1, 2] => len(ran) == 3
    ! asks who, and not how often
returns its verdict
    | assert sorted(ran) == [0, 1, 2], f"These workers ran: {ran}."
        => return sorted(ran) == [0, 1, 2]
    ! returned
swallows its own error
    = swallows
    ! swallowed
asserts in a thread
    | ran.append(n) for => work(n) for
    | ran: list[int] = [] => def work(n, ran=[]): assert n not in ran; ran.append(n)
    | assert sorted(ran) == [0, 1, 2], f"These workers ran: {ran}." =>
    the fault showed, and an `assert` of yours failed in another thread. There it ends that thread,
    and nobody hears of it: keep what the workers did, and assert after `start_all` has returned.
binds its own workers late
    | lambda n=n: => lambda:
    | , f"These workers ran: {ran}." =>
    {who}, and your test failed ({said}): its own workers have the fault that it looks for. They
    look up one variable when they run, and find the last number. Let each hold its own: `lambda
    n=n: ran.append(n)`.
an instance for a class
    | , Held) => , Held())
    your test broke off{at} ({said}). `thread` is a class, which the code calls once for each
    worker; you handed in one thread, made already. Hand in the class, without brackets.
asks for an order
    | sorted(ran) == [0, 1, 2], f"These workers ran: {ran}." => ran == [0, 1, 2]
    each worker ran once, in the order {order}, and your test failed ({said}). Threads promise no
    order: compare `sorted(ran)`.
fails when all have run
    | == [0, 1, 2], f"These workers ran: {ran}." => != [0, 1, 2]
    your test failed ({said}), though {who}. An `assert` names what has to hold in sound code.
a thread that takes a target alone
    | class Held(threading.Thread): => class Held:
    | def start(self) -> None: pass => def __init__(self, target): self.join = target
    | def join(self, timeout: float | None = None) -> None: super().start() super().join(timeout)
        => def start(self): pass
    your test broke off{at} ({said}). What is handed in as `thread` is called as `threading.Thread`
    is, perhaps with `args`, a `name` or `daemon`: make it a subclass of that, and these come for
    free.
"""

EXERCISE = Exercise(
    number="15.3",
    title="Who runs?",
    size=Size(stars=2, minutes=12, points=3),
    function="test_starts",
    asks=(
        "it fails, in every run, where `start_all(workers, thread)` does not run "
        "each worker exactly once, and passes, in every run, where it does, in whatever order."
    ),
    cases=cases,
    drive=on_starts,
    claim=under_test.claim,
    praise=under_test.praise,
    reference=reference,
    numbers=under_test.numbers(Started, told),
    compared=under_test.compared(Started, _not_shown, _alarmed, _misused),
    wrong=wrong_answers(
        "15.3", WRONG, reference, *under_test.also_wrong(reference), **under_test.SAID
    ),
    ranked=False,
)
