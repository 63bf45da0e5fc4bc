"""Exercise 07.1, the mean time to the k-th gradient of a step.

`mean_time_to(times, k) -> float`: times has a row a step and a column a worker; in each step the
k-th gradient to come counts, whoever sends it. The claim: the mean over the steps of the k-th
smallest time of each.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.compare import count, describe, number, told_apart
from helpers.checks.drives.calling import plain_call
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers


def step_times(
    random: np.random.Generator, steps: int, workers: int, late: float = 0.1
) -> np.ndarray:
    """Made-up times: about 1.5 s, now and then (late) one much longer, one worker always slower."""
    times = 1.3 + random.gamma(4.0, 0.05, (steps, workers))
    times += random.exponential(2.0, times.shape) * (random.random(times.shape) < late)
    times[:, -1] += 0.3
    return np.round(times, 3)


def cases(seed: int) -> list[Case]:
    """Seed 0: the 4th of 6, then 1st of 1, last of 2, 2nd of 3, 1st of 5, and 6th of 9 where steps
    take minutes and worker 5 is slow; else other numbers. The second one's are of no whole
    milliseconds.

    Steps differ by what all are slowed; the first is not the quickest, the last not the slowest.
    """
    random, made = rng(seed, "07.1"), []
    shapes = [(6, 6, 4), (4, 1, 1), (5, 2, 2), (7, 3, 2), (6, 5, 1), (5, 9, 6)]
    if seed:
        ranks = ((8, 6), (1, 1), (2, 1), (3, 2), (5, 4), (13, 12))
        shapes = [(int(random.integers(5, 30)), *each) for each in ranks]
        shapes += [(int(random.integers(5, 30)), 20, int(random.integers(2, 20)))]
    for place, (steps, workers, k) in enumerate(shapes):
        busy = 1 + random.uniform(0, 0.5, (steps, 1))
        times = step_times(random, steps, workers) * busy
        times[0, -1] += 10 * (place == 0)  # of two digits: as a text it comes before 2 s
        if place == len(shapes) - 1:
            times[:, k - 1] += 2.0
            times *= 300
        times = times if workers == 1 else np.round(times, 1 if workers == 3 else 3)  # equal ones
        order = np.sort(times, axis=1)[:, k - 1].argsort(kind="stable")
        times = times[[order[1], order[0], *order[2:-2], order[-1], order[-2]]]
        want = np.sort(times, axis=1)[:, [k - 1, -1]].mean(axis=0)
        facts = {"want": float(want[0]), "last": float(want[1])}
        name = f"With k={k} of {count(workers, 'worker')} over {steps} steps"
        made.append(Case(name, ((times, k),), facts=facts))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The mean of the k-th smallest time of every step."""
    got, want = number(seen.values[0]), case.facts["want"]
    if got is None:
        gave = describe(seen.values[0])
        return f"your function gave {gave}; one number of seconds was asked for."
    if abs(got - want) <= 1e-5 * abs(want):  # float32 is enough
        return None
    one, other = told_apart(got, want)
    return f"the mean time is {one} s; it should be {other} s."


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what was given, and which gradient was asked for."""
    times, k = case.args[0]
    got, want = told_apart(number(seen.values[0]) or 0.0, case.facts["want"])
    said = {"got": f"you got {got} s instead of {want} s", "row": min(k, len(times)) - 1}
    return said | {"k": k, "before": k - 1, "after": k + 1}


def _beyond_the_last(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind == "IndexError" and "out of bounds" in seen.text:
        yield f"there is no column {case.args[0][1]}: columns count from 0, so the k-th is k − 1."


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    return (
        f"Passed: the 4th of 6 gradients is there after {facts['want']:.2f} s on average, the last "
        f"after {facts['last']:.2f} s."
    )


def reference(times: Any, k: int) -> float:
    """The course's own."""
    return float(times.sort(dim=1).values[:, k - 1].mean())


WRONG = """
no mean
    | float(times.sort(dim=1).values[:, k - 1].mean()) => times.sort(dim=1).values[:, k - 1]
    you gave a time for each step: take their mean.
the next one
    | k - 1 => k
    {got}: that is the time to gradient number {after}, one too late. Counted from 0, gradient
    number {k} of a sorted row stands at place {before}.
waits for all
    | sort(dim=1).values[:, k - 1] => max(dim=1).values
    {got}: that is the time to the last gradient of each step. Gradient {k} is asked for: sort each
    row.
the slowest step
    | mean => max
    {got}: that is the slowest of all steps. Training takes them one after the other, so what counts
    is their mean.
one step
    | [:, k - 1].mean() => [0, k - 1]
    {got}: that is the first step's alone.
always the same workers
    | times.sort(dim=1).values[:, k - 1] => times[:, :k].max(dim=1).values
    {got}: that waits for workers 0 to {before} in every step. No worker is special: take the first
    {k} to come, which are others in each step.
mean of the first k
    | k - 1 => :k
    {got}: that is the mean of the {k} quickest times. A step lasts until the last of these {k} is
    there: take the last of them alone.
workers ranked by their means
    | sort(dim=1).values[:, k - 1].mean() => mean(dim=0).sort().values[k - 1]
    {got}: that ranks the workers by their mean times. The mean hides who was late when: sort within
    each step first, then take the mean over the steps.
sorted over the steps
    | dim=1 => dim=0
    {got}: that is worker {before}'s own mean. The race is between the workers of a step: sort along
    dim=1.
a row for a column
    | [:, k - 1] => [min(k, len(times)) - 1]
    {got}: that is the mean over the workers of one step, row {row}. The k-th gradient of every step
    stands in a column: `[:, k - 1]`.
a quantile
    | sort(dim=1).values[:, k - 1] => quantile(k / times.shape[1], dim=1)
    {got}: a quantile may lie between two gradients, and the one for k/N does. Sort each step, and
    take the k-th time itself.
a sum
    | mean => sum
    {got}, the sum over the steps: take the mean.
all times sorted together
    | sort(dim=1).values[:, k - 1].mean() => flatten().sort().values[k - 1]
    {got}: that sorts the times of all steps together. Each step is a race of its own: sort along
    dim=1.
from the slowest
    | k - 1 => -k
    {got}: sort upwards.
mean of all
    | .sort(dim=1).values[:, k - 1] =>
    {got}: that is the mean of all.
the median
    | mean => median
    {got}: that is the median over the steps, which does not mind how long the longest ones are.
    Training waits for these too: take the mean.
the middle of two
    | mean() => quantile(0.5)
    ! the median
one beyond the first k
    | sort(dim=1).values[:, k - 1] => topk(k, dim=1, largest=False).values[:, k]
    ? columns count from 0, so the k-th
"""

EXERCISE = Exercise(
    number="07.1",
    title="Time to the k-th gradient",
    size=Size(stars=1, minutes=8, points=2),
    function="mean_time_to",
    asks="the k-th smallest time of each step, and of those the mean over the steps.",
    cases=cases,
    drive=plain_call,
    claim=claim,
    mistakes=(Mistake("counts columns from 1", _beyond_the_last, unfinished=True),),
    numbers=numbers,
    compared=lambda case, seen: np.asarray(seen.values[0], np.float32),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("07.1", WRONG, reference),
    ranked=False,
)
