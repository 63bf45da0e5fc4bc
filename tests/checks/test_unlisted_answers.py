"""Answers that no spec lists: what is said of them is so, no claim of theirs is believed."""

from __future__ import annotations

import copy
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from helpers.checks import find
from helpers.checks.compare import told_apart
from helpers.checks.drives.rules import Heavier, PlainSgd, Soft
from helpers.checks.judging import judge, judge_all
from helpers.checks.observe import observe
from helpers.checks.spec import Case, Observation, first_said
from helpers.engine.servers.rule import Decision, Rule
from helpers.grade.seen import is_right_outside
from helpers.lessons.four_ways.exercises import meeting
from helpers.lessons.parameter_servers.algorithms.update_rules import BoundedStaleness, SoftSync
from tests.checks.table import verdict

OVERLAP, THREADS = find("03.5"), find("08.3")


def wrong(number: str, name: str) -> Any:
    """A known wrong answer."""
    return next(answer.function for answer in find(number).wrong if answer.name == name)


# --- float32 on the way: right to seven digits, so "not the right values" would help nobody -------


def rounded(tensor: Any) -> Any:
    """A tensor whose numbers were float32 for a moment."""
    return tensor.float().to(tensor.dtype)


class Sending:
    """A comm whose messages are rounded."""

    def __init__(self, comm: Any) -> None:
        self.comm = comm

    def __getattr__(self, name: str) -> Any:
        return getattr(self.comm, name)

    def isend(self, tensor: Any, to: int) -> Any:
        """As the comm's own."""
        return self.comm.isend(rounded(tensor.detach()), to)


def of(number: str, make: Callable[..., Any]) -> tuple[str, Callable[..., Any]]:
    """An exercise, and an answer made of the right one."""
    right = find(number).reference
    return number, lambda *args: make(right, *args)


def both(right: Any, *args: Any) -> Any:
    """With both of what it returns rounded."""
    return tuple(map(rounded, right(*args)))


def gradient_first(right: Any, comm: Any, parameters: Any, gradient: Any, *rest: Any) -> Any:
    """With another gradient to begin with."""
    return right(comm, parameters, rounded(gradient), *rest)


def last_alone(right: Any, *args: Any) -> Any:
    """With rounded outputs, where there are any."""
    out = right(*args)
    return None if out is None else rounded(out)


ANSWERS = [
    of("12.2", both),
    of("12.4", last_alone),
    of("12.5", last_alone),
    of("13.4", lambda right, comm, *rest: right(Sending(comm), *rest)),
    of("14.1", lambda right, *args: rounded(right(*args))),
    of("14.2", lambda right, comm: (lambda f, g: (f, lambda x: g(rounded(x))))(*right(comm))),
    of("14.3", both),
    of("14.5", gradient_first),
    of("14.6", lambda right, comm, x, own, shape: right(comm, rounded(x), rounded(own), shape)),
]


def test_float32_is_named() -> None:
    for number, answer in ANSWERS:
        result = verdict(find(number), answer)
        assert result.status == "wrong" and "float32" in result.hint, (number, result.hint)


def test_numbers_have_as_many_digits_as_tell_them_apart() -> None:
    assert told_apart(0.2, -0.32) == ("0.2", "-0.32")
    assert told_apart(3.892941371, 3.892941368) == ("3.892941371", "3.892941368")
    assert told_apart(1234567.0, 1234568.0) == ("1234567", "1234568")
    assert told_apart(2.0, 2.0)[0] == "2.0000000000000000"


# --- 01.3: of an order with a branch twice, which it is -------------------------------------------


@pytest.mark.parametrize(
    ("order", "said"),
    [([0, 1, 1], "number 1 stands there 2 times"), ([2, 0, 2], "number 2 stands there 2 times")],
)
def test_of_an_order_with_a_branch_twice_which_it_is(order: list[int], said: str) -> None:
    exercise = find("01.3")
    index = next(answer for answer in exercise.wrong if callable(answer.says))
    branches = [(8, 1), (4, 2), (4, 2)]
    case = Case("For three branches", ((branches,),), facts={"best": 1})
    assert callable(index.says)
    assert said in (index.says(case, Observation(values=[order])) or "")


# --- 03.5: nobody's word is taken for when a sum began; the trace decides -------------------------


def test_an_answer_that_lies_about_its_sums_and_its_clock_is_refused() -> None:
    cases = [case for case in OVERLAP.cases(0) if case.ranks > 1]
    honest = observe(OVERLAP.drive, OVERLAP.reference, cases)
    late = observe(OVERLAP.drive, wrong("03.5", "after backward"), cases)
    for case, right, behind in zip(cases, honest, late, strict=True):
        assert first_said(OVERLAP.claim, case, right) is None
        forged: Observation = copy.deepcopy(behind)
        for mine, said in zip(forged.values, right.values, strict=True):
            mine.update({key: said[key] for key in ("sums", "ends", "done")})
        assert first_said(OVERLAP.claim, case, forged) is not None


def test_who_sums_in_finish_is_not_told_of_a_backward_that_waited() -> None:
    def overlap(comm: Any, buckets: Any, reduce: Any) -> Callable[[], None]:
        def finish() -> None:
            for bucket in buckets:
                flat = torch.cat([p.grad.flatten() for p in bucket])
                reduce(comm, flat)
                for parameter, part in zip(
                    bucket, flat.split([p.numel() for p in bucket]), strict=True
                ):
                    parameter.grad = (part / comm.size).view_as(parameter)

        return finish

    case = OVERLAP.cases(0)[0]
    (seen,) = observe(OVERLAP.drive, overlap, [case])
    hint = judge(OVERLAP, case, seen).hint
    assert "on the rank's own thread" in hint and "backward" not in hint


def test_a_list_that_holds_earlier_sums_is_seen_and_one_that_lasts_is_not() -> None:
    case = OVERLAP.cases(0)[0]
    for name, keeps in (("clears nothing", 1), ("flat in float32", 0)):
        (seen,) = observe(OVERLAP.drive, wrong("03.5", name), [case])
        assert [value["kept"] for value in seen.values] == [keeps] * case.ranks


# --- 06.1 and cures: what stands around a cure is the library's, and the library is no answer -----


def driven(rule: Rule, order: list[int]) -> list[tuple[Decision, list[float]]]:
    """What a rule decides, and its weights, at each arrival of gradients of fixed size."""
    pulled = {worker: rule.pull(worker) for worker in rule.start()}
    found = []
    for number, worker in enumerate(order):
        weights, version = pulled[worker]
        gradient = weights - torch.arange(3.0, dtype=torch.float64) * (1 + number)
        decision = rule.arrive(worker, gradient, version)
        pulled |= {each: rule.pull(each) for each in decision.release}
        found.append((decision, rule.weights.tolist()))
    return found


@pytest.mark.parametrize("order", [[0, 1, 2, 3, 0, 0, 1, 3], [2, 2, 2, 0, 1, 1, 3, 0, 2]])
def test_the_softsync_that_cures_are_tried_around_is_the_librarys(order: list[int]) -> None:
    start = torch.zeros(3, dtype=torch.float64)
    given = driven(Soft(start, PlainSgd(0.25 / 4), 4), order)
    library = driven(SoftSync(start, PlainSgd(0.25), 4, splits=2), order)
    assert [decision for decision, _ in given] == [decision for decision, _ in library]
    for (_, mine), (_, theirs) in zip(given, library, strict=True):
        assert mine == pytest.approx(theirs, rel=1e-12)


def test_the_cure_around_a_cure_keeps_the_very_tensor_that_it_hands_on() -> None:
    start = torch.zeros(3, dtype=torch.float64)
    cure = Heavier(SoftSync(start, PlainSgd(0.25), 2, splits=2))
    first, second = torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.float64)
    cure.arrive(0, first, 0)
    assert cure.last is first
    cure.arrive(1, second, 0)
    assert cure.last is not None and cure.last.tolist() == [1.5] * 3


class FromSoftSync(SoftSync):
    """Lesson 05's rule under another name."""

    def __init__(self, weights: Any, optimizer: Any, workers: int) -> None:
        super().__init__(weights, optimizer, workers, splits=workers)


@pytest.mark.parametrize(
    ("answer", "whose"),
    [
        (FromSoftSync, "SoftSync"),
        (lambda weights, sgd, n: SoftSync(weights, sgd, n, splits=n), "SoftSync"),
        (lambda weights, sgd, n: BoundedStaleness(weights, sgd, n, 10**9), "BoundedStaleness"),
    ],
)
def test_a_rule_of_the_courses_that_does_the_same_is_no_answer(answer: Any, whose: str) -> None:
    exercise = find("06.1")
    cases = exercise.cases(0)
    verdict = judge_all(exercise, cases, observe(exercise.drive, answer, cases))
    assert verdict.status == "wrong" and f"it is the `arrive` of `{whose}`" in verdict.hint


# --- 08.3: whoever returns while threads go on is found, however quick these are ------------------


def run_in_threads(fn: Any) -> dict[str, Any]:
    found: dict[str, Any] = meeting.thread_runs(fn, Case("three ops", ((3, 9),))).values[0]
    return found


def returns_late(session: Any, updates: Any, step: Any, last: int) -> None:
    """Waits for nobody, and gets the processor back when all that there is to run was run."""
    wrong("08.3", "threads go on")(session, updates, step, last)
    while session.run(step) < last:
        time.sleep(0.001)


def test_threads_are_seen_to_go_on_where_all_is_run_before_the_function_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = {*threading.enumerate()}
    told = run_in_threads(THREADS.reference)
    assert told["open"] == 0 and told["runs"] == [3, 3, 3] and told["alone"] == 0
    monkeypatch.setattr(meeting, "_RETURN", 100)
    told = run_in_threads(returns_late)
    assert told["open"] == 3 and told["runs"] == [3, 3, 3] and told["alone"] == 0
    for thread in {*threading.enumerate()} - before:
        thread.join()  # the session is closed, so each comes to its end


@pytest.mark.parametrize("number", ["02.1", "02.2", "02.3", "10.1", "14.5", "14.7"])
def test_numbers_go_in_messages_alone(number: str) -> None:
    """Memory that ranks share would carry them where no byte is counted."""
    exercise = find(number)

    def answer(comm: Any, *args: Any) -> Any:
        comm.shared((4,))
        return exercise.reference(comm, *args)

    found = verdict(exercise, answer)
    assert found.status == "wrong" and "there is no `comm.shared` in it" in found.hint


def test_a_changed_argument_is_told_and_costs_nothing() -> None:
    exercise = find("02.4")
    case = exercise.cases(0)[0]

    def answer(sizes: list[int], seconds: list[float]) -> Any:
        found = exercise.reference(sizes, seconds)
        sizes.clear()
        return found

    (seen,) = observe(exercise.drive, answer, [case])
    assert "your function changed its first argument" in judge(exercise, case, seen).hint
    assert is_right_outside(exercise, case, seen)
    assert judge(exercise, case, replace(seen, written=None)).status == "passed"
