"""Exercise 16.5, how good the chosen model is.

`score_of_chosen(right, parts) -> float`: for each part of the rows the model that is right most
often on all others, judged on this part. The claim: the share of all rows on which the model so
chosen is right, to nine digits; of equal models the first is chosen. Varma and Simon, "Bias in
error estimation when using cross-validation for model selection" (2006).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from helpers.exercises.common import rng
from helpers.exercises.compare import count, number, told_apart
from helpers.exercises.drives_search import call_kept
from helpers.exercises.drives_split import changed, returned
from helpers.exercises.formula import wrong_number
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

Parts = Sequence[Sequence[int]]


def _choosing(
    by: Callable[[Tensor, Sequence[int]], Tensor] = lambda right, part: _others(right, part),
    on: Callable[[Tensor, Sequence[int]], Tensor] = lambda right, part: right[:, part],
    pick: Callable[[Tensor], int] = lambda scores: int(scores.argmax()),
    gives: Callable[[list[float], list[int]], float] = lambda hits, sizes: sum(hits) / sum(sizes),
) -> Callable[[Tensor, Parts], float]:
    """Choosing with a part exchanged. by, on: the columns that choose, and those that judge."""

    def score_of_chosen(right: Tensor, parts: Parts) -> float:
        hits, sizes = [], []
        for part in parts:
            best = pick(by(right, part).double().mean(dim=1))
            judged = on(right, part)
            hits.append(float(judged[best].sum()))
            sizes.append(judged.shape[1])
        return gives(hits, sizes)

    return score_of_chosen


def _others(right: Tensor, part: Sequence[int]) -> Tensor:
    left = torch.ones(right.shape[1], dtype=torch.bool)
    left[list(part)] = False
    return right[:, left]


reference = _choosing()


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
    want, last, *others = (
        round(float(one(right.clone(), parts)), 9) for one in (reference, _last_of_equals, *_KNOWN)
    )
    if len(right) == 6:
        return want not in others and len(set(others)) == len(others) and last not in others
    if len(right) == 12:  # of equals
        return last != want and last not in others
    return len(right) < 20 or others[0] - want > 0.05  # the best one was lucky


def claim(case: Case, seen: Observation) -> str | None:
    """The share, to nine digits, and what was given as it was."""
    got, want = _number(seen), case.facts["want"]
    if got is None or not abs(got - want) <= 1e-6:
        return wrong_number(case, replace(seen, values=[returned(seen.values[0])]), "")
    return _changed(case, seen)


def _number(seen: Observation) -> float | None:
    """The number that was given, also by who changed the arguments."""
    return number(returned(seen.values[0]))


def _changed(case: Case, seen: Observation) -> str | None:
    if changed(seen.values[0]) is None:
        return None
    return (
        f"{case.name}, your function changes what it was given: whoever uses `right` or `parts` "
        "after it finds others. Work on a copy, `right.clone()`, or on a mask of your own."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    got, want = told_apart(_number(seen) or 0.0, case.facts["want"])
    models, rows = case.args[0][0].shape
    return {"got": got, "want": want, "models": models, "rows": rows}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, got = cases[4], float(_number(seen[4]) or 0.0)
    return (
        f"Passed: of {len(case.args[0][0])} models the best has {case.facts['best']:.3f} of the "
        f"rows right that chose it; on rows that had no say it is {got:.3f}."
    )


_optimist = _choosing(by=lambda right, part: right, on=lambda right, part: right[:, part])
_by_itself = _choosing(by=lambda right, part: right[:, part])
_on_the_others = _choosing(on=_others)
_exchanged = _choosing(by=lambda right, part: right[:, part], on=_others)
_worst = _choosing(pick=lambda scores: int(scores.argmin()))
_of_means = _choosing(
    gives=lambda hits, sizes: sum(h / s for h, s in zip(hits, sizes, strict=True)) / len(hits)
)
_on_all = _choosing(on=lambda right, part: right)
_last_of_equals = _choosing(pick=lambda scores: len(scores) - 1 - int(scores.flip(0).argmax()))
_wrong_share = _choosing(gives=lambda hits, sizes: 1 - sum(hits) / sum(sizes))
_number_right = _choosing(gives=lambda hits, sizes: sum(hits))
_best_part = _choosing(
    gives=lambda hits, sizes: max(h / s for h, s in zip(hits, sizes, strict=True))
)


def _mask_once(right: Tensor, parts: Parts) -> float:
    left, hits = torch.ones(right.shape[1], dtype=torch.bool), 0
    for part in parts:
        left[list(part)] = False
        hits += int(right[right[:, left].sum(dim=1).argmax(), list(part)].sum())
    return hits / right.shape[1]


def _in_place(right: Tensor, parts: Parts) -> float:
    hits = 0
    for part in parts:
        right[:, list(part)] = False
        hits += int(right[right.sum(dim=1).argmax(), list(part)].sum())
    return hits / right.shape[1]


def _consumes(right: Tensor, parts: Any) -> float:
    found = reference(right, parts)
    parts.pop()
    return found


def _all_models(right: Tensor, parts: Parts) -> float:
    return float(right.double().mean())


def _first_choice(right: Tensor, parts: Parts) -> float:
    best = int(_others(right, parts[0]).double().mean(dim=1).argmax())
    return float(right[best, list(parts[0])].double().mean())


_KNOWN = (
    *(_optimist, _by_itself, _on_the_others, _exchanged, _worst, _of_means, _on_all),
    *(_mask_once, _in_place, _wrong_share, _number_right, _best_part, _all_models, _first_choice),
)


def _known(name: str, answer: Callable[..., float], what: str) -> WrongAnswer:
    return WrongAnswer(name, answer, f"you say {{got}} instead of {{want}}: {what}")


EXERCISE = Exercise(
    number="16.5",
    title="How good is the chosen one?",
    stars=2,
    minutes=10,
    points=3,
    function="score_of_chosen",
    asks=(
        "the share of all rows on which the model is right that is the best on the other parts; of "
        "equal models the first is chosen."
    ),
    cases=cases,
    drive=call_kept,
    claim=claim,
    numbers=numbers,
    compared=lambda case, seen: _number(seen),
    mistakes=(Mistake("changes its arguments", _changed),),
    praise=praise,
    reference=reference,
    wrong=(
        _known(
            "the same rows choose and judge",
            _optimist,
            "that is the best model’s share of the rows that chose it. It was chosen for its luck "
            "on these, too. Let the other parts choose, and this part judge.",
        ),
        _known(
            "each part chooses for itself",
            _by_itself,
            "on each part you take the model that is best on this very part. A part judges those "
            "that all other parts chose.",
        ),
        _known(
            "judged by those who chose",
            _on_the_others,
            "the other parts choose, which is right, and judge as well. The part that had no say "
            "judges.",
        ),
        _known(
            "chosen by the part, judged by the others",
            _exchanged,
            "one part chooses and the others judge: it is the other way round.",
        ),
        _known(
            "the worst",
            _worst,
            "you choose the model that is right least often. `right` is true where a model is "
            "right, so that the largest share is the best.",
        ),
        _known(
            "the parts count alike",
            _of_means,
            "you take the mean of the parts’ shares, and parts may differ by a row. Add up how "
            "many rows were right, and divide by all rows.",
        ),
        _known(
            "judged by all",
            _on_all,
            "the chosen model is judged on all rows, also those that chose it. Only the part that "
            "had no say judges.",
        ),
        _known(
            "a mask for all parts",
            _mask_once,
            "what you leave out for one part stays left out for the parts after it, so that in the "
            "end no row chooses. Begin each part with all rows, inside the loop.",
        ),
        _known(
            "wiped out in place",
            _in_place,
            "you set the part’s own columns of `right` to false, and then count on them: nothing "
            "is right there any more, and `right` is not the caller’s either. Leave `right` as it "
            "is, and choose by `right[:, others]`.",
        ),
        WrongAnswer("uses up the parts", _consumes, hint="changes what it was given"),
        _known(
            "the last of equals",
            _last_of_equals,
            "of models that are as good on the other parts you choose the last; take the first, as "
            "`argmax` does.",
        ),
        _known(
            "the share of wrong rows", _wrong_share, "that is the share of rows that are wrong."
        ),
        _known(
            "a number of rows",
            _number_right,
            "that is how many rows are right; divide it by all {rows} rows.",
        ),
        _known(
            "the best part",
            _best_part,
            "that is the share on the part where it came out best. Every row counts.",
        ),
        _known(
            "all models",
            _all_models,
            "that is the mean over all {models} models: only the chosen one counts.",
        ),
        _known(
            "the first part alone",
            _first_choice,
            "that is the share on the first part alone. Each part judges once, so that all rows "
            "count.",
        ),
    ),
    ranked=False,
)
