"""Sentences that compare measured numbers: they follow the numbers, also tied or turned round."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.lessons.search.experiments.best_of_many import Chosen
from helpers.lessons.search.figures.search_view import honest_words
from helpers.notebook.compared import times_as

WORK = [1e-3, 8e-3]


def break_even(least: float, most: float, four: float) -> tuple[Any, ...]:
    """Speedups of two ranks with the least and the most work, and of four with the most."""
    times = {1: WORK, 2: [WORK[0] / least, WORK[1] / most], 4: [1.0, WORK[1] / four]}
    return times, 1e-3


def speeds(memory: float) -> tuple[Any, ...]:
    took = {
        "shared memory": [memory, 1e-3],
        "sockets": [2e-6, 4e-3],
        "copy of memory": [1e-8, 1e-3],
    }
    return [64, 64_000], took, {}


def prepared(first: float, without: float, apart: float, twice: float) -> tuple[Any, ...]:
    def run(last: float, ranks: float) -> Any:
        return SimpleNamespace(losses=[first, last], apart=ranks, from_alone=lambda: 0.1)

    names = ("as it is", "no broadcast", "averaged twice")
    return [first, 0.5], dict(
        zip(names, (run(0.5, 0), run(without, apart), run(twice, 0)), strict=True)
    )


def throughput(one: float, two: float, many: float) -> tuple[Any, ...]:
    """Gradients a second of one worker, and of 16 with one server and with two."""
    return {(1, 1): one, (16, 1): two, (1, 2): one, (16, 2): many}, lambda *_: 1.0


def late(mean: float) -> tuple[Any, ...]:
    return {name: np.array([mean, mean], dtype=int) for name in "abc"}, 5, {"L0": PUBLISHED}


def real(mean: int) -> tuple[Any, ...]:
    found = {n: np.full(4, n - 1) for n in (2, 3)} | {4: np.full(4, mean)}
    return found, found


def chosen(few: float, many: float, own: float) -> tuple[Any, ...]:
    return ([Chosen(3, 0.9, few), Chosen(27, own, many)],)


def steps(three: int) -> tuple[Any, ...]:
    """Updates within the second that is shown: three with all 4, so many with 3 of 4."""

    def run(count: int) -> Any:
        curve = [SimpleNamespace(seconds=at / count) for at in range(count + 1)]
        return SimpleNamespace(curve=curve, drops=0, servers=[SimpleNamespace(dropped=[])])

    return {"all 4": run(3), "3 of 4": run(three)}, 1.0, 0


def speedup(two: float, four: float) -> tuple[Any, ...]:
    return {1: 1.0, 2: two, 4: four}, {1: 1.0}, {1: 1.0}, 2


PUBLISHED = {"mean": 4.0, "min": 0.0, "max": 9.0}
# What is asked: module, function, and for numbers as expected, for a tie and for the other way
# round, arguments and words.
COMPARED: dict[str, tuple[tuple[tuple[Any, ...], str], ...]] = {
    "start.figures.first_view: show_break_even": (
        (break_even(0.5, 1.6, 2.4), "0.50 times as quick with the least work and 1.60 times as"
         " quick with the most: splitting pays off only where"),
        (break_even(1.0, 1.6, 1.6), "about as quick with the least work and 1.60 times as quick"
         " with the most: splitting costs no time here"),
        (break_even(0.5, 0.8, 0.4), "0.80 times as quick with the most: splitting does not pay"),
    ),
    "start.figures.first_view: show_break_even, four ranks": (
        (break_even(0.5, 1.6, 2.4), "Four, 2.40 times as quick with the most, are ahead of two"),
        (break_even(0.5, 1.6, 1.6), "Four, 1.60 times as quick with the most, are level with two"),
        (break_even(0.5, 1.6, 0.8), "Four, 0.80 times as quick with the most, are behind two"),
    ),
    "messages.figures.link_view: show_message_speeds": (
        (speeds(1e-3), "64 bytes go 1,000 times as slowly as a large copy, for all"),
        (speeds(1e-6), "64 bytes go about as slowly as a large copy. 16.8"),
        (speeds(1e-9), "64 bytes go 1,000 times as quickly as a large copy. 16.8"),
    ),
    "data_parallel.figures.replicas: show_parts": (
        (([10, 0, 1], [6, 3, 1]), "take 60% of the time: each rank still goes through all weights"),
        (([10, 0, 1], [5, 3, 1]), "take 50% of the time: no more than half."),
        (([10, 0, 1], [4, 3, 1]), "take 40% of the time: even less than half."),
    ),
    "data_parallel.figures.replicas: show_pieces": (
        (([1, 64], [1e-3, 9e-3], lambda n: 1e-3, "4 MB"), "take 9 times as long as in one: every"),
        (([1, 64], [1e-3, 1e-3], lambda n: 1e-3, "4 MB"), "take about as long as in one: the la"),
        (([1, 64], [4e-3, 1e-3], lambda n: 1e-3, "4 MB"), "take 0.25 times as long as in one: th"),
    ),
    "frameworks.figures.frameworks_view: show_prepared": (
        (prepared(2.0, 0.6, 0.3, 1.0), "the loss still falls, and the two ranks hold different"
         " models to the end. Averaged twice, the ranks agree (no bar: no difference) and learn at"
         " half the rate."),
        (prepared(2.0, 2.0, 0.0, 0.5), "the loss does not fall, and the two ranks hold one model to"
         " the end. Averaged twice, the ranks agree (no bar: no difference) and learn at half the"
         " rate, though their loss ends as low here."),
        (prepared(2.0, 2.5, 0.0, 0.4), "half the rate, though their loss ends lower here."),
    ),
    "parameter_servers.figures.servers_view: show_throughput": (
        (throughput(0.2, 0.5, 1.0), "Gradients a second rise with the workers until the servers'"
         " links are full; from there on only more servers help."),
        (throughput(0.2, 0.5, 0.5), "links are full; more servers do not help here."),
        (throughput(0.5, 0.3, 0.4), "do not rise with the workers; more servers help."),
    ),
    "parameter_servers.figures.servers_view: show_staleness": (
        ((np.array([2, 4]), 4), "a gradient is about N − 1 updates late: while"),
        ((np.array([3, 3]), 4), "a gradient is about N − 1 updates late: while"),
        ((np.array([1, 2]), 4), "a gradient is 1.5 updates late on average, not N − 1 = 3."),
    ),
    "asynchronous.figures.staleness_view: show_staleness": (
        (late(4), "However the step times spread, 5 workers are about 4 updates late on average;"),
        (late(4), "the spread only makes the tails. Published"),
        (late(2), "Not all means lie at N − 1 = 4 updates: a 2.0, largest 2; b 2.0, largest 2"),
    ),
    "asynchronous.figures.staleness_view: show_real": (
        (real(3), "the mean is N − 1 here too but for start and end"),
        (real(2), "the mean is not N − 1 here with 4 workers. (The last"),
        (real(5), "the mean is not N − 1 here with 4 workers. (The last"),
    ),
    "search.figures.search_view: show_chosen": (
        (chosen(0.8, 0.93, 0.95), "more trials helps, and the 50 rows that choose say more than is"
         " true: with"),
        (chosen(0.93, 0.93, 0.93), "more trials brings nothing here, and the 50 rows that choose"
         " say no more than is true here"),
        (chosen(0.95, 0.93, 0.91), "more trials harms here, and the 50 rows that choose say no"),
    ),
    "spare_replicas.figures.timelines: show_real_steps": (
        (steps(9), "with 3 of 4 the others go on without it."),
        (steps(3), "with 3 of 4 there are as many updates here."),
        (steps(2), "with 3 of 4 there are fewer updates here."),
    ),
    "actors.figures.actors_view: show_speedup": (
        (speedup(1.8, 1.7), "on 2 cores here: 2 actors, 1.80 times as many as one."),
        (speedup(1.001, 0.9), "on 2 cores here: 2 actors, about as many as one."),
        (speedup(0.5, 0.4), "on 2 cores here: 1 actor; 2 actors play 0.50 times as many."),
    ),
}  # fmt: skip


@pytest.mark.parametrize("asked", COMPARED)
def test_words_follow_the_numbers(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, name = asked.partition(",")[0].split(": ")
    module = import_module(f"helpers.lessons.{where}")
    said: list[str] = []
    monkeypatch.setattr(module, "show", lambda figure, caption, alt: said.append(caption))
    if name == "show_real_steps":  # the picture needs whole traces
        monkeypatch.setattr(module, "draw_steps", lambda *_: None)
    show: Callable[..., None] = getattr(module, name)
    for arguments, words in COMPARED[asked]:
        show(*arguments)
        assert words in said[-1]


def test_a_ratio_in_words() -> None:
    assert [times_as(r, "quick", "slow") for r in (1.5, 1.004, 1.0, 0.996, 0.5)] == [
        "1.50 times as quick",
        *["about as quick"] * 3,
        "2.00 times as slow",
    ]
    assert times_as(0.5, "long") == "0.50 times as long"
    assert times_as(33_383.2, "slowly", "quickly", 0) == "33,383 times as slowly"


@pytest.mark.parametrize(
    ("mean", "words"),
    [(0.5, "0.5 points above the"), (0.01, "at the"), (-0.5, "0.5 points below the")],
)
def test_an_honest_estimate_lies_where_it_is_said_to_lie(mean: float, words: str) -> None:
    assert f"yours lies {words} share of all others" in honest_words(mean + np.array([-1.0, 1.0]))
