"""Exercise 15.4, a test for a counter of steps that ranks share.

`test_counts(count)`: fails where steps get lost. The claim: in every run it fails on code in which
another rank may come between reading and writing, and passes on code in which none can, however
long that takes. The file is long because it holds eighteen pieces of code to run tests on.
"""

from __future__ import annotations

import sys
from traceback import walk_stack
from typing import Any, ClassVar, NamedTuple
from weakref import WeakValueDictionary

import helpers
from helpers.checks.compare import listing
from helpers.checks.drives.calling import Function
from helpers.checks.spec import Case, Exercise, Observation, Size
from helpers.checks.table import wrong_answers
from helpers.lessons.actors.exercises import under_test


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

    def __init__(self, text: str, notes: under_test.Notes) -> None:
        self.text, self.notes, self.code = text, notes, under_test.compiled(text)
        self.away, self.broke, self.__name__ = False, False, "count"
        Counting._here[id(self)] = self

    def __reduce__(self) -> Any:
        frames = walk_stack(sys._getframe())
        files = [frame.f_code.co_filename.replace("\\", "/") for frame, _ in frames]
        # Whether an engine pickles it now, and not for ranks in this process.
        here = any(file.endswith("helpers/engine/copies.py") for file in files)
        if not here and any(file.endswith("helpers/engine/processes.py") for file in files):
            self.away = True
            raise RuntimeError("This is checked on the virtual clock alone.")
        return _counting, (id(self), self.text)

    def __call__(self, comm: Any, seconds: Any) -> Any:
        mine = Counted(comm.size, [len(row) for row in seconds[: comm.size]], [])
        if not self.notes:
            self.notes.append(mine)
        try:
            value = self.code(comm, seconds)
        except Exception:
            self.broke = True
            raise
        if comm.size != self.notes[-1].ranks or comm.rank in dict(self.notes[-1].gave):
            self.notes.append(mine)
        self.notes[-1].gave.append((comm.rank, value if type(value) in (int, float) else None))
        return value


def _counting(number: int, text: str) -> Counting:
    return Counting._here.get(number) or Counting(text, [])


class Touchy:
    """What raises AssertionError where anything is asked of it."""

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __hash__ = under_test.raises
    __int__ = __float__ = __index__ = __bool__ = under_test.raises
    __add__ = __radd__ = __sub__ = __rsub__ = under_test.raises


def touchy(*args: Any, **options: Any) -> Touchy:
    """Stands for code under test on ranks, where an exception would come back as another."""
    return Touchy()


def on_counts(fn: Function, case: Case) -> Observation:
    """A test of code that counts the steps of all ranks; see `under_test.observed`."""
    return under_test.observed(fn, case, Counting, touchy)


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
reads and writes after the step, with 1 ms between
    | counter[0] = => comm.compute(0.001); counter[0] =
finds the lock open, and closes it 1 ms later
    = spin_lock
    | lock[0] = 1 => comm.compute(0.001); lock[0] = 1
adds two steps at a time, with 1 ms between
    | for each in seconds[comm.rank]:
        => for two in [seconds[comm.rank][i : i + 2] for i in range(0, len(seconds[comm.rank]), 2)]:
    | comm.compute(each) => comm.compute(sum(two))
    | counter[0] = before + 1 => comm.compute(0.001); counter[0] = before + len(two)
takes a while to write the first count alone
    | counter[0] = => before or comm.compute(0.01); counter[0] =
"""
HIDDEN_FAULTY = """
each rank locks a lock of its own
    = spin_lock
    | [0], comm.shared((1,))[0] => [0], comm.shared((1,))[comm.rank]
adds two steps at a time, unlocked
    | for each in seconds[comm.rank]:
        => for two in [seconds[comm.rank][i : i + 2] for i in range(0, len(seconds[comm.rank]), 2)]:
    | comm.compute(each) => comm.compute(sum(two))
    | counter[0] = before + 1 => comm.compute(0.001); counter[0] = before + len(two)
takes a while to write every third count
    | counter[0] = => before % 3 or comm.compute(0.01); counter[0] =
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
counts are sent to rank 0, and the sum comes back
    | counter = comm.shared((1,))[0] => taken = torch.zeros(1)
    | before = int(counter[0]) counter[0] = before + 1 => taken += 1
    | comm.barrier() => if comm.rank: comm.send(taken, 0); return int(comm.recv(0))
    | return int(counter[0]) => taken += sum(comm.recv(other) for other in range(1, comm.size));
        [comm.send(taken, other) for other in range(1, comm.size)]; return int(taken)
    ! waits
"""
HIDDEN_SOUND = """
counts are sent to the last rank, and the sum comes back
    | counter = comm.shared((1,))[0] => taken, last = torch.zeros(1), comm.size - 1
    | before = int(counter[0]) counter[0] = before + 1 => taken += 1
    | comm.barrier() => if comm.rank < last: comm.send(taken, last); return int(comm.recv(last))
    | return int(counter[0]) => taken += sum(comm.recv(other) for other in range(last));
        [comm.send(taken, other) for other in range(last)]; return int(taken)
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
CODE = (at_once, spin_lock, in_turns)


def cases(seed: int) -> list[Case]:
    """Seed 0: five faults and four sound pieces; else five and four others, in another order."""
    tables = FAULTY, SOUND, HIDDEN_FAULTY, HIDDEN_SOUND
    return under_test.cases_of("15.4", seed, tables, CODE, runs=2)


def _all_counted(call: Counted) -> bool:
    return all(gave == sum(call.steps) for _, gave in call.gave)


def _not_shown(case: Case, run: under_test.Run) -> str | None:
    """Why no step was lost, though the code is faulty."""
    if all(sum(steps > 0 for steps in call.steps) < 2 for call in run.calls):
        return "one rank"
    return "no step lost" if all(map(_all_counted, run.calls)) else None


def told(case: Case, run: under_test.Run) -> dict[str, Any]:
    """What the hints name: what was counted, in the run of ranks that tells most."""
    call = next((each for each in run.calls if not _all_counted(each)), run.calls[-1])
    lists = listing(dict.fromkeys(str([gave for _, gave in sorted(c.gave)]) for c in run.calls))
    steps, gave = sum(call.steps), listing(dict.fromkeys(gave for _, gave in call.gave))
    return {"steps": steps, "ranks": call.ranks, "gave": gave, "lists": lists}


def reference(count: Any) -> None:
    """Three ranks whose steps end at the same moments."""
    import helpers

    seconds = [[1.0] * steps for steps in (4, 2, 3)]
    counted = helpers.run(count, seconds, ranks=3, engine="virtual", show=False)
    assert list(counted) == [9, 9, 9], f"Of 9 steps the ranks counted {list(counted)}."


def together(count: Any) -> None:
    """Nearly the reference, without its words."""
    counted = helpers.run(count, [[1.0] * 3] * 3, ranks=3, engine="virtual", show=False)
    assert list(counted) == [9, 9, 9]


WRONG = """
never fails
    | counted = helpers.run(count, [[1.0] * 3] * 3, ranks=3, engine="virtual", show=False) =>
    | list(counted) == [9, 9, 9] => callable(count)
    ! never_called
always fails
    | counted = helpers.run(count, [[1.0] * 3] * 3, ranks=3, engine="virtual", show=False) =>
    | list(counted) == [9, 9, 9] => not callable(count)
    ! never_called
breaks off
    = breaks_off
    ! broke_off
real processes
    | engine="virtual", =>
    your test gave `count` to real processes, the engine that `helpers.run` takes if none is named.
    They have no virtual clock, and a race shows there when it likes: add `engine="virtual"`.
one rank
    | [[1.0] * 3] * 3, ranks=3 => [[1.0] * 5], ranks=1
    | [9, 9, 9] => [5]
    in your test one rank at most takes steps, and nobody comes in between. Give it two or more:
    `helpers.run(count, seconds, ranks=3, engine="virtual")`.
hopes for luck
    | [[1.0] * 3] * 3 => [[1.0, 1.3, 0.9], [1.13, 0.71, 1.2], [0.85, 1.7, 0.6]]
    with the ranks and seconds of your test no step was lost: all {steps} were counted, and there
    was nothing to see. What lies between reading and writing may take 1 ms alone. Let several ranks
    come there at the same moment: give all steps of all ranks the same length.
compares the ranks
    | list(counted) == [9, 9, 9] => len(set(counted)) == 1
    {ranks} ranks took {steps} steps, {gave} were counted, and your test passed. You know how many
    steps you asked for, over all ranks: compare with that. {no}
returns its verdict
    | assert => return
    ! returned
swallows its own error
    = swallows
    ! swallowed
asks for a time
    | == [9, 9, 9] => == [9, 9, 9]; assert max(counted.stats.seconds) < 3.001
    all steps were counted ({lists}), and your test failed{at} ({said}). Ask for nothing but the
    count: sound code may wait for a lock or send messages, and take longer for that.
asks for silence
    | == [9, 9, 9] => == [9, 9, 9]; assert not any(counted.stats.bytes)
    ! asks for a time
asks for each rank's own steps
    | [9, 9, 9] => [3, 3, 3]
    all steps were counted, and your test failed{at} ({said}). `helpers.run` gives a list, with the
    count of all ranks' steps for each rank; with the steps of your test that was {lists}. An
    `assert` names what holds of such a list in sound code.
too few rows
    | [[1.0] * 3] * 3 => [[1.0] * 3]
    your test broke off{at} ({said}). `seconds` has a row for each rank, and a number for each of
    its steps, such as `[[1.0] * 4] * 3` for three ranks of four steps.
"""

EXERCISE = Exercise(
    number="15.4",
    title="Lost steps",
    size=Size(stars=2, minutes=10, points=3),
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
    numbers=under_test.numbers(Counted, told),
    compared=under_test.compared(Counted, _not_shown),
    wrong=wrong_answers(
        "15.4", WRONG, together, *under_test.also_wrong(together), **under_test.SAID
    ),
    ranked=False,
)
