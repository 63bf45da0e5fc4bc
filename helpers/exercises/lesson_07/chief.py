"""Exercise 07.5, the chief and the queue of tokens.

`class Chief` with `start(num_tokens)` and `turn() -> bool` to write. The claim: `start` puts
num_tokens tokens into the queue, as many as an update takes for −1; a turn in which the
accumulator has a mean makes one update, raises the global step, and puts max(total, aggregate)
tokens of the new step into the queue; any other turn does nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from helpers.exercises.drives_sync import chief_turns
from helpers.exercises.lesson_07 import chief_faults as faults
from helpers.exercises.lesson_07 import chief_wrong as wrong
from helpers.exercises.lesson_07.chief_cases import cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    return (
        f"Passed: with {facts['aggregate']} of {facts['total']} workers, "
        f"{len(facts['start'])} tokens at the start by default and {facts['total']} an update."
    )


EXERCISE = Exercise(
    number="07.5",
    title="The chief and its tokens",
    stars=2,
    minutes=15,
    points=3,
    function="Chief",
    asks=(
        "`start` puts num_tokens tokens of step 0 into the queue (−1: as many as an update takes); "
        "`turn` makes an update where there is a mean, raises the step, and puts in "
        "max(total, aggregate) tokens of the new step."
    ),
    cases=cases,
    drive=chief_turns,
    claim=faults.claim,
    mistakes=(
        Mistake("a list as a token at the start", faults.list_at_start),
        Mistake(
            "nothing at the start by default",
            faults.at_start(
                lambda case: 0,
                "the default, −1, stands for as many as an update takes, {aggregate}.",
            ),
        ),
        Mistake(
            "a token for each worker at the start",
            faults.at_start(
                lambda case: case.facts["total"],
                "at the start there are as many as an update takes, {aggregate}, or num_tokens.",
            ),
        ),
        Mistake(
            "num_tokens is not looked at",
            faults.at_start(
                lambda case: case.facts["aggregate"],
                "num_tokens says how many; only −1 stands for {aggregate}.",
            ),
        ),
        Mistake("asks for all workers' gradients", faults.asks_for_all),
        Mistake("asks twice", faults.asks_twice),
        Mistake("a mean as a condition", faults.is_it_there, unfinished=True),
        Mistake("a list as a token", faults.all_in_one),
        Mistake("tokens of the old step", faults.old_tokens),
        Mistake("too few tokens", faults.too_few),
        Mistake("tokens for nothing", faults.for_nothing),
        Mistake("does not raise the step", faults.step_stays),
        Mistake("raises the step for nothing", faults.step_for_nothing),
        Mistake("no rate", faults.no_rate),
        Mistake("another update", faults.uphill),
        Mistake("not put in on the right", faults.not_behind),
        Mistake("does not say whether it updated", faults.no_word),
        Mistake("asks the accumulator for more", faults.asks_for_more, unfinished=True),
        Mistake("writes into the given weights", faults.changed),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("none at the start", wrong.NoneAtStart, hint="stands for as many as"),
        WrongAnswer(
            "a worker each at the start", wrong.TotalAtStart, hint="at the start there are as"
        ),
        WrongAnswer("always the default", wrong.AlwaysDefault, hint="only −1 stands for"),
        WrongAnswer("asks for all", wrong.AsksForAll, hint="so that no worker is spare"),
        WrongAnswer("asks twice", wrong.AsksTwice, hint="call it once a turn"),
        WrongAnswer("old tokens", wrong.OldTokens, hint="which is over"),
        WrongAnswer(
            "a token a gradient", wrong.AggregateTokens, hint="the spare ones wait for ever"
        ),
        WrongAnswer("a token a worker", wrong.TotalTokens, hint="have to give several each"),
        WrongAnswer("step stays", wrong.StepStays, hint="`global_step` stays as it was"),
        WrongAnswer("tokens for nothing", wrong.ForNothing, hint="without an update. `None`"),
        WrongAnswer("divides again", wrong.DividesAgain, hint="once more"),
        WrongAnswer("if not mean", wrong.IfNotMean, hint="neither true nor false"),
        WrongAnswer("a list as a token", wrong.Appends, hint="came into the queue as one token"),
        WrongAnswer("a list at the start", wrong.AppendsAtStart, hint="put the whole list in"),
        WrongAnswer("a queue of its own", wrong.OwnQueue, hint="workers look into no other"),
        WrongAnswer("empties the queue", wrong.Empties, hint="nobody has taken yet is gone"),
        WrongAnswer("on the left", wrong.OnTheLeft, hint="ahead of one that was there"),
        WrongAnswer("no rate", wrong.NoRate, hint="the whole mean was subtracted"),
        WrongAnswer("counts first", wrong.CountsFirst, hint="`take_grad` is enough"),
        WrongAnswer("in place", wrong.InPlace, hint="a tensor that others still hold"),
        WrongAnswer("no word", wrong.NoWord, hint="say whether an update was made"),
    ),
    ranked=False,
)
