"""Exercise 07.6, what a run would have taken with some of its workers as quick as is usual.

`what_if(begun, ready, fixed) -> (begun, ready)`: begun has a row more than there are steps. The
claim: computing of the fixed workers is the median of its step, of an even number the lower one of
the two in the middle; sending, from the last gradient of a step until a worker begins the next one,
stays what it was; and waiting comes out anew.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.algorithms.servers.what_if import what_if as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count
from helpers.exercises.drives_kept import call_with_tensors
from helpers.exercises.lesson_07 import what_if_told as told
from helpers.exercises.lesson_07 import what_if_wrong as wrong
from helpers.exercises.lesson_07.what_if_told import lasted, named
from helpers.exercises.spec import Case, Exercise, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Seed 0: the slow one of 4, then 1, 2, 3 and 5 workers, nobody, and all; else other runs."""
    random = rng(seed, "07.6")
    shapes = [(4, 5, [2]), (1, 3, [0]), (2, 4, [1]), (3, 5, [2, 0]), (5, 4, [1, 3])]
    shapes += [(5, 3, []), (4, 5, [0, 1, 2, 3])]
    if seed:
        shapes = [(n, int(random.integers(3, 9)), _some(random, n)) for n in (4, 6, 1, 2, 3, 5, 9)]
        shapes += [(6, 5, []), (8, 4, list(range(8)))]
        # Another run of the same shape, for answers that remember one.
        shapes.append((*shapes[0][:2], _some(random, 4)))
    return [_case(random, *shape) for shape in shapes]


def _some(random: np.random.Generator, workers: int) -> list[int]:
    """Some of the workers, in any order."""
    many = int(random.integers(1, max(workers // 2, 1) + 1))
    return [int(worker) for worker in random.permutation(workers)[:many]]


def _case(random: np.random.Generator, workers: int, steps: int, fixed: list[int]) -> Case:
    """A run of steps that differ, in which the first of the fixed is slow and has a slow link; of
    the others that are fixed each is late once."""
    computing = random.uniform(1.0, 2.0, (steps, 1)) + random.uniform(0, 0.3, (steps, workers))
    sending = random.uniform(0.05, 0.25, (steps, workers))
    slow = fixed[0] if fixed else workers - 1
    computing[: steps - 1, slow] += random.uniform(1.0, 3.0, steps - 1)
    computing[-1, slow] -= 0.4
    for place, other in enumerate(fixed[1:]):
        computing[place % (steps - 1), other] += 4.0
    sending[:, slow] += 0.6
    begun = [4 + random.uniform(0, 0.3, workers)]
    ready: list[np.ndarray] = []
    for took, sends in zip(computing, sending, strict=True):
        ready.append(begun[-1] + took)
        begun.append(ready[-1].max() + sends)
    who = "nobody fixed" if not fixed else f"{named(fixed)} fixed"
    name = f"With {count(workers, 'worker')}, {count(steps, 'step')} and {who}"
    given = np.array(begun), np.array(ready)
    facts = dict(zip(("begun", "ready"), _replayed(*given, fixed), strict=True))
    return Case(name, ((*given, fixed),), facts={**facts, "steps": steps, "fixed": list(fixed)})


def _replayed(
    begun: np.ndarray, ready: np.ndarray, fixed: list[int]
) -> tuple[np.ndarray, np.ndarray]:
    """The run that would have been, by numpy."""
    computing = ready - begun[:-1]
    sending = begun[1:] - ready.max(axis=1, keepdims=True)
    middle = (computing.shape[1] - 1) // 2
    computing[:, fixed] = np.sort(computing, axis=1)[:, middle : middle + 1]
    begins, readies = [begun[0]], []
    for took, sends in zip(computing, sending, strict=True):
        readies.append(begins[-1] + took)
        begins.append(readies[-1].max() + sends)
    return np.array(begins), np.array(readies)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    run, fixed = lasted(cases[0].args[0][0]), lasted(cases[0].facts["begun"])
    return (
        f"Passed: a run of {run:.1f} s takes {fixed:.1f} s with {named(cases[0].facts['fixed'])} "
        "as quick as is usual, and with nobody fixed the replay is the run itself."
    )


_BEGINS_0 = "your moments count from 0. Begin where the run began, with its first row."

EXERCISE = Exercise(
    number="07.6",
    title="What if",
    stars=2,
    minutes=20,
    points=4,
    function="what_if",
    asks=(
        "begun and ready of the run as it would have been, had the fixed workers taken the median "
        "of each step's computing."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=told.claim,
    mistakes=told.MISTAKES,
    numbers=told.numbers,
    compared=lambda case, seen: list(told.answer(seen)),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "waiting is sent",
            wrong.waiting_is_sent,
            "{told}: you count the waiting for others as sending. Sending begins when the last "
            "gradient of the step is ready, for all workers at once.",
        ),
        WrongAnswer(
            "each for itself",
            wrong.each_for_itself,
            "{told}: each worker goes on by itself, and waits as long as it did in the run. A "
            "step is over when the last gradient is ready, whosever that is now.",
        ),
        WrongAnswer(
            "all begin together",
            wrong.all_begin_together,
            "{told}: all workers go on when the last one has its message. Each begins its next "
            "step when its own sending is over.",
        ),
        WrongAnswer(
            "no sending",
            wrong.no_sending,
            "{told}: nothing is sent between the steps. A worker begins when the last gradient "
            "is ready *and* its sending is over.",
        ),
        WrongAnswer(
            "nothing moves",
            wrong.nothing_moves,
            "no step begins sooner than it did in the run. Replay the steps one after the other: "
            "one begins after the new last gradient of the one before, and the sending of the run.",
        ),
        WrongAnswer(
            "not carried on",
            wrong.not_carried_on,
            "{told}: a step saves what it saves, but the next one begins from the run's own table. "
            "Begin each step with the row that the replay has just made.",
        ),
        WrongAnswer(
            "each with the longest computing",
            wrong.longest_computing,
            "{told}: you add the longest computing to each worker's own beginning. The last "
            "gradient is that of whoever is ready last: `(begins + took).max()`, for all.",
        ),
        WrongAnswer(
            "fixes nobody",
            wrong.fixes_nobody,
            "the replay is the run itself, and {who} should be fixed. What is written into "
            "`computing[:, fixed]` by a method of its own goes into a copy: assign to it. And the "
            "median is over all workers of the step, not over the fixed ones alone.",
        ),
        WrongAnswer(
            "fixes their sending",
            wrong.fixes_sending,
            "{told}: you give {who} the usual sending, too. Only the computing is fixed.",
        ),
        WrongAnswer(
            "the time saved",
            wrong.the_time_saved,
            "{told}: you take off all that {who} was late by. Then the next slowest worker "
            "decides, and less is saved: replay the step, and wait for whoever is last now.",
        ),
        WrongAnswer(
            "the quickest",
            wrong.the_quickest,
            "{told}: you put a time from below the middle, such as the quickest worker's. Usual is "
            "the median of the step.",
        ),
        WrongAnswer(
            "the mean",
            wrong.the_mean,
            "{told}: you put the mean, which holds the straggler's own time. Usual is the median.",
        ),
        WrongAnswer(
            "between two",
            wrong.between_two,
            "{told}: of an even number of workers you take the mean of the two in the middle. "
            "Take the lower one, as torch's `median` does: half of the workers may be late.",
        ),
        WrongAnswer(
            "the upper one",
            wrong.the_upper_one,
            "{told}: of an even number of workers you take the upper one of the two in the "
            "middle. Take the lower one: half of the workers may be late.",
        ),
        WrongAnswer(
            "the others' median",
            wrong.the_others_median,
            "{told}: your median leaves {who} out. It is that of all workers of the step.",
        ),
        WrongAnswer(
            "one median for the run",
            wrong.one_median_for_the_run,
            "{told}: you put one time for all steps. Steps differ: each has a median of its own.",
        ),
        WrongAnswer(
            "shares of the totals",
            wrong.shares_of_the_totals,
            "{told}: you compare the workers' totals, and put an equal share of one in every "
            "step. A total hides which step was late: take the median within each step.",
        ),
        WrongAnswer(
            "its own median",
            wrong.its_own_median,
            "{told}: you compare a worker with itself, over the steps. One that is always slow "
            "stays so: compare it with the others in its step, dim=1.",
        ),
        WrongAnswer(
            "only where it was late",
            wrong.only_where_it_was_late,
            "{told}: where a fixed worker was quicker than the median you leave it so. It takes"
            " the median in every step.",
        ),
        WrongAnswer(
            "fixes all",
            wrong.fixes_all,
            "{told}: you fix all workers, and {who} was asked for.",
        ),
        WrongAnswer(
            "fixes the others",
            wrong.fixes_the_others,
            "{told}: you fix everybody else, and leave {who} as in the run.",
        ),
        WrongAnswer(
            "fixes the first",
            wrong.fixes_the_first,
            "you fix the first worker of `fixed` alone, and {who} were asked for.",
        ),
        WrongAnswer(
            "not waited for",
            wrong.not_waited_for,
            "{told}: nobody waits for {who} any more. A fixed worker is not gone: it is waited "
            "for like the others, and is only as quick as is usual.",
        ),
        WrongAnswer("from 0", wrong.from_0, _BEGINS_0),
        WrongAnswer("from the first one", wrong.from_the_first_one, _BEGINS_0),
        WrongAnswer("no last row", wrong.no_last_row, hint="is through with the last step"),
        WrongAnswer("exchanged", wrong.exchanged, hint="begun first, which has the row more"),
        WrongAnswer("one table", wrong.one_table, hint="your function gave one table"),
        WrongAnswer("seconds", wrong.seconds, hint="your function gave one number"),
        WrongAnswer("returns nothing", wrong.returns_nothing, hint="your function gave None"),
        WrongAnswer("into ready", wrong.into_ready, hint="`ready` holds other numbers now"),
        WrongAnswer("into begun", wrong.into_begun, hint="`begun` holds other numbers now"),
    ),
    ranked=False,
)
