"""Exercise 07.6, what a run would have taken with some of its workers as quick as is usual.

`what_if(begun, ready, fixed) -> (begun, ready)`: begun has a row more than there are steps. The
claim: computing of the fixed workers is the median of its step, of an even number the lower one of
the two in the middle; sending, from the last gradient of a step until a worker begins the next one,
stays what it was; and waiting comes out anew. A long file, for there are 32 wrong answers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from helpers.checks.compare import close, count, describe, is_array, listing, number, short
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.requests import changed
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.spare_replicas.algorithms.what_if import fix, operations, usual
from helpers.lessons.spare_replicas.algorithms.what_if import what_if as reference


def cases(seed: int) -> list[Case]:
    """Seed 0: the slow one of 4, then 1, 2, 3 and 5 workers, nobody, and all; else other runs.

    Last, one whose fixed worker is not the slow one, and one in which a worker begins before all
    are ready, and sooner than it is itself once the slow one is fixed.
    """
    random = rng(seed, "07.6")
    shapes = [(4, 5, [2]), (1, 3, [0]), (2, 4, [1]), (3, 5, [2, 0]), (5, 4, [1, 3])]
    shapes += [(5, 3, []), (4, 5, [0, 1, 2, 3])]
    if seed:
        shapes = [(n, int(random.integers(3, 9)), _some(random, n)) for n in (4, 6, 1, 2, 3, 5, 9)]
        shapes += [(6, 5, []), (8, 4, list(range(8)))]
        # Another run of the same shape, for answers that remember one.
        shapes.append((*shapes[0][:2], _some(random, 4)))
    made = [_case(random, *shape) for shape in shapes]
    return [*made, _case(random, 5, 4, [3], slow=1), _case(random, 5, 4, [1], early=0)]


def _some(random: np.random.Generator, workers: int) -> list[int]:
    """Some of the workers, in any order."""
    many = int(random.integers(1, max(workers // 2, 1) + 1))
    return [int(worker) for worker in random.permutation(workers)[:many]]


def _case(
    random: np.random.Generator,
    workers: int,
    steps: int,
    fixed: list[int],
    slow: int | None = None,
    early: int | None = None,
) -> Case:
    """A run of steps that differ, in which the first of the fixed is slow and has a slow link; of
    the others that are fixed each is late once. slow: another one that is so. early: who begins
    each second step before the last gradient of the one before."""
    computing = random.uniform(1.0, 2.0, (steps, 1)) + random.uniform(0, 0.3, (steps, workers))
    sending = random.uniform(0.05, 0.25, (steps, workers))
    if slow is None:
        slow = fixed[0] if fixed else workers - 1
    computing[: steps - 1, slow] += random.uniform(1.0, 3.0, steps - 1)
    computing[-1, slow] -= 0.4
    for place, other in enumerate(fixed[1:]):
        computing[place % (steps - 1), other] += 4.0
    sending[:, slow] += 0.6
    if early is not None:
        sending[::2, early] = -1.0
    begun = [4 + random.uniform(0, 0.3, workers)]
    ready: list[np.ndarray] = []
    for took, sends in zip(computing, sending, strict=True):
        ready.append(begun[-1] + took)
        begun.append(ready[-1].max() + sends)
    who = "nobody fixed" if not fixed else f"{_named(fixed)} fixed"
    name = f"With {count(workers, 'worker')}, {count(steps, 'step')} and {who}"
    case = Case(name, ((np.array(begun), np.array(ready), fixed),))
    return replace(case, facts={"want": call_with_tensors(reference, case).values[0]})


def _named(workers: list[int]) -> str:
    """ "worker 2", "workers 0 and 2"."""
    return f"worker{'s' if len(workers) > 1 else ''} {listing(workers)}"


def _answer(seen: Observation) -> tuple[np.ndarray, np.ndarray]:
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


def claim(case: Case, seen: Observation) -> Iterator[str]:
    """Both tables are those of the run that would have been."""
    got, want, steps = _answer(seen), case.facts["want"], len(case.facts["want"][1])
    for row in range(steps + 1):
        for table, what in enumerate(("begins", "has its gradient of")[: 1 + (row < steps)]):
            mine, right = got[table][row], want[table][row]
            if close(mine, right, 1e-6 * want[0].max() / right.max()):  # of the last moment
                continue
            with np.errstate(all="ignore"):
                worker = int(np.nan_to_num(np.abs(mine - right), nan=np.inf).argmax())
            does = f"{what} step {row}" if row < steps else "is through"
            moments = [short(float(one[worker])) for one in (mine, right)]
            replay = (
                ""
                if case.args[0][2]
                else (" With nobody fixed the replay gives the run that you were given.")
            )
            yield f"worker {worker} {does} at {moments[0]} s; it should be {moments[1]} s.{replay}"


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how long the run took, takes in the answer, and should take."""
    begun, _, fixed = case.args[0]
    lasted = (_lasted(each) for each in (begun, _answer(seen)[0], case.facts["want"][0]))
    ran, made, asked = (f"{seconds:.4g} s" for seconds in lasted)
    told = f"the run of {ran} becomes one of {made}, and should become one of {asked}"
    who = {"who": _named(fixed) if fixed else "nobody", "first": _named(fixed[:1])}
    return {"told": told, **who}


def _lasted(begun: np.ndarray) -> float:
    """Seconds from the first worker's beginning to the last one's end."""
    return float(begun[-1].max() - begun[0].min())


def _changed(case: Case, seen: Observation) -> Iterator[str]:
    place = changed(seen.values[0])
    if place is not None:
        what = ("begun", "ready", "fixed")[place]
        yield f"`{what}` holds other numbers now: whoever called needs it still."


def _not_two(case: Case, seen: Observation) -> Iterator[str]:
    value = seen.values[0]
    try:
        _answer(seen)
    except Exception:  # whatever a stranger's function gives
        what = f"gave {describe(value)}"
        if is_array(value) and value.ndim == 2:
            what = "gave one table"
        elif number(value) is not None:
            what = f"gave one number, {describe(value)}"
        yield (
            f"your function {what}; return begun and ready of the run that would have been, both "
            "tables of seconds."
        )


def _shapes(case: Case, seen: Observation) -> Iterator[str]:
    got, (begun, ready, _) = [table.shape for table in _answer(seen)], case.args[0]
    if got == [begun.shape, ready.shape]:
        return
    if got == [ready.shape, begun.shape]:
        yield "both tables are there: begun first, which has the row more, then ready."
    if got[0] == ready.shape:
        yield (
            f"begun has {count(len(ready), 'row')}; it has one more, for when each worker "
            "is through with the last step."
        )
    yield (
        f"the tables have the shapes {got[0]} and {got[1]}; they should be as those given, "
        f"{begun.shape} and {ready.shape}."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    begun, _, fixed = cases[0].args[0]
    run, then = _lasted(begun), _lasted(cases[0].facts["want"][0])
    return (
        f"Passed: a run of {run:.1f} s takes {then:.1f} s with {_named(fixed)} "
        "as quick as is usual, and with nobody fixed the replay is the run itself."
    )


WRONG = """
waiting is sent
    | ready.max(dim=1, keepdim=True).values => ready
    {told}: you count the waiting for others as sending. Sending begins when the last gradient of
    the step is ready, for all workers at once.
each for itself
    | ready.max(dim=1, keepdim=True).values => ready
    | readies[-1].max() => readies[-1]
    {told}: each worker goes on by itself, and waits as long as it did in the run. A step is over
    when the last gradient is ready, whosever that is now.
all begin together
    | + sending => + sending.max().expand_as(sending)
    {told}: all workers go on when the last one has its message. Each begins its next step when its
    own sending is over.
no sending
    | .max() + sending => .max().expand_as(sending)
    {told}: nothing is sent between the steps. A worker begins when the last gradient is ready *and*
    its sending is over.
nothing moves
    | torch.stack(begins), torch.stack(readies)
        => begun.clone(), begun[:-1] + fix(given.computing, fixed)
    no step begins sooner than it did in the run. Replay the steps one after the other: one begins
    after the new last gradient of the one before, and the sending of the run.
not carried on
    | begins[-1] + took => begun[len(readies)] + took
    {told}: a step saves what it saves, but the next one begins from the run's own table. Begin each
    step with the row that the replay has just made.
each with the longest computing
    | readies[-1].max() => begins[-1] + took.max()
    {told}: you add the longest computing to each worker's own beginning. The last gradient is that
    of whoever is ready last: `(begins + took).max()`, for all.
fixes nobody
    | list(workers) => []
    the replay is the run itself, and {who} should be fixed. That is so where `fixed` is not used,
    where a method writes into `computing[:, fixed]`, which is a copy (assign to it), and where the
    median is over the fixed ones alone and not over all workers of the step.
fixes their sending
    | given.sending, strict => fix(given.sending, fixed), strict
    {told}: you give {who} the usual sending, too. Only the computing is fixed.
the time saved
    | return torch.stack(begins), torch.stack(readies)
        => late = (given.computing - fix(given.computing, fixed)).clamp(min=0); off =
            late.sum(dim=1, keepdim=True).cumsum(dim=0); return torch.cat([begun[:1], begun[1:] -
            off]), ready - off
    {told}: you take off all that {who} was late by. Then the next slowest worker decides, and less
    is saved: replay the step, and wait for whoever is last now.
the quickest
    | nanmedian => min
    {told}: you put a time from below the middle, such as the quickest worker's. Usual is the median
    of the step.
the mean
    | nanmedian(dim=1, keepdim=True).values => mean(dim=1, keepdim=True)
    {told}: you put the mean, which holds the straggler's own time. Usual is the median.
between two
    | nanmedian(dim=1, keepdim=True).values => quantile(0.5, dim=1, keepdim=True)
    {told}: of an even number of workers you take the mean of the two in the middle. Take the lower
    one, as torch's `median` does: half of the workers may be late.
the upper one
    | nanmedian(dim=1, keepdim=True).values
        => sort(dim=1).values[:, computing.shape[1] // 2 :][:, :1]
    {told}: of an even number of workers you take the upper one of the two in the middle. Take the
    lower one: half of the workers may be late.
the others' median
    | = usual(computing)
        => = usual(computing[:, [w for w in range(computing.shape[1]) if w not in workers] or
            slice(None)])
    {told}: your median leaves {who} out. It is that of all workers of the step.
one median for the run
    | nanmedian(dim=1, keepdim=True).values => median().expand(len(computing), 1)
    {told}: you put one time for all steps. Steps differ: each has a median of its own.
shares of the totals
    | computing.nanmedian(dim=1, keepdim=True).values
        => (computing.sum(dim=0).median() / len(computing)).expand(len(computing), 1)
    {told}: you compare the workers' totals, and put an equal share of one in every step. A total
    hides which step was late: take the median within each step.
its own median
    | = usual(computing) => = computing[:, list(workers)].median(dim=0, keepdim=True).values
    {told}: you compare a worker with itself, over the steps. One that is always slow stays so:
    compare it with the others in its step, dim=1.
only where it was late
    | = usual(computing) => = computing[:, list(workers)].minimum(usual(computing))
    {told}: where a fixed worker was quicker than the median you leave it so. It takes the median in
    every step.
fixes all
    | list(workers) => :
    {told}: you fix all workers, where only {who} should be fixed.
fixes the others
    | list(workers) => [w for w in range(computing.shape[1]) if w not in workers]
    {told}: you fix everybody else, and leave {who} as in the run.
fixes the first
    | list(workers) => list(workers)[:1]
    the run is as if {first} alone were fixed, and not {who}: each of them takes the
    median, whether it was late or not.
not waited for
    | readies[-1].max() => readies[-1][[w for w in range(len(took)) if w not in fixed]].max()
    {told}: nobody waits for {who} any more. A fixed worker is not gone: it is waited for like the
    others, and is only as quick as is usual.
from 0
    | [begun[0]] => [begun[0] * 0]
    your moments count from 0. Begin where the run began, with its first row.
from the first one
    | [begun[0]] => [begun[0] - begun[0].min()]
    ! from 0
no last row
    | torch.stack(begins), => torch.stack(begins)[:-1],
    ? is through with the last step
exchanged
    | torch.stack(begins), torch.stack(readies) => torch.stack(readies), torch.stack(begins)
    ? begun first, which has the row more
one table
    | , torch.stack(readies) =>
    ? your function gave one table
seconds
    | torch.stack(begins), torch.stack(readies) => float(begins[-1].max() - begins[0].min())
    ? your function gave one number
returns nothing
    | return torch.stack(begins), torch.stack(readies) =>
    ? your function gave None
into ready
    | return torch => ready -= begun[:-1]; return torch
    ? `ready` holds other numbers now
into begun
    | torch.stack(begins), => begun.copy_(torch.stack(begins)),
    ? `begun` holds other numbers now
"""

EXERCISE = Exercise(
    number="07.6",
    title="What if",
    size=Size(stars=2, minutes=20, points=4),
    function="what_if",
    asks=(
        "begun and ready of the run as it would have been, had the fixed workers taken the median "
        "of each step's computing."
    ),
    cases=cases,
    drive=call_with_tensors,
    claim=claim,
    mistakes=(
        Mistake("changes its argument", _changed),
        Mistake("not two tables", _not_two),
        Mistake("other shapes", _shapes),
    ),
    numbers=numbers,
    compared=lambda case, seen: list(_answer(seen)),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("07.6", WRONG, (reference, fix, usual, operations)),
    ranked=False,
)
