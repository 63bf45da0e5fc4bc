"""Exercise 07.3, the rule of N of N + b.

`class SpareReplicas(Rule)` with its `arrive(worker, gradient, version)` to write. The claim, turn
by turn: the first N gradients of a step make the update with their mean and their workers go on; a
gradient of a step that is over is dropped, and its worker goes on at once.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.compare import count
from helpers.exercises.drives_rules import rule_turns
from helpers.exercises.lesson_07 import spare_faults as faults
from helpers.exercises.lesson_07 import spare_wrong as wrong
from helpers.exercises.lesson_07.spare_cases import cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    late = sum(len(turn["dropped"]) for turn in seen[0].values[0])
    made = seen[0].values[0][-1]["made"]
    return (
        f"Passed with 1, 2, 3 and 5 workers: with 2 of 3, {len(seen[0].values[0])} gradients made "
        f"{made} updates, {count(late, 'late one')} dropped, nobody left waiting."
    )


EXERCISE = Exercise(
    number="07.3",
    title="N of N + b",
    stars=2,
    minutes=18,
    points=4,
    function="SpareReplicas",
    asks=(
        "a gradient of an old version is dropped and its worker released; others are kept, and "
        "the N-th of a step applies the mean of the N and releases their workers."
    ),
    cases=cases,
    drive=rule_turns,
    claim=faults.claim,
    mistakes=(
        Mistake("releases pushes", faults.not_a_number, unfinished=True),
        Mistake("no tuple", faults.not_a_tuple, unfinished=True),
        Mistake("no decision", faults.no_decision),
        Mistake("a late gradient counts", faults.counts_late),
        Mistake("not a word of a late gradient", faults.says_nothing_of_late),
        Mistake("a late worker waits for ever", faults.not_released),
        Mistake("dropped without a word", faults.not_said),
        Mistake("drops gradients of this step", faults.drops_fresh),
        Mistake("waits for all workers", faults.waits_for_all),
        Mistake("not the mean over N", faults.wrong_mean),
        Mistake("the last gradient alone", faults.last_only),
        Mistake("gradients kept after the update", faults.kept_on),
        Mistake("everyone released", faults.releases_everyone),
        Mistake("released before the update", faults.releases_at_once),
        Mistake("not all released", faults.releases_too_few),
        Mistake("named after the update", faults.named_late),
        Mistake("named by numbers", faults.named_by_number),
        Mistake("an update without a word", faults.not_named),
        Mistake("not one update", faults.made_too_many),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("late gradients count", wrong.CountsLate, hint="kept for the next one"),
        WrongAnswer("late worker not released", wrong.NotReleased, hint="waits for ever"),
        WrongAnswer("forgets late ones", wrong.SaysNothing, hint="neither names its gradient"),
        WrongAnswer("names by tuples", wrong.NamesTuples, hint="by its name"),
        WrongAnswer("drops without a word", wrong.Silent, hint="left out without a word"),
        WrongAnswer("lower or equal is late", wrong.DropsEqual, hint="only a lower one is late"),
        WrongAnswer("waits for all", wrong.WaitsForAll, hint="Do not wait for all"),
        WrongAnswer("divides by N + b", wrong.DividesByAll, hint="divided by all 3"),
        WrongAnswer("sums", wrong.Sums, hint="summed and not averaged"),
        WrongAnswer("applies the last", wrong.LastOnly, hint="only the gradient that came last"),
        WrongAnswer("never empties", wrong.NeverEmpties, hint="gradients of an earlier step"),
        WrongAnswer("releases everyone", wrong.ReleasesEveryone, hint="still computing"),
        WrongAnswer("releases at once", wrong.ReleasesAtOnce, hint="before the step is over"),
        WrongAnswer("releases the last", wrong.ReleasesLast, hint="release all of them"),
        WrongAnswer("returns nothing", wrong.ReturnsNothing, hint="It gives a `Decision`"),
        WrongAnswer("names after the update", wrong.NamesLate, hint="when it comes, before"),
        WrongAnswer("names by numbers", wrong.NamesNumbers, hint="no gradient's name"),
        WrongAnswer("names nothing", wrong.NamesNothing, hint="does not name its gradients"),
        WrongAnswer("raises the version", wrong.RaisesVersion, hint="leave the version to it"),
        WrongAnswer("never applies", wrong.NeverApplies, hint="but none was made"),
        WrongAnswer("releases pushes", wrong.ReleasesPushes, hint="`release` holds pushes"),
        WrongAnswer("releases a number", wrong.ReleasesNumber, hint="`release=(worker,)`"),
    ),
    ranked=False,
)
