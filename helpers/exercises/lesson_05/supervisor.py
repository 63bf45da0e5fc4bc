"""Exercise 05.1, a supervisor that averages weights once all workers have pushed.

Source: Ramsundar and Zadeh, "TensorFlow for Deep Learning" (2018), chapter 9.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from helpers.algorithms.servers.rule import Decision, Rule, mean
from helpers.algorithms.servers.update_rules import Averaging as reference
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, listing
from helpers.exercises.drives_servers import supervisor_turns
from helpers.exercises.nine_digits import instead, near
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Three rounds with 3, 1, 2 and 5 workers, which come in another order each round."""
    random, made = rng(seed, "05.1"), []
    for workers in (3, 1, 2, 5):
        goals = random.standard_normal((workers, 3)) + 1.0
        rate = float(random.uniform(0.2, 0.6))
        order = [int(w) for _ in range(3) for w in random.permutation(workers)]
        case = Case(f"With {count(workers, 'worker')}", ((goals, rate, order),))
        want = supervisor_turns(reference, case).values[0]
        made.append(Case(case.name, case.args, facts={"want": want}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The supervisor's weights, its version and who is released, after each push."""
    workers = len(case.args[0][0])
    pairs = zip(seen.values[0], case.facts["want"], strict=False)
    for turn, (got, want) in enumerate(pairs):
        when = f"{case.name}, at push {turn + 1} (worker {want['worker']}'s)"
        if "stuck" in got:
            return f"{case.name}, after {count(turn, 'push', 'pushes')} all workers wait for ever."
        if "decision" in got:
            return (
                f"{when}, `arrive` returned {describe(got['decision'])}; it returns a `Decision`."
            )
        if not is_array(got["weights"], want["weights"].shape):
            return f"{when}, the weights became {describe(got['weights'])}."
        if not near(got["weights"], want["weights"]):
            return (
                f"{when}, the supervisor's weights are not the mean: "
                f"{instead(got['weights'], want['weights'])}."
            )
        if got["made"] != want["made"]:
            return f"{when}, the version is {got['made']}; one a mean makes it {want['made']}."
        if sorted(got["release"]) != sorted(want["release"]):
            return (
                f"{when}, workers {got['release']} were released; it should be {want['release']}."
            )
    if len(seen.values[0]) != 3 * workers:
        return f"{case.name}, {len(seen.values[0])} of {3 * workers} pushes were taken up."
    return None


def compared(case: Case, seen: Observation) -> Any:
    """The turns; in which order workers were released is no matter."""
    turns = seen.values[0]
    return [{**t, "release": sorted(t["release"])} if "release" in t else t for t in turns]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how many workers there are, and who went on once all had pushed."""
    workers = len(case.args[0][0])
    last = seen.values[0][:workers][-1]
    return {"workers": workers, "more": workers + 1, "released": listing(last.get("release", ()))}


def _number_and_set(case: Case, seen: Observation) -> str | None:
    if seen.kind != "TypeError" or "'int'" not in seen.text or "'set'" not in seen.text:
        return None
    return f"{case.name}, a number and a set do not go together: compare with `len(self.workers)`."


def _too_early(case: Case, seen: Observation) -> str | None:
    workers = len(case.args[0][0])
    pairs = zip(seen.values[0], case.facts["want"], strict=False)
    for turn, (got, want) in enumerate(pairs):
        early = (turn + 1) % workers > 0
        if early and not near(got["weights"], want["weights"]):
            return (
                f"{case.name}, at push {turn + 1} the supervisor's weights are no longer "
                f"{describe(want['weights'])}, after {turn % workers + 1} of this round's "
                f"{workers} pushes: keep what comes, and change the weights once, at the last push."
            )
        parts = [[each["made"], sorted(each["release"])] for each in (got, want)]
        if parts[0] != parts[1] or not near(got["weights"], want["weights"]):
            return None
    return None


def _averaging(
    full: Callable[[Any, Any], bool] = lambda held, workers: len(held) == len(workers),
    update: Callable[..., Any] = lambda old, held, last: mean(held),
    counts: int = 1,
    clears: bool = True,
    released: Callable[[Any, int], Any] = lambda workers, last: sorted(workers),
    waits: Decision | None = Decision(),  # noqa: B008
    running: bool = False,
) -> type[Rule]:
    """The reference with a part exchanged. waits: what it returns where nobody may go on yet.
    running: whether the weights are then the mean of those that have come."""

    class Averaging(Rule):
        pushes = "weights"

        def __init__(self, weights: Any, workers: int) -> None:
            super().__init__(weights, None, workers)
            self.held: dict[int, Any] = {}

        def arrive(self, worker: int, gradient: Any, version: int) -> Any:
            self.held[worker] = gradient
            if not full(self.held, self.workers):
                self.weights = mean(list(self.held.values())) if running else self.weights
                return waits
            self.weights = update(self.weights, list(self.held.values()), gradient)
            self.version += counts
            if clears:
                self.held = {}
            return Decision(tuple(released(self.workers, worker)))

    return Averaging


_sums = _averaging(update=lambda old, held, last: sum(held))
_last_wins = _averaging(update=lambda old, held, last: last)
_all_but_the_last = _averaging(update=lambda old, held, last: mean(held[:-1] or held))
_counts_itself = _averaging(update=lambda old, held, last: mean([old, *held]))
_two_by_two = _averaging(update=lambda old, held, last: reduce(lambda a, b: (a + b) / 2, held))
_never_clears = _averaging(clears=False)
_never_counts = _averaging(counts=0)
_waits_for_nobody = _averaging(
    full=lambda held, workers: True, clears=False, released=lambda workers, last: [last]
)
_releases_one = _averaging(released=lambda workers, last: [last])
_releases_nobody = _averaging(released=lambda workers, last: [])
_only_the_mean = _averaging(counts=0, released=lambda workers, last: [])
_never_full = _averaging(full=lambda held, workers: len(held) == workers)
_below_a_set = _averaging(full=lambda held, workers: not len(held) < workers)
_returns_nothing = _averaging(waits=None)
_running_mean = _averaging(running=True)


EXERCISE = Exercise(
    number="05.1",
    title="The supervisor",
    stars=1,
    minutes=10,
    points=2,
    function="Averaging",
    asks=(
        "once all workers have pushed, the weights become the mean of what they pushed, the "
        "version goes up by one, and all are released; before that, nobody is."
    ),
    cases=cases,
    drive=supervisor_turns,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("a number and a set", _number_and_set, unfinished=True),
        Mistake("changes before the last push", _too_early),
    ),
    numbers=numbers,
    praise=(
        "Passed with 1, 2, 3 and 5 workers over three rounds: nobody goes on before all have "
        "pushed, and then everybody goes on from the mean."
    ),
    reference=reference,
    wrong=(
        WrongAnswer(
            "no return",
            _returns_nothing,
            "`arrive` gave None; while nobody may go on: `Decision()`.",
        ),
        WrongAnswer("a running mean", _running_mean, hint="once, at the last push"),
        WrongAnswer("a number below a set", _below_a_set, hint="do not go together"),
        WrongAnswer(
            "releases only the last worker",
            _releases_one,
            "only worker {released} went on once all had pushed, and the others wait for ever: "
            "release all workers, not only the last one.",
        ),
        WrongAnswer(
            "releases nobody",
            _releases_nobody,
            "the mean was taken after all had pushed, and nobody went on: the decision names those "
            "who may, `Decision(release=tuple(self.workers))`.",
        ),
        WrongAnswer(
            "only takes the mean",
            _only_the_mean,
            "the mean was taken after all had pushed, but the version is still 0 and nobody goes "
            "on: count the update, `self.version += 1`, and release all workers.",
        ),
        WrongAnswer(
            "takes the set of workers for their number",
            _never_full,
            "all have pushed, and there was no mean and nobody went on: what you ask is never "
            "true. `self.workers` is a set of numbers, so compare with how many there are, "
            "`len(self.workers)`.",
        ),
        WrongAnswer("sums", _sums, "the weights are {workers} times too large: a sum, no mean."),
        WrongAnswer(
            "the last push wins",
            _last_wins,
            "the weights are those of the worker that came last: what the other workers learned is "
            "lost. Keep what each pushes until all have come.",
        ),
        WrongAnswer("all but the last", _all_but_the_last, "the last push is not in the mean."),
        WrongAnswer(
            "counts the supervisor too",
            _counts_itself,
            "the mean is over {more} and not {workers}: the supervisor's old weights are in it. "
            "Only what the workers pushed counts.",
        ),
        WrongAnswer(
            "halves again and again",
            _two_by_two,
            "the weights are no mean of {workers}: `(mean + w) / 2` for one after the other counts "
            "the last one half and those before less and less. Divide the sum of all by {workers}.",
        ),
        WrongAnswer(
            "never clears what it holds",
            _never_clears,
            "from the second round on the first push already makes an update: what was pushed in "
            "the round before is still held. Empty it after each mean.",
        ),
        WrongAnswer(
            "never counts the version",
            _never_counts,
            "the version stays 0: it counts the updates, so it goes up by one with each mean.",
        ),
        WrongAnswer(
            "does not wait",
            _waits_for_nobody,
            "an update is made at every push: wait until all {workers} workers have pushed, and "
            "return `Decision()` until then.",
        ),
    ),
    ranked=False,
)
