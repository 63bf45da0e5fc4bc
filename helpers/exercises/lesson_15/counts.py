"""Exercise 15.4, a test for a counter of steps that ranks share.

`test_counts(count)`: fails where steps get lost. The claim: in every run it fails on code in which
another rank may come between reading and writing, and passes on code in which none can, however
long that takes. The file is long because it holds thirteen pieces of code to run tests on.
"""

from __future__ import annotations

import sys
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import helpers
from helpers.exercises.common import rng
from helpers.exercises.compare import listing
from helpers.exercises.drives.calling import Function, inside
from helpers.exercises.lesson_15 import under_test
from helpers.exercises.spec import Case, Exercise, Observation
from helpers.exercises.table import wrong_answers

WAITS = "waits"  # of a piece: it takes longer than its steps
HEAD = "import torch\nfrom typing import Any\n\n"


class Counted(NamedTuple):
    """steps: that each rank was to take. gave: (rank, number) of each rank that came back, None for
    what is no number."""

    ranks: int
    steps: list[int]
    gave: list[tuple[int, float | None]]


class Counting:
    """Notes a Counted for each run of ranks.

    It goes to the ranks by its number: on the virtual clock they are all here. To real processes
    it does not go. away: whether it was to. broke: whether the code raised an exception.
    """

    _here: ClassVar[WeakValueDictionary[int, Counting]] = WeakValueDictionary()
    _last: ClassVar[int] = 0

    def __init__(self, text: str, notes: under_test.Notes) -> None:
        self.text, self.notes, self.code, self.away = text, notes, under_test.compiled(text), False
        Counting._last += 1
        self.number, self.__name__, self.broke = Counting._last, "count", False
        Counting._here[self.number] = self

    def __reduce__(self) -> Any:
        if _packed_for_processes():
            self.away = True
            raise RuntimeError("This is checked on the virtual clock alone.")
        return _counting, (self.number, self.text)

    def __call__(self, comm: Any, seconds: Any) -> Any:
        steps = [len(row) for row in seconds]
        try:
            value = self.code(comm, seconds)
        except Exception:
            self.broke = True
            if not self.notes:
                self.notes.append(Counted(comm.size, steps, []))
            raise
        last = self.notes[-1] if self.notes else Counted(0, [], [])
        if last.ranks != comm.size or comm.rank in [rank for rank, _ in last.gave]:
            last = Counted(comm.size, steps, [])
            self.notes.append(last)
        last.gave.append((comm.rank, value if type(value) in (int, float) else None))
        return value


def _packed_for_processes() -> bool:
    """Whether it is an engine that pickles something now, and not for ranks in this process."""
    files, frame = list[str](), sys._getframe()
    while frame is not None:
        files.append(frame.f_code.co_filename.replace("\\", "/"))
        frame = frame.f_back  # type: ignore[assignment]
    if any(file.endswith("helpers/engines/copies.py") for file in files):
        return False
    return any(file.endswith("helpers/engines/processes.py") for file in files)


def _counting(number: int, text: str) -> Counting:
    return Counting._here.get(number) or Counting(text, [])


@inside
def on_counts(fn: Function, case: Case) -> Observation:
    """A test of code that counts the steps of all ranks; see `under_test.observed`."""
    return under_test.observed(fn, case, Counting, under_test.touchy)


# --- code under test: how many steps all ranks have taken; `seconds[r][k]` is how long one takes --
# Others come in between only where `comm.compute` lets time pass, or where a rank waits.
def at_once(comm: Any, seconds: Any) -> int:
    counter = comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        comm.compute(each)
        before = int(counter[0])
        counter[0] = before + 1
    comm.barrier()
    return int(counter[0])


def spin_lock(comm: Any, seconds: Any) -> int:
    counter, lock = comm.shared((1,))[0], comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        comm.compute(each)
        while lock[0]:
            comm.compute(0.001)
        lock[0] = 1
        before = int(counter[0])
        comm.compute(0.01)
        counter[0] = before + 1
        lock[0] = 0
    comm.barrier()
    return int(counter[0])


def by_twos(comm: Any, seconds: Any) -> int:
    counter, own = comm.shared((1,))[0], 0
    for number, each in enumerate(seconds[comm.rank], 1):
        comm.compute(each)
        own += 1
        if own == 2 or number == len(seconds[comm.rank]):
            before = int(counter[0])
            comm.compute(0.01)
            counter[0] = before + own
            own = 0
    comm.barrier()
    return int(counter[0])


def by_messages(comm: Any, seconds: Any) -> int:
    import torch

    taken = torch.zeros(1)
    for each in seconds[comm.rank]:
        comm.compute(each)
        taken += 1
    if comm.rank:
        comm.send(taken, 0)
        return int(comm.recv(0))
    for other in range(1, comm.size):
        taken += comm.recv(other)
    for other in range(1, comm.size):
        comm.send(taken, other)
    return int(taken)


def in_turns(comm: Any, seconds: Any) -> int:
    counter = comm.shared((1,))[0]
    for step in range(max(map(len, seconds))):
        mine = seconds[comm.rank][step : step + 1]
        comm.compute(sum(mine))
        for turn in range(comm.size):
            comm.barrier()
            if turn == comm.rank:
                before = int(counter[0])
                comm.compute(0.01)
                counter[0] = before + len(mine)
    comm.barrier()
    return int(counter[0])


FAULTY = """
reads before the step and writes after it
    | comm.compute(each) before = int(counter[0]) => before = int(counter[0]); comm.compute(each)
reads and writes after the step, with 10 ms between
    | counter[0] = => comm.compute(0.01); counter[0] =
finds the lock open, and closes it 1 ms later
    = spin_lock
    | lock[0] = 1 => comm.compute(0.001); lock[0] = 1
"""
HIDDEN_FAULTY = """
each rank locks a lock of its own
    = spin_lock
    | [0], comm.shared((1,))[0] => [0], comm.shared((1,))[comm.rank]
adds two steps at a time, unlocked
    = by_twos
reads once and goes on counting alone
    | before = int(counter[0]) => before += 1
    | counter = comm.shared((1,))[0] => counter = comm.shared((1,))[0]; before = int(counter[0])
    | counter[0] = before + 1 => counter[0] = before
opens the lock between reading and writing
    = spin_lock
    | lock[0] = 0 =>
    | comm.compute(0.01) => lock[0] = 0; comm.compute(0.01)
"""
SOUND = """
nobody comes between reading and writing
    = at_once
reads and writes under a lock
    = spin_lock
    ! waits
each rank has a counter of its own
    | counter = comm.shared((1,))[0] => counters = comm.shared((1,)); counter = counters[comm.rank]
    | comm.compute(each) before = int(counter[0]) => before = int(counter[0]); comm.compute(each)
    | return int(counter[0]) => return int(sum(int(one[0]) for one in counters))
"""
HIDDEN_SOUND = """
counts are sent to rank 0, and the sum comes back
    = by_messages
    ! waits
one rank at a time takes a step
    = spin_lock
    | comm.compute(each) =>
    | comm.compute(0.001) => comm.compute(each + 0.001)
    | comm.compute(0.01) => comm.compute(each)
    ! waits
ranks count in turns
    = in_turns
    ! waits
adds in place
    | before = int(counter[0]) counter[0] = before + 1 => counter.add_(1)
"""


def pieces(table: str) -> list[under_test.Piece]:
    """The code of a table."""
    return under_test.pieces_of("15.4", table, at_once, spin_lock, by_twos, by_messages, in_turns)


def cases(seed: int) -> list[Case]:
    """Seed 0: three faults and three sound pieces; else four others of each, in another order."""
    if not seed:
        return under_test.pieces(HEAD, pieces(FAULTY), pieces(SOUND), None, runs=2)
    hidden = pieces(HIDDEN_FAULTY), pieces(HIDDEN_SOUND)
    return under_test.pieces(HEAD, *hidden, rng(seed, "15.4"), runs=2)


def _calls(run: under_test.Run) -> list[Counted]:
    return [Counted(*call) for call in run.calls]


def _all_counted(call: Counted) -> bool:
    return all(gave == sum(call.steps) for _, gave in call.gave)


def _not_shown(case: Case, run: under_test.Run) -> str | None:
    """Why no step was lost, though the code is faulty."""
    calls = _calls(run)
    if all(call.ranks < 2 for call in calls):
        return "one rank"
    return "no step lost" if all(_all_counted(call) for call in calls) else None


def _alarmed(case: Case, run: under_test.Run) -> str | None:
    """Where a test fails on sound code: that may have to do with its time."""
    return "alarm, where it waits" if case.facts["argument"] == "waits" else None


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


TOGETHER = [[1.0] * 3] * 3


def _run(count: Any, seconds: list[list[float]]) -> Any:
    return helpers.run(count, seconds, ranks=len(seconds), engine="virtual", show=False)


def together(count: Any) -> None:
    """Nearly the reference, in one line."""
    assert list(_run(count, TOGETHER)) == [9, 9, 9]


def swallows(count: Any) -> None:
    try:
        assert list(_run(count, TOGETHER)) == [9, 9, 9]
    except AssertionError as error:
        str(error)


def in_time(count: Any) -> None:
    counted = _run(count, TOGETHER)
    assert list(counted) == [9, 9, 9]
    assert max(counted.stats.seconds) < 3.001


def too_few_rows(count: Any) -> None:
    counted = helpers.run(count, [[1.0] * 3], ranks=3, engine="virtual", show=False)
    assert list(counted) == [9, 9, 9]


WRONG = """
never fails
    | list(_run(count, TOGETHER)) == [9, 9, 9] => callable(count)
    ! never_called
always fails
    | list(_run(count, TOGETHER)) == [9, 9, 9] => not callable(count)
    ! never_called
breaks off
    = breaks_off
    ! broke_off
real processes
    | _run(count, TOGETHER) => helpers.run(count, TOGETHER, ranks=3, show=False)
    your test gave `count` to real processes, the engine that `helpers.run` takes if none is named.
    They have no virtual clock, and a race shows there when it likes: add `engine="virtual"`.
one rank
    | TOGETHER => [[1.0] * 5]
    | [9, 9, 9] => [5]
    your test ran it on one rank, which nobody can come in between. Give it two or more:
    `helpers.run(count, seconds, ranks=3, engine="virtual")`.
hopes for luck
    | TOGETHER => [[1.0, 1.3, 0.9], [1.13, 0.71, 1.2], [0.85, 1.7, 0.6]]
    with the ranks and seconds of your test no step was lost: all {steps} were counted, and there
    was nothing to see. What lies between reading and writing may take 1 ms alone. Let several ranks
    come there at the same moment: give all steps the same length.
compares the ranks
    | list(_run(count, TOGETHER)) == [9, 9, 9] => len(set(_run(count, TOGETHER))) == 1
    {ranks} ranks took {steps} steps, {gave} were counted, and your test passed. You know how many
    steps you asked for, over all ranks: compare with that.
returns its verdict
    | assert => return
    ! returned
swallows its own error
    = swallows
    ! swallowed
asks for a time
    = in_time
    all {steps} steps were counted ({gave}), and your test failed{at} ({said}). Ask for nothing but
    the count: sound code may wait for a lock, or send messages, and takes longer then.
asks for each rank's own steps
    | [9, 9, 9] => [3, 3, 3]
    all {steps} steps were counted, and your test failed{at} ({said}). `helpers.run` gives a list,
    with the count of all ranks' steps for each rank: {wanted}. Compare with that.
too few rows
    = too_few_rows
    your test broke off{at} ({said}). `seconds` has a row for each rank, and a number for each of
    its steps, such as `[[1.0] * 4] * 3` for three ranks of four steps.
"""

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
    claim=under_test.claim,
    praise=under_test.praise,
    reference=reference,
    numbers=numbers,
    compared=under_test.compared(_not_shown, _alarmed),
    wrong=wrong_answers(
        "15.4",
        WRONG,
        together,
        under_test.breaks_off,
        swallows,
        in_time,
        too_few_rows,
        never_called=under_test.NEVER_CALLED,
        broke_off=under_test.BROKE_OFF,
        returned=under_test.RETURNED,
        swallowed=under_test.SWALLOWED,
    ),
    ranked=False,
)
