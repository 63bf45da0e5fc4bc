"""Wrong answers to exercise 15.4, and what is said."""

from __future__ import annotations

from typing import Any

import helpers

TOGETHER = [[1.0] * 3] * 3


def _run(count: Any, seconds: list[list[float]]) -> Any:
    return helpers.run(count, seconds, ranks=len(seconds), engine="virtual", show=False)


def never_fails(count: Any) -> None:
    assert callable(count)


def always_fails(count: Any) -> None:
    raise AssertionError("a race")


def real_processes(count: Any) -> None:
    assert list(helpers.run(count, TOGETHER, ranks=3, show=False)) == [9, 9, 9]


REAL_PROCESSES = (
    "your test gave `count` to real processes, the engine that `helpers.run` takes if none is "
    "named. They have no virtual clock, and a race shows there when it likes: add "
    '`engine="virtual"`.'
)


def one_rank(count: Any) -> None:
    assert list(_run(count, [[1.0] * 5])) == [5]


ONE_RANK = (
    "your test ran it on one rank, which nobody can come in between. Give it two or more: "
    '`helpers.run(count, seconds, ranks=3, engine="virtual")`.'
)


def lucky(count: Any) -> None:
    seconds = [[1.0, 1.3, 0.9], [1.13, 0.71, 1.2], [0.85, 1.7, 0.6]]
    assert list(_run(count, seconds)) == [9, 9, 9]


LUCKY = (
    "with the ranks and seconds of your test no step was lost: all {steps} were counted, and there "
    "was nothing to see. What lies between reading and writing may take 1 ms alone. Let several "
    "ranks come there at the same moment: give all steps the same length."
)


def among_ranks(count: Any) -> None:
    assert len(set(_run(count, TOGETHER))) == 1


AMONG_RANKS = (
    "{ranks} ranks took {steps} steps, {gave} were counted, and your test passed. You know how "
    "many steps you asked for, over all ranks: compare with that."
)


def returns(count: Any) -> bool:
    return list(_run(count, TOGETHER)) == [9, 9, 9]


def swallows(count: Any) -> None:
    try:
        assert list(_run(count, TOGETHER)) == [9, 9, 9]
    except AssertionError as error:
        str(error)


def in_time(count: Any) -> None:
    counted = _run(count, TOGETHER)
    assert list(counted) == [9, 9, 9]
    assert max(counted.stats.seconds) < 3.001


IN_TIME = (
    "all {steps} steps were counted ({gave}), and your test failed{at} ({said}). Ask for nothing "
    "but the count: sound code may wait for a lock, or send messages, and takes longer then."
)


def own_steps(count: Any) -> None:
    assert list(_run(count, TOGETHER)) == [3, 3, 3]


OWN_STEPS = (
    "all {steps} steps were counted, and your test failed{at} ({said}). `helpers.run` gives a "
    "list, with the count of all ranks' steps for each rank: {wanted}. Compare with that."
)


def too_few_rows(count: Any) -> None:
    counted = helpers.run(count, [[1.0] * 3], ranks=3, engine="virtual", show=False)
    assert list(counted) == [9, 9, 9]


TOO_FEW_ROWS = (
    "your test broke off{at} ({said}). `seconds` has a row for each rank, and a number for "
    "each of its steps, such as `[[1.0] * 4] * 3` for three ranks of four steps."
)
