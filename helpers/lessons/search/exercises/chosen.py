"""Exercise 16.5, how good the chosen model is.

`score_of_chosen(right, parts) -> float`: for each part of the rows the model that is right most
often on all others, judged on this part. The claim: the share of all rows on which the model so
chosen is right, to nine digits; of equal models the first is chosen. Varma and Simon, "Bias in
error estimation when using cross-validation for model selection" (2006).
"""

from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from helpers.checks.compare import count, number, told_apart
from helpers.checks.drives.arguments import call_with_tensors
from helpers.checks.drives.calling import Function
from helpers.checks.drives.requests import CHANGED, changed, returned
from helpers.checks.nine_digits import wrong_number
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers

Parts = Sequence[Sequence[int]]


def reference(right: Tensor, parts: Parts) -> float:
    """The course's own."""
    hits = 0.0
    for part in parts:
        left = torch.ones(right.shape[1], dtype=torch.bool)
        left[list(part)] = False
        best = int(right[:, left].double().mean(dim=1).argmax())
        hits += float(right[best, list(part)].sum())
    return hits / right.shape[1]


def cases(seed: int) -> list[Case]:
    """Seed 0: 6 models, 50 rows in 3 parts; then 1, 2 and 20 models; else others."""
    random = rng(seed, "16.5")
    made = []
    for models, rows, n in ((6, 50, 3), (12, 41, 4), (1, 7, 2), (2, 33, 5), (20, 101, 4)):
        rows += int(random.integers(0, 20)) if seed and rows > 30 else 0
        rows += rows % n == 0  # uneven parts
        while True:
            right = random.random((models, rows)) < 0.6  # alike, so that luck decides
            order = random.permutation(rows)
            parts = [sorted(order[at::n].tolist()) for at in range(n)]
            if _is_telling(torch.from_numpy(right), parts):
                break
        name = f"With {count(models, 'model')}, {rows} rows and {n} parts"
        want = reference(torch.from_numpy(right), parts)
        best = max(float(share) for share in right.mean(axis=1))
        made.append(Case(name, ((right, parts),), facts={"want": want, "best": best}))
    return made


def _is_telling(right: Tensor, parts: Parts) -> bool:
    """Whether the answers differ here that a case of so many models is there to tell apart."""
    told = {
        answer.name: round(float(answer.function(right.clone(), parts)), 9)
        for answer in EXERCISE.wrong
        if answer.says
    }
    want, last = round(reference(right, parts), 9), told.pop("the last of equals")
    others, lucky = list(told.values()), told["the same rows choose and judge"]
    if len(right) == 6:
        return want not in others and len(set(others)) == len(others) and last not in others
    if len(right) == 12:  # of equals
        return last != want and last not in others
    return len(right) < 20 or lucky - want > 0.05  # the best one was lucky


def call_kept(fn: Function, case: Case) -> Observation:
    """As `call_with_tensors`, with a look at lists inside lists too."""
    were: list[tuple[Any, Any]] = []

    @wraps(fn)
    def noting(*args: Any) -> Any:
        were.extend((arg, deepcopy(arg)) for arg in args if isinstance(arg, list))
        return fn(*args)

    seen = call_with_tensors(noting, case)
    if not seen.trouble and any(arg != was for arg, was in were):
        seen.values = [{CHANGED: 0, "returned": returned(seen.values[0])}]
    return seen


def claim(case: Case, seen: Observation) -> str | None:
    """The share, to nine digits, and what was given as it was."""
    got, want = given(seen), case.facts["want"]
    if got is None or not abs(got - want) <= 1e-6:
        return wrong_number(case, replace(seen, values=[returned(seen.values[0])]), "")
    return _changed(case, seen)


def given(seen: Observation) -> float | None:
    """The number that was given, also by who changed the arguments."""
    return number(returned(seen.values[0]))


def if_changed(words: str) -> Callable[[Case, Observation], str | None]:
    """What says so where arguments are not as they were."""
    return lambda case, seen: None if changed(seen.values[0]) is None else words


_changed = if_changed(
    "your function changes what it was given: whoever uses `right` or `parts` after it finds "
    "others. Work on a copy, `right.clone()`, or on a mask of your own."
)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    got, want = told_apart(given(seen) or 0.0, case.facts["want"])
    models, rows = case.args[0][0].shape
    return {"said": f"you say {got} instead of {want}", "models": models, "rows": rows}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, got = cases[4], float(given(seen[4]) or 0.0)
    return (
        f"Passed: of {len(case.args[0][0])} models the best has {case.facts['best']:.3f} of the "
        f"rows right that chose it; on rows that had no say it is {got:.3f}."
    )


WRONG = """
the same rows choose and judge
    | right[:, left] => right
    {said}: that is the share of one model on all rows, of that which is best there. Rows that chose
    it judge it, too, and flatter it: let the other parts choose, and this part judge.
the first choice for all parts
    | hits = 0.0 => hits, best = 0.0, -1
    | best = int( => best = best if best >= 0 else int(
    {said}: you choose once, and keep that model for all parts. Rows that chose it judge it then.
    Choose anew for each part, by all others.
each part chooses for itself
    | right[:, left] => right[:, list(part)]
    {said}: on each part you take the model that is best on this very part. A part judges those that
    all other parts chose.
judged by those who chose
    | right[best, list(part)] => right[best, left]
    | hits / right.shape[1] => hits / right.shape[1] / (len(parts) - 1)
    {said}: the other parts choose, which is right, and judge as well. The part that had no say
    judges.
chosen by the part, judged by the others
    | right[:, left] => right[:, list(part)]
    | right[best, list(part)] => right[best, left]
    | hits / right.shape[1] => hits / right.shape[1] / (len(parts) - 1)
    {said}: one part chooses and the others judge: it is the other way round.
the worst
    | argmax => argmin
    {said}: you choose the model that is right least often. `right` is true where a model is right,
    so that the largest share is the best.
the parts count alike
    | right[best, list(part)].sum() => right[best, list(part)].sum() / len(part)
    | hits / right.shape[1] => hits / len(parts)
    {said}: you take the mean of the parts’ shares, and parts may differ by a row. Add up how many
    rows were right, and divide by all rows.
judged by all
    | right[best, list(part)] => right[best]
    | hits / right.shape[1] => hits / right.shape[1] / len(parts)
    {said}: the chosen model is judged on all rows, also those that chose it. Only the part that had
    no say judges.
a mask for all parts
    | left = torch.ones(right.shape[1], dtype=torch.bool) =>
    | hits = 0.0 => hits, left = 0.0, torch.ones(right.shape[1], dtype=torch.bool)
    {said}: what you leave out for one part stays left out for the parts after it, so that in the
    end no row chooses. Begin each part with all rows, inside the loop.
wiped out in place
    | left[list(part)] = False => right[:, list(part)] = False
    | right[:, left] => right
    {said}: you set the part’s own columns of `right` to false, and then count on them: nothing is
    right there any more, and `right` is not the caller’s either. Leave `right` as it is, and choose
    by `right[:, others]`.
a part from its first row to its last
    | left[list(part)] => left[min(part) : max(part) + 1]
    | right[best, list(part)] => right[best, min(part) : max(part) + 1]
    {said}: you take all rows from a part’s first one to its last. Those of other parts lie between
    them: take just the rows that `part` lists.
as many rows in a row
    | hits = 0.0 => hits, at = 0.0, 0
    | left = torch => part, at = range(at, at + len(part)), at + len(part); left = torch
    {said}: you take as many rows as a part has, one after the other. Take just the rows that `part`
    lists.
uses up the parts
    | return hits / right.shape[1] => parts.pop(); return hits / right.shape[1]
    ? changes what it was given
the last of equals
    | int(right[:, left] => len(right) - 1 - int(right[:, left]
    | .argmax() => .flip(0).argmax()
    {said}: of models that are as good on the other parts you choose the last; take the first, as
    `argmax` does.
the share of wrong rows
    | return hits => return 1 - hits
    {said}: that is the share of rows that are wrong.
a number of rows
    | hits / right.shape[1] => hits
    {said}: that is how many rows are right; divide it by all {rows} rows.
the best part
    | hits += float(right[best, list(part)].sum())
        => hits = max(hits, float(right[best, list(part)].sum()) / len(part))
    | hits / right.shape[1] => hits
    {said}: that is the share on the part where it came out best. Every row counts.
all models
    | hits / right.shape[1] => float(right.double().mean())
    {said}: that is the mean over all {models} models: only the chosen one counts.
the first part alone
    | in parts: => in parts[:1]:
    | hits / right.shape[1] => hits / len(parts[0])
    {said}: that is the share on the first part alone. Each part judges once, so that all rows
    count.
"""

EXERCISE = Exercise(
    number="16.5",
    title="How good is the chosen one?",
    size=Size(stars=2, minutes=10, points=3),
    function="score_of_chosen",
    asks=(
        "the share of all rows on which the model is right that is the best on the other parts; of "
        "equal models the first is chosen."
    ),
    cases=cases,
    drive=call_kept,
    claim=claim,
    numbers=numbers,
    compared=lambda case, seen: given(seen),
    mistakes=(Mistake("changes its arguments", _changed),),
    praise=praise,
    reference=reference,
    wrong=wrong_answers("16.5", WRONG, reference),
    ranked=False,
)
