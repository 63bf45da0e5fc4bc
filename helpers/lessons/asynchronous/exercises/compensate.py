"""Exercise 06.5, delay compensation (DC-ASGD).

`class DelayCompensation(Cure)` with `pull` and `arrive`: the server remembers the weights that each
worker pulled, and hands on g + λ·g⊙g⊙(w now − w pulled). Source: Zheng et al. (2017), section 3.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from torch import Tensor

from helpers.checks.common import WORLDS
from helpers.checks.compare import describe
from helpers.checks.drives.calling import Function
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.engine.servers.rule import Rule
from helpers.lessons.asynchronous.algorithms.stale_cures import DelayCompensation as reference
from helpers.lessons.asynchronous.exercises import turns
from helpers.lessons.asynchronous.exercises.cures import COMMON, PARTS, around_others, handing


def remembering_turns(fn: Function, case: Case) -> Observation:
    """As `handing_turns`; a turn has "held" too, how many tensors of weights the cure keeps."""
    return handing(fn, case, lambda cure: {"held": _held(cure)})


def _held(cure: Any) -> int:
    """How many tensors an object keeps, in lists and dictionaries too, without the rule inside."""
    found: set[int] = set()

    def look(value: Any, depth: int) -> None:
        if isinstance(value, Tensor):
            found.add(id(value))
        elif isinstance(value, dict | list | tuple | set) and depth < 4:
            for each in value.values() if isinstance(value, dict) else value:
                look(each, depth + 1)

    look([each for each in vars(cure).values() if not isinstance(each, Rule)], 0)
    return len(found)


def cases(seed: int) -> list[Case]:
    """Seed 0: λ = 0.5 and 3, 1, 2 and 5 workers; else other orders and other λ. At last, λ = 0."""
    random, found = rng(seed, "06.5"), []
    for workers in [*WORLDS, int(random.integers(6, 10))] if seed else WORLDS:
        strength = round(float(random.uniform(0.2, 0.9)), 2) if seed else 0.5
        wanted = {0, 1, min(2, workers - 1)} if workers > 1 else {0}
        order = turns.arrivals(random, seed, workers, 2 * workers + 6, wanted)
        given = (remembering_turns, random, order, workers, (strength,), reference)
        found.append(turns.case(f" and λ = {strength}", *given))
    found += around_others(remembering_turns, random, (0.5,), reference, "and λ = 0.5")
    order = turns.arrivals(random, seed, 3, 12, {0, 2})
    return [*found, turns.case(" and λ = 0", remembering_turns, random, order, 3, (0,), reference)]


def _pull_gives_nothing(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind in ("TypeError", "ValueError") and "unpack" in seen.text:
        gives = "gives the worker nothing" if "None" in seen.text else "does not give two things"
        what = "the weights and the version that `self.rule.pull(worker)` gave"
        yield f"`pull` {gives}: return {what}."


def _no_memory(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind == "KeyError":
        yield (
            f"there is nothing remembered of worker {seen.text}. The server is asked for "
            "weights through `pull`, at the start too: keep there what each worker was given."
        )


def _pair(case: Case, seen: Observation) -> Iterator[str]:
    if seen.kind == "TypeError" and "'tuple'" in seen.text:
        yield (
            f"a tuple stands where weights are needed ({seen.text}): "
            "`self.rule.pull(worker)` gives two things, weights and version. Remember the weights "
            "alone, `weights, version = self.rule.pull(worker)`."
        )


def _no_dot(case: Case, seen: Observation) -> Iterator[str]:
    pieces = ("dot(", "1D tensors expected", "1D, but got")
    if seen.kind in ("RuntimeError", "TypeError") and any(one in seen.text for one in pieces):
        yield (
            f"a product of torch’s own does not fit here ({seen.kind}). ⊙ takes each "
            "weight for itself, which is what `*` does."
        )


def _memory(case: Case, seen: Observation) -> Iterator[str]:
    held, workers = seen.values[0][-1]["held"], len(case.args[0][0])
    if held > workers + 1:
        yield (
            f"{held} tensors are kept in the end, and with every version that is pulled "
            f"there is one more: {workers} would do, one for each worker, what it pulled last: "
            "`self.pulled[worker] = weights`."
        )


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The corrected gradient handed on, in every turn, and no more kept than a copy a worker."""
    yield turns.fault(case, seen)
    yield from _memory(case, seen)


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    ends = describe(seen[0].values[0][-1]["weights"])
    return (
        "Passed with 1, 2, 3 and 5 workers: every gradient is corrected by what moved since its "
        f"worker pulled. With 3 workers the weights end at {ends}."
    )


WRONG = """
goes round the inner pull
    | = self.rule.pull(worker) => = self.weights, self.version
    the gradient at turn {turn} does not count there: the rule inside remembers who pulled, as yours
    does, and your `pull` does not ask it, `self.rule.pull(worker)`.
the wrong sign
    | gradient + => gradient -
    the correction at turn {turn} points backwards: the gradient is to be carried from the pulled
    weights to the present ones, so it goes with (now − pulled).
by the version
    | self.weights - self.pulled[worker] => self.push(worker, version).staleness
    the correction at turn {turn} counts updates: it takes the distance in the weights,
    `self.weights - self.pulled[worker]`, not the number of updates between them.
one memory for all
    | self.pulled[worker] = weights => self.pulled = dict.fromkeys([*self.pulled, worker], weights)
    the gradient at turn {turn} is handed on as it came. Correct it; and remember what each worker
    pulled for itself: what the last one pulled is always the present weights.
not squared
    | gradient * gradient => gradient
    the correction at turn {turn} has one g too few: the slope of the gradient is taken to be g·g,
    element by element.
λ is missing
    | * self.strength =>
    the correction at turn {turn} counts whole: multiply it by `strength`.
remembers at the arrival
    | self.pulled[worker] = weights => self.pulled.setdefault(worker, weights)
    | - self.pulled[worker] => - self.pulled[worker]; self.pulled[worker] = self.weights
    at turn {turn} worker {worker} is compared with the weights before its own last update; it
    pulled after that. Remember in `pull`, not in `arrive`.
remembers the start alone
    | self.pulled[worker] = weights => self.pulled.setdefault(worker, weights)
    at turn {turn} worker {worker} is compared with what it pulled first: each pull replaces what is
    remembered.
corrects the weights
    | gradient + gradient => gradient
    at turn {turn} only the correction is handed on; the gradient itself belongs to it: g +
    λ·g·g·(now − pulled).
corrects in place
    | gradient + gradient => gradient.add_(gradient
    | * self.strength => * self.strength)
    at turn {turn} the cure around yours finds another gradient than it handed on: you wrote into it
    (`+=`, or a method with `_`). Make a new tensor.
computes in the pulled weights
    | self.weights - self.pulled[worker] => self.pulled[worker].neg_().add_(self.weights)
    ? written into
sums over the weights
    | gradient * gradient => gradient.dot(gradient)
    at turn {turn} all weights share a product that is summed over them, as `torch.dot` and `@` give
    it: ⊙ is `*`, element by element.
sums with what moved
    | gradient * moved => gradient.dot(moved)
    ! sums over the weights
torch.dot twice
    | gradient * gradient * moved => gradient.dot(gradient).dot(moved)
    ? a product of torch’s own
the pair
    | self.pulled[worker] = weights => self.pulled[worker] = weights, version
    ? a tuple stands where
a copy a version
    | self.pulled[worker] = weights => self.pulled[version] = weights
    | worker not in self.pulled => version not in self.pulled
    | - self.pulled[worker] => - self.pulled[version]
    ? there is one more:
pull gives nothing
    | return weights, version => return
    ? gives the worker nothing
remembers too late
    | self.pulled[worker] = weights => pass
    | worker not in self.pulled => False
    ? nothing remembered
"""

EXERCISE = Exercise(
    number="06.5",
    title="Delay compensation",
    size=Size(stars=3, minutes=20, points=4),
    function="DelayCompensation",
    asks=(
        "`pull` remembers the weights that a worker is given; `arrive` hands on g + "
        "λ·g·g·(weights now − weights that this worker pulled)."
    ),
    cases=cases,
    drive=remembering_turns,
    claim=claim,
    mistakes=(
        *turns.KINDS,
        turns.WRITTEN_INTO,
        Mistake("keeps the pair", _pair, unfinished=True),
        Mistake("a product that does not fit", _no_dot, unfinished=True),
        Mistake("pull gives nothing", _pull_gives_nothing, unfinished=True),
        Mistake("nothing remembered", _no_memory, unfinished=True),
        Mistake("a copy a version", _memory),
    ),
    numbers=turns.numbers,
    compared=turns.without_held,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("06.5", WRONG + COMMON, (reference, *PARTS)),
    ranked=False,
)
