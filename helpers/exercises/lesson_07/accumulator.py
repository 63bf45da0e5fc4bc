"""Exercise 07.4, the conditional accumulator.

`class ConditionalAccumulator` with `apply_grad(gradient, local_step) -> bool` and
`take_grad(required) -> mean or None` to write. The claim, move by move: a gradient counts unless
its local step is below the accumulator's; once enough are there the mean is over all that counted,
the accumulator is empty again and its step one higher. No gradient is changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from helpers.exercises.compare import close, count, describe, is_array, listing
from helpers.exercises.drives_sync import accumulator_moves
from helpers.exercises.lesson_07 import accumulator_wrong as wrong
from helpers.exercises.lesson_07.accumulator_cases import cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-9


def _first(case: Case, seen: Observation) -> tuple[int, Any, int, dict[str, Any]] | None:
    """The first wrong move: its number, what it gave, the step then, and the facts."""
    for number, (got, fact) in enumerate(
        zip(seen.values[0]["moves"], case.facts["moves"], strict=True)
    ):
        want, gave = fact["want"], got["gave"]
        right = close(gave, want, _TOLERANCE) if is_array(want) else gave is want
        if not right or got["step"] != fact["step"]:
            return number, gave, got["step"], fact
    return None


def _start(case: Case, number: int, fact: dict[str, Any]) -> str:
    step, held = fact["before"], count(fact["held"], "gradient")
    if fact["kind"] == "push":
        what = f"a gradient of local step {fact['local']}"
    else:
        what = f"`take_grad({case.facts['required']})`"
    return f"{case.name}, move {number + 1}, {what} at global step {step} with {held} held"


def claim(case: Case, seen: Observation) -> str | None:
    """Every call returns what it should, the step is right, and no gradient is changed."""
    found = _first(case, seen)
    if found is not None:
        number, gave, step, fact = found
        start = _start(case, number, fact)
        if step != fact["step"]:
            return f"{start}: the global step is {describe(step)} then, not {fact['step']}."
        return f"{start}: it gave {describe(gave)} instead of {describe(fact['want'])}."
    changed = seen.values[0]["changed"]
    return f"{case.name}, the gradient of move {changed[0] + 1} was changed." if changed else None


def _in_place(case: Case, seen: Observation) -> str | None:
    changed = seen.values[0]["changed"]
    if not changed:
        return None
    return (
        f"{case.name}, the gradient of move {changed[0] + 1} was changed, though it is the worker's"
        ": `+=` writes into it. Make a new tensor: `total = total + gradient`."
    )


def _asked(about: str) -> Any:
    """A recogniser of the first wrong move, where that is a push or a take."""

    def decorate(ask: Any) -> Any:
        def look(case: Case, seen: Observation) -> str | None:
            found = _first(case, seen)
            if found is None or found[3]["kind"] != about:
                return None
            number, gave, step, fact = found
            hint = ask(case, gave, step, fact)
            return f"{_start(case, number, fact)}: {hint}" if hint else None

        return look

    return decorate


@_asked("push")
def _no_word(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if type(gave) is bool:
        return None
    return f"it gave {describe(gave)}; say whether the gradient counts, True or False."


@_asked("push")
def _counts_stale(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if gave is not True or fact["want"] is not False:
        return None
    return "it counted, but its step is over. A gradient with a lower local step is stale."


@_asked("push")
def _drops_equal(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if gave is not False or fact["local"] != fact["before"]:
        return None
    return "it was dropped, but it is for this very step: only a lower one is stale."


@_asked("push")
def _drops_ahead(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if gave is not False or fact["local"] <= fact["before"]:
        return None
    return (
        "it was dropped, but a local step ahead is not stale: this variable's update is still to "
        "come. Compare with <, not with !=."
    )


@_asked("take")
def _step_stays(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if not is_array(fact["want"]) or not is_array(gave) or step != fact["before"]:
        return None
    return "the mean was taken, but the global step stays, so late gradients would count: raise it."


@_asked("take")
def _step_too_often(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if fact["want"] is not None or step == fact["before"]:
        return None
    return "nothing can be taken yet, and still the global step is raised: return None first."


@_asked("take")
def _too_early(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if fact["want"] is not None or gave is None:
        return None
    return f"it gave {describe(gave)}, before enough gradients are there. Give None until then."


@_asked("take")
def _never_counts(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if gave is not None or fact["held"] != case.facts["required"]:
        return None
    return (
        f"it gave None, though {fact['held']} are there, and that is enough. Raise `count` with "
        "each gradient that counts, and give None only where it is *below* what is required."
    )


@_asked("take")
def _exactly(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
    if gave is not None or fact["held"] <= case.facts["required"]:
        return None
    return "it gave None: more than required is enough too. Compare with <, not with !=."


def _mean(name: str, words: str) -> Any:
    """A recogniser for a mean that some mistake makes."""

    @_asked("take")
    def look(case: Case, gave: Any, step: Any, fact: Any) -> str | None:
        required, held = case.facts["required"], fact["held"]
        if name not in fact or not close(gave, fact[name], _TOLERANCE):
            return None
        return words.format(required=required, held=held)

    return look


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    moves = [fact for case in cases for fact in case.facts["moves"]]
    late = sum(fact["want"] is False for fact in moves)
    more = sum(is_array(f["want"]) and not close(f["first"], f["want"], 1e-12) for f in moves)
    required = listing(sorted(case.facts["required"] for case in cases))
    return (
        f"Passed with {required} required: {late} stale gradients dropped, {more} means over more "
        "than were required."
    )


EXERCISE = Exercise(
    number="07.4",
    title="The conditional accumulator",
    stars=2,
    minutes=15,
    points=3,
    function="ConditionalAccumulator",
    asks=(
        "`apply_grad` counts a gradient unless its local step is below the global step; "
        "`take_grad` gives None until enough count, then the mean of all that do, and starts anew "
        "with the next global step."
    ),
    cases=cases,
    drive=accumulator_moves,
    claim=claim,
    mistakes=(
        Mistake("changes a worker's gradient", _in_place),
        Mistake("does not say whether it counts", _no_word),
        Mistake("counts stale gradients", _counts_stale),
        Mistake("drops gradients of this step", _drops_equal),
        Mistake("drops gradients that are ahead", _drops_ahead),
        Mistake("does not raise the step", _step_stays),
        Mistake("gives a mean too early", _too_early),
        Mistake("raises the step for nothing", _step_too_often),
        Mistake("never raises the count", _never_counts),
        Mistake("waits for exactly as many", _exactly),
        Mistake(
            "divides by what is required",
            _mean(
                "by required",
                "the sum was divided by {required}, but {held} gradients are in it: a chief that "
                "comes late finds more than it asked for. Divide by the number that came.",
            ),
        ),
        Mistake("gives the sum", _mean("sum", "it gave the sum of the {held}, not their mean.")),
        Mistake(
            "takes the first ones alone",
            _mean("first", "it took the first {required} alone; all {held} that came count."),
        ),
        Mistake(
            "never emptied",
            _mean(
                "never emptied",
                "gradients of earlier steps are still in it. Start anew after each mean: no sum, "
                "no count.",
            ),
        ),
        Mistake(
            "the sum is never emptied",
            _mean("sum kept", "the count starts anew after a mean, but the sum does not."),
        ),
        Mistake(
            "the count is never emptied",
            _mean("count kept", "the sum starts anew after a mean, but the count does not."),
        ),
        Mistake(
            "stale ones are counted",
            _mean(
                "stale counted",
                "the sum was divided by more than the {held} that are in it: a stale gradient is "
                "not to be counted either. Compare the steps first.",
            ),
        ),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("counts everything", wrong.CountsStale, hint="its step is over"),
        WrongAnswer("lower or equal is stale", wrong.DropsEqual, hint="for this very step"),
        WrongAnswer("other is stale", wrong.DropsAhead, hint="ahead is not stale"),
        WrongAnswer("the step stays", wrong.StepStays, hint="the global step stays"),
        WrongAnswer(
            "gives what there is", wrong.TooEarly, hint="before enough gradients are there"
        ),
        WrongAnswer("exactly as many", wrong.Exactly, hint="more than required is enough"),
        WrongAnswer("divides by required", wrong.ByRequired, hint="the sum was divided by 2"),
        WrongAnswer("sums", wrong.Sums, hint="not their mean"),
        WrongAnswer("never emptied", wrong.NeverEmptied, hint="are still in it"),
        WrongAnswer("sum kept", wrong.SumKept, hint="but the sum does not"),
        WrongAnswer("count kept", wrong.CountKept, hint="but the count does not"),
        WrongAnswer("counts stale ones", wrong.StaleCounted, hint="not to be counted either"),
        WrongAnswer("never counts", wrong.NeverCounts, hint="Raise `count`"),
        WrongAnswer("in place", wrong.InPlace, hint="though it is the worker's"),
        WrongAnswer("says nothing", wrong.SaysNothing, hint="say whether the gradient counts"),
    ),
    ranked=False,
)
