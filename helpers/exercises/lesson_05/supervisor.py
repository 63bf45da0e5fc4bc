"""Exercise 05.1, a supervisor that averages weights.

`class Averaging(Rule)`, made with `(weights, workers)`, of which `arrive(worker, weights, version)`
is asked for: keep what each worker pushes; when all have pushed, the supervisor's weights become
their mean, the version goes up by one, and all are released. Source: Ramsundar and Zadeh,
"TensorFlow for Deep Learning" (2018), chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.algorithms.rule import Decision, Rule, mean
from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, listing
from helpers.exercises.drives_servers import supervisor_turns
from helpers.exercises.lesson_05.recognise import as_known, same, seen_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Three rounds with 3, 1, 2 and 5 workers, which come in another order each round."""
    random, made = rng(seed, "05.1"), []
    for workers in (3, 1, 2, 5):
        goals = random.standard_normal((workers, 3)) + 1.0
        rate = float(random.uniform(0.2, 0.6))
        order = [int(w) for _ in range(3) for w in random.permutation(workers)]
        case = Case(f"With {count(workers, 'worker')}", ((goals, rate, order),))
        known = seen_of(supervisor_turns, {"right": reference, **KNOWN}, case)
        numbers = {"workers": workers, "more": workers + 1}
        made.append(Case(case.name, case.args, facts={"known": known, "numbers": numbers}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The supervisor's weights, its version and who is released, after each push."""
    workers = len(case.args[0][0])
    pairs = zip(seen.values[0], case.facts["known"]["right"][1][0], strict=False)
    for turn, (got, want) in enumerate(pairs):
        when = f"{case.name}, at push {turn + 1} (worker {want['worker']}'s)"
        if "stuck" in got:
            return f"{case.name}, after {count(turn, 'push', 'pushes')} all workers wait for ever."
        if "decision" in got:
            return (
                f"{when}, `arrive` returned {describe(got['decision'])}; it returns a `Decision`, "
                "`Decision()` where nobody may go on yet."
            )
        if not is_array(got["weights"], want["weights"].shape):
            return f"{when}, the weights became {describe(got['weights'])}."
        if not same(got["weights"], want["weights"]):
            return (
                f"{when}, the supervisor's weights are {describe(got['weights'])}; they should be "
                f"{describe(want['weights'])}."
            )
        if got["made"] != want["made"]:
            return f"{when}, the version is {got['made']}; it should be {want['made']}."
        if sorted(got["release"]) != sorted(want["release"]):
            return (
                f"{when}, workers {got['release']} were released; it should be {want['release']}."
            )
    if len(seen.values[0]) != 3 * workers:
        return f"{case.name}, {len(seen.values[0])} of {3 * workers} pushes were taken up."
    return None


def _only_the_last(case: Case, seen: Observation) -> str | None:
    workers, turns = len(case.args[0][0]), seen.values[0]
    if "stuck" not in turns[-1] or any(turn["release"] for turn in turns[: workers - 1]):
        return None
    released = turns[workers - 1]["release"]
    return (
        f"{case.name}, {'only ' + listing(released) if released else 'nobody'} went on after all "
        "had pushed, and the others wait for ever: release all workers, not only the last one."
    )


def _returned_nothing(case: Case, seen: Observation) -> str | None:
    turn = seen.values[0][0]
    if turn.get("decision", "") is not None:
        return None
    return (
        f"{case.name}, `arrive` returned None. Where nobody may go on yet it returns `Decision()`, "
        "with no worker to release."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    return (
        "Passed with 1, 2, 3 and 5 workers over three rounds: nobody goes on before all have "
        "pushed, and then everybody goes on from the mean."
    )


def reference(weights: Any, workers: int) -> Any:
    """The course's own."""
    from helpers.algorithms.update_rules import Averaging

    return Averaging(weights, workers)


class Keeps(Rule):
    """What the answers below share: what each worker pushed."""

    pushes = "weights"

    def __init__(self, weights: Any, workers: int) -> None:
        super().__init__(weights, None, workers)
        self.held: dict[int, Any] = {}

    def average(self) -> None:
        """Take the mean."""
        self.weights = mean([self.held[worker] for worker in sorted(self.held)])
        self.version += 1

    def full(self, worker: int, gradient: Any) -> bool:
        """Keep it. Returns whether all have pushed."""
        self.held[worker] = gradient
        return len(self.held) == len(self.workers)

    def everyone(self) -> Decision:
        """Release all, and begin a new round."""
        self.held = {}
        return Decision(tuple(sorted(self.workers)))


class Sums(Keeps):
    """Sums and does not divide."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.weights = sum(self.held.values())
        self.version += 1
        return self.everyone()


class LastWins(Keeps):
    """Waits for all, and takes the weights that came last."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.weights = gradient
        self.version += 1
        return self.everyone()


class CountsItself(Keeps):
    """Its own old weights are in the mean too."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.weights = (self.weights + sum(self.held.values())) / (len(self.workers) + 1)
        self.version += 1
        return self.everyone()


class NeverClears(Keeps):
    """What was pushed in the first round stays."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.average()
        return Decision(tuple(sorted(self.workers)))


class NeverCounts(Keeps):
    """The version stays 0."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.average()
        self.version = 0
        return self.everyone()


class WaitsForNobody(Keeps):
    """Averages with what it has, whenever somebody pushes."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        self.held[worker] = gradient
        self.average()
        return Decision((worker,))


class ReleasesOne(Keeps):
    """Only the last worker goes on."""

    def arrive(self, worker: int, gradient: Any, version: int) -> Decision:
        if not self.full(worker, gradient):
            return Decision()
        self.average()
        self.held = {}
        return Decision((worker,))


KNOWN = {
    "sums": Sums,
    "last wins": LastWins,
    "counts itself": CountsItself,
    "never clears": NeverClears,
    "never counts": NeverCounts,
    "waits for nobody": WaitsForNobody,
}

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
    mistakes=(
        Mistake("returns nothing", _returned_nothing),
        Mistake("releases only the last worker", _only_the_last),
        Mistake(
            "sums without dividing",
            as_known(
                "sums",
                "the weights are {workers} times too large: they were summed. The supervisor "
                "takes the mean.",
            ),
        ),
        Mistake(
            "the last push wins",
            as_known(
                "last wins",
                "the weights are those of the worker that came last: what the other workers "
                "learned is lost. Keep what each pushes until all have come.",
            ),
        ),
        Mistake(
            "counts the supervisor too",
            as_known(
                "counts itself",
                "the mean is over {more} and not {workers}: the supervisor's old weights are in "
                "it. Only what the workers pushed counts.",
            ),
        ),
        Mistake(
            "never clears what it holds",
            as_known(
                "never clears",
                "from the second round on the first push already makes an update: what was "
                "pushed in the round before is still held. Empty it after each mean.",
            ),
        ),
        Mistake(
            "never counts the version",
            as_known(
                "never counts",
                "the version stays 0: it counts the updates, so it goes up by one with each mean.",
            ),
        ),
        Mistake(
            "does not wait",
            as_known(
                "waits for nobody",
                "an update is made at every push: wait until all {workers} workers have pushed, "
                "and return `Decision()` until then.",
            ),
        ),
    ),
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer("sums", Sums, "they were summed"),
        WrongAnswer("last wins", LastWins, "came last"),
        WrongAnswer("counts itself", CountsItself, "old weights are in it"),
        WrongAnswer("never clears", NeverClears, "still held"),
        WrongAnswer("never counts", NeverCounts, "the version stays 0"),
        WrongAnswer("waits for nobody", WaitsForNobody, "made at every push"),
        WrongAnswer("releases one", ReleasesOne, "not only the last one"),
    ),
    ranked=False,
)
