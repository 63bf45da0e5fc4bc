"""Exercise 05.1, a supervisor that averages weights.

`class Averaging(Rule)`, made with `(weights, workers)`, of which `arrive(worker, weights, version)`
is asked for: keep what each worker pushes; when all have pushed, the supervisor's weights become
their mean, the version goes up by one, and all are released. Source: Ramsundar and Zadeh,
"TensorFlow for Deep Learning" (2018), chapter 9.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.common import rng
from helpers.exercises.compare import count, describe, is_array, listing
from helpers.exercises.drives_servers import supervisor_turns
from helpers.exercises.lesson_05 import supervisor_wrong as wrong
from helpers.exercises.lesson_05.recognise import as_known, instead, same, seen_of
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def cases(seed: int) -> list[Case]:
    """Three rounds with 3, 1, 2 and 5 workers, which come in another order each round."""
    random, made = rng(seed, "05.1"), []
    for workers in (3, 1, 2, 5):
        goals = random.standard_normal((workers, 3)) + 1.0
        rate = float(random.uniform(0.2, 0.6))
        order = [int(w) for _ in range(3) for w in random.permutation(workers)]
        case = Case(f"With {count(workers, 'worker')}", ((goals, rate, order),))
        known = seen_of(supervisor_turns, {"right": wrong.reference, **wrong.KNOWN}, case)
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
                f"{when}, the supervisor's weights are not the mean: "
                f"{instead(got['weights'], want['weights'])}."
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
    last, right = turns[workers - 1], case.facts["known"]["right"][1][0][workers - 1]
    if last["release"]:
        return (
            f"{case.name}, only worker {listing(last['release'])} went on once all had pushed, and "
            "the others wait for ever: release all workers, not only the last one."
        )
    if last["made"]:
        return (
            f"{case.name}, the mean was taken after all had pushed, and nobody went on: the "
            "decision names those who may, `Decision(release=tuple(self.workers))`."
        )
    if is_array(last["weights"], right["weights"].shape) and same(
        last["weights"], right["weights"]
    ):
        return (
            f"{case.name}, the mean was taken after all had pushed, but the version is still 0 and "
            "nobody goes on: count the update, `self.version += 1`, and release all workers."
        )
    return (
        f"{case.name}, all have pushed, and there was no mean and nobody went on: what you ask is "
        "never true. `self.workers` is a set of numbers, so compare with how many there are, "
        "`len(self.workers)`."
    )


def _number_and_set(case: Case, seen: Observation) -> str | None:
    if seen.kind != "TypeError" or "'int'" not in seen.text or "'set'" not in seen.text:
        return None
    return (
        f"{case.name}, a number and a set do not go together ({seen.text}): how many workers there "
        "are is `len(self.workers)`."
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
        Mistake("a number and a set", _number_and_set, unfinished=True),
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
    reference=wrong.reference,
    wrong=(
        WrongAnswer("sums", wrong.Sums, hint="they were summed"),
        WrongAnswer("last wins", wrong.LastWins, hint="came last"),
        WrongAnswer("counts itself", wrong.CountsItself, hint="old weights are in it"),
        WrongAnswer("never clears", wrong.NeverClears, hint="still held"),
        WrongAnswer("never counts", wrong.NeverCounts, hint="the version stays 0"),
        WrongAnswer("waits for nobody", wrong.WaitsForNobody, hint="made at every push"),
        WrongAnswer("releases one", wrong.ReleasesOne, hint="not only the last one"),
        WrongAnswer("releases nobody", wrong.ReleasesNobody, hint="the decision names those"),
        WrongAnswer("only the mean", wrong.OnlyTheMean, hint="still 0 and nobody goes on"),
        WrongAnswer("a number is a set", wrong.NeverFull, hint="what you ask is never true"),
        WrongAnswer("a number below a set", wrong.BelowASet, hint="do not go together"),
    ),
    ranked=False,
)
