"""Answers of lesson 18 that no table lists: wrong ones do not pass, right ones in other words."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from statistics import mean
from typing import Any

import pytest

from helpers.checks import find
from helpers.checks.spec import Verdict
from helpers.lessons.capstone.algorithms import findings as sentences
from helpers.lessons.capstone.exercises import draw as figure
from tests.checks.table import verdict

TOOK = "{second} took {more:.3g} s more than {first}"
LOST = "{way} in {runs - n} of {runs} runs"
TEXT = "ax.text(0, place"
TICKS = "ax.set_yticks(range(len(times)), list(times))"


def patched(module: Any, name: str, *patches: str) -> Callable[..., Any]:
    """A reference with pieces of its text exchanged: old, new, old, new."""
    text = inspect.getsource(getattr(module, name))
    for old, new in zip(patches[::2], patches[1::2], strict=True):
        assert old in text, old
        text = text.replace(old, new)
    names = dict(vars(module))
    exec(f"from __future__ import annotations\n{text}", names)
    found: Callable[..., Any] = names[name]
    return found


def told(number: str, function: Callable[..., Any]) -> set[str]:
    """What is said on the lesson's own cases and on hidden ones."""
    said: list[Verdict] = [verdict(find(number), function, seed) for seed in (0, 1)]
    return {each.status for each in said}


@pytest.mark.parametrize(
    "patches",
    [
        (TOOK, "{second} took {abs(more):.3g} s more than {first}"),
        ("s more than", "s less than"),
        ("s more than", "s shorter than"),
        ("higher, with", "lower, with"),
        ("{first} reached the target first", "{first} did not reach the target first"),
        ("ended best", "ended worst"),
        ('s."\n    ]', 's. 3 others followed."\n    ]'),
        ("sum(map(math.isfinite, seconds))", "sum(map(math.isfinite, seconds[:5]))"),
        ("runs = len(next(iter(times.values())))", "runs = 5"),
        ("after {middle[first]:.3g}", "after {middle[second]:.3g}",
         "{second}, after {middle[second]:.3g}", "{second}, after {middle[first]:.3g}"),
        (LOST, "{way} in {max(1, runs - n - 1)} of {runs} runs"),
        ("Not arrived: ", "Arrived: "),
    ],
)  # fmt: skip
def test_sentences_that_say_the_contrary_do_not_pass(patches: tuple[str, ...]) -> None:
    assert told("18.5", patched(sentences, "findings", *patches)) == {"wrong"}


@pytest.mark.parametrize(
    "patches",
    [
        (TOOK, "{first} was {more:.3g} s quicker than {second}"),
        (TOOK, "{second}, compared with {first}, took {more:.3g} s longer"),
        (TOOK, "compared with {first}, {second} needed {more:.3g} s more"),
        (TOOK, "the difference of {second} and {first} is {more:.3g} s"),
        (TOOK, "{first} took {-more:.3g} s more than {second}"),
        ("reached the target first", "was 1st at the target", "then came", "2nd was"),
        ("Not arrived: ", "", LOST, "in {runs - n} of {runs} runs {way} did not arrive"),
        ("Not arrived: ", "", LOST, "{way} did not always arrive, but in {n} of {runs} runs"),
        ("Not arrived: ", "Arrived less often: ", LOST, "{way} in {n} of {runs} runs"),
        (LOST, "{way} {'never' if n == 0 else f'in {runs - n} of {runs} runs'}"),
    ],
)
def test_sentences_in_other_words_pass(patches: tuple[str, ...]) -> None:
    assert told("18.5", patched(sentences, "findings", *patches)) == {"passed"}


@pytest.mark.parametrize(
    "patches",
    [
        (TEXT, "ax.text(0, 0"),
        (TEXT, "ax.text(place, 0"),
        ("ax.set_xlim(left=0)", "pass"),
        ("{arrived} of {len(seconds)} arrived", "{arrived}/5"),
        ("range(len(times))", "range(len(times) + 1)"),
        (TICKS, "ax.set_yticks(range(len(times))); ax.set_yticklabels(list(times)[::-1])"),
        ("ax.set_xlabel", "ax.set_ylabel"),
    ],
)
def test_figures_that_mislead_do_not_pass(patches: tuple[str, ...]) -> None:
    assert told("18.6", patched(figure, "draw", *patches)) == {"wrong"}


@pytest.mark.parametrize(
    "patches",
    [
        (TICKS, "ax.set_yticks(range(len(times))); ax.set_yticklabels(list(times))"),
        (f"{TEXT}, f\"", f"{TEXT}, f\"in all "),
        (TEXT, "ax.text(0.5, place", 'va="center"', "transform=ax.get_yaxis_transform()"),
        (TEXT, "ax.text(place, 0", "mean(seconds), place, xerr", "place, mean(seconds), yerr",
         "ax.set_yticks", "ax.set_xticks", "set_xlabel", "set_ylabel",
         "set_xlim(left=0)", "set_ylim(bottom=0)"),
    ],
)  # fmt: skip
def test_figures_drawn_otherwise_pass(patches: tuple[str, ...]) -> None:
    assert told("18.6", patched(figure, "draw", *patches)) == {"passed"}


Results = list[tuple[float, float]]


def searches(end: Callable[[Results], float], sort: bool = False) -> Callable[..., Any]:
    """A search in which step 3 goes by `end`, of equals by the smaller rate."""

    def best(result_of: Any, rates: Any, seeds: Any, budget: int) -> Any:
        if sort:
            rates.sort()
        first = seeds.pop(0)
        tried = {rate: [result_of(rate, first)] for rate in rates}
        go = (budget - len(rates)) // len(seeds) if seeds else len(rates)
        for rate in sorted(rates, key=lambda rate: (*tried[rate][0], rate))[:go]:
            tried[rate] += [result_of(rate, seed) for seed in seeds]
        whole = [rate for rate in rates if len(tried[rate]) == len(seeds) + 1]
        return min(whole, key=lambda rate: (end(tried[rate]), rate))

    return best


def by_the_mean(found: Results) -> Any:
    return mean(s for s, _ in found), mean(e for _, e in found)


@pytest.mark.parametrize(
    "end",
    [
        lambda found: (sum(s > 1e9 for s, _ in found), mean(min(s, 1e9) for s, _ in found)),
        lambda found: mean(min(s, 1000) for s, _ in found),
        lambda found: math.prod(s for s, _ in found),
        lambda found: found[-1][1],
        lambda found: (mean(s for s, _ in found), found[-1][1]),
    ],
    ids=["lost runs first", "a penalty", "a product", "the last end", "the last end of equals"],
)  # fmt: skip
def test_other_rules_for_the_best_rate_do_not_pass(end: Any) -> None:
    assert told("18.3", searches(end)) == {"wrong"}


@pytest.mark.parametrize("sort", [False, True])
def test_the_lists_are_the_learners_own(sort: bool) -> None:
    assert told("18.3", searches(by_the_mean, sort)) == {"passed"}
