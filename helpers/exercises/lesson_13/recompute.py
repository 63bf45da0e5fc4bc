"""Exercise 13.5, recompute.

`recompute(fn, x)`: what `fn(x)` gives, with the same gradients, and only x kept for the way back
(Chen et al. 2016, section 4; Huang et al. 2019, section 2.3). The claim: the output; after forward
nothing that was made inside `fn` is held any more, by whatever; `fn` runs once there and once on
the way back; the gradients of the input and of what `fn` uses are right, dropout or not; and the
random numbers that come afterwards are those that would have come anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from re import findall
from typing import Any

import numpy as np

from helpers.algorithms.pipeline.recompute import recompute as reference
from helpers.exercises.common import fails_with
from helpers.exercises.compare import all_close, close, count, describe, rounded
from helpers.exercises.drives_recompute import recomputed
from helpers.exercises.lesson_13 import recompute_wrong as wrong
from helpers.exercises.lesson_13.recompute_cases import cases
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-10


def _right_gradients(case: Case, got: dict[str, Any]) -> bool:
    want = case.facts["right"]
    pairs = zip(got["weights"], want["weights"], strict=True)
    return close(got["input"], want["input"], _TOLERANCE) and all(
        all_close(some, others, _TOLERANCE) for some, others in pairs
    )


def claim(case: Case, seen: Observation) -> str | None:
    """The output, what is held, how often it runs, the gradients, the random numbers."""
    got, facts = seen.values[0], case.facts
    if "gave" in got:
        return f"{case.name}, `recompute` gave {describe(got['gave'])} instead of what `fn` gives."
    if not close(got["out"], facts["right"]["out"], _TOLERANCE):
        return f"{case.name}, the output is not that of `fn`."
    if not got["linked"]:
        return f"{case.name}, there is no way back from the output."
    if got["kept"]:
        return f"{case.name}, {_kept(case, got)} held after forward; none should be."
    if got["calls"] != [facts["blocks"]] * 2:
        return (
            f"{case.name}, `fn` ran {got['calls'][0]} times there and {got['calls'][1]} times on "
            f"the way back; once a block, {facts['blocks']}, is enough each way."
        )
    if got["copies"] or got["results"]:
        return f"{case.name}, more is held after forward than x."
    if not _right_gradients(case, got):
        last, right = got["weights"][-1], facts["right"]["weights"][-1]
        mine, wanted = [got["input"]], [facts["right"]["input"]]
        return (
            f"{case.name}, {_against(last, right, 'the weights of the last block')}, and "
            f"{_against(mine, wanted, 'the input')}{rounded([*last, *mine], [*right, *wanted])}."
        )
    if got["drawn"]:
        return f"{case.name}, backward has moved the random numbers that come after it."
    return None


def _against(got: list[Any], right: list[Any], whose: str) -> str:
    """Gradients beside the right ones, in words: right, none, so many times as large, others."""
    if any(each is None for each in got):
        return f"there is no gradient of {whose}"
    ratio = np.vdot(right[0], got[0]) / np.vdot(right[0], right[0])
    if not all_close(got, [ratio * each for each in right], _TOLERANCE):
        return f"the gradient of {whose} is another than that of `fn`"
    how = "right" if abs(ratio - 1) < _TOLERANCE else f"{ratio:.3g} times what it should be"
    return f"the gradient of {whose} is {how}"


def _kept(case: Case, got: dict[str, Any]) -> str:
    inside = count(case.facts["inside"], "activation")
    return f"{got['kept']} of {inside} inside {'is' if got['kept'] == 1 else 'are'}"


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: what is held, and how often `fn` ran."""
    if seen.trouble:
        return {}
    return {
        "kept": _kept(case, seen.values[0]),
        "there": seen.values[0]["calls"][0],
        "blocks": count(case.facts["blocks"], "block"),
    }


_same_tensor = fails_with(
    "second time",
    "the second run goes back further than `fn`, into what made x: begin at "
    "`x.detach()`, which asks for a gradient of its own.",
)


def _returned(case: Case, seen: Observation) -> str | None:
    """What torch says of the gradients that backward returns, in the lesson's words."""
    if seen.trouble != "failed" or "Backward returned" not in seen.text:
        return None
    said = "a gradient for an argument that is no tensor"
    if "number of gradients" in seen.text:
        said = "another number of values than forward takes arguments"
    elif shapes := findall(r"\[[\d, ]*\]", seen.text):
        said = f"a gradient of shape {shapes[0]} for x, which is {shapes[-1]}"
    return (
        f"{case.name}, backward gives {said}. It returns a value for each argument of forward, in "
        "their order: None for `fn`, and for x the `.grad` of what the second run began with."
    )


def compared(case: Case, seen: Observation) -> Any:
    """The first thing that is wrong: what else is wrong behind it may be anything."""
    got = seen.values[0]
    if got["calls"][0] > case.facts["blocks"]:
        return "more than once there"
    if not got["linked"]:
        return "no way back"
    held = next((key for key in ("kept", "copies", "results") if got[key]), "")
    none = [got["input"] is None, all(each is None for block in got["weights"] for each in block)]
    if held or any(none):
        again = got["calls"][1] > 0
        return [held, none, again, got["asked"] if again else None]
    if got["late"]:
        return got["late"]
    return [got["input"], got["weights"], got["drawn"]]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    facts = cases[0].facts
    return (
        f"Passed: none of {facts['inside']} activations inside {facts['blocks']} blocks is held "
        "after forward, each block runs once more, and the gradients are right with dropout too."
    )


EXERCISE = Exercise(
    number="13.5",
    title="Recompute",
    stars=2,
    minutes=15,
    points=3,
    function="recompute",
    asks=(
        "`fn(x)` with the right gradients for x and for all that `fn` uses, while nothing but x "
        "is kept: backward runs `fn` once more, with the same random numbers."
    ),
    cases=cases,
    drive=recomputed,
    claim=claim,
    mistakes=(
        Mistake("runs again from the tensor that came", _same_tensor, unfinished=True),
        Mistake("returns other gradients", _returned, unfinished=True),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "runs again without autograd",
            wrong.without_autograd,
            "`fn` ran again and left no graph to go back through: autograd is off inside a "
            "Function's backward. Turn it on with `torch.enable_grad()`.",
        ),
        WrongAnswer(
            "goes back from what has no graph",
            wrong.outside,
            "`fn` ran again with autograd on, and `backward` begins at a tensor without a graph. "
            "Begin at the output of that run itself, and hand it the gradient.",
        ),
        WrongAnswer("the same tensor", wrong.the_same_tensor, hint="into what made x"),
        WrongAnswer("swapped", wrong.swapped, hint="for an argument that is no tensor"),
        WrongAnswer("one alone", wrong.one_alone, hint="another number of values"),
        WrongAnswer("its own", wrong.its_own_gradient, hint="for x, which is"),
        WrongAnswer(
            "no way back",
            wrong.no_gradients,
            "the output has no `grad_fn`, so no gradient ever comes back. An `autograd.Function` "
            "says what backward does.",
        ),
        WrongAnswer(
            "cuts the graph off",
            wrong.cut_off,
            "the input gets no gradient: `detach` cuts the graph off in front of `fn`, and all "
            "that is inside is still kept.",
        ),
        WrongAnswer(
            "keeps everything",
            wrong.plain,
            "{kept} still held after forward, and backward runs nothing again: autograd keeps what "
            "`fn` made. Run `fn` where autograd is off, and keep x.",
        ),
        WrongAnswer(
            "runs again and keeps everything",
            wrong.keeps_its_output,
            "backward runs `fn` again, and {kept} held after forward all the same: something keeps "
            "an output with its graph.",
        ),
        WrongAnswer(
            "runs more than once there",
            wrong.twice_there,
            "`fn` ran {there} times on the way there, for {blocks}: give back what the first run "
            "made; only backward runs it again.",
        ),
        WrongAnswer(
            "keeps a copy of the output",
            wrong.keeps_a_copy,
            "nothing from inside `fn` is held, and yet more than x: a copy of the output counts "
            "too. Backward needs x alone.",
        ),
        WrongAnswer(
            "keeps the output",
            wrong.keeps_the_result,
            "the output of `fn` is still held when everybody else has let go of it: keep x alone.",
        ),
        WrongAnswer(
            "begins with what asks for no gradient",
            wrong.no_leaf,
            "backward gives no gradient for x: what the second run began with did not ask for it.",
        ),
        WrongAnswer(
            "no gradient for the input",
            wrong.no_input_gradient,
            "backward gives no gradient for x, so nothing in front of `fn` learns: return the one "
            "that the second run left in the input's `.grad`.",
        ),
        WrongAnswer(
            "no gradients for the weights",
            wrong.input_alone,
            "x has its gradient, and the weights that `fn` uses have none: `torch.autograd.grad` "
            "gives what it is asked for alone. `backward` reaches all of them.",
        ),
        WrongAnswer(
            "the gradients of a sum",
            wrong.of_a_sum,
            "the gradients are those of the output's sum: give the gradient that backward is "
            "called with to the second run's `backward`.",
        ),
        WrongAnswer(
            "the random state of afterwards",
            wrong.state_too_late,
            "the second run of `fn` drew the random numbers that come after the first: the state "
            "was taken too late. Take it in forward, and in front of `fn`.",
        ),
        WrongAnswer(
            "other random numbers",
            wrong.other_random_numbers,
            "the gradients belong to another output: dropout drew other numbers the second time. "
            "Keep `torch.get_rng_state()` of before, and set it for the second run.",
        ),
        WrongAnswer(
            "leaves another random state",
            wrong.random_state_left,
            "all gradients are right, but backward leaves another random state than it found: take "
            "that one before you set the old one, and put it back after the second run.",
        ),
    ),
    ranked=False,
)
