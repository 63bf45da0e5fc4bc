"""Exercise 03.5 takes nobody's word for when a sum began: the trace decides."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

from helpers.checks import find
from helpers.checks.judging import judge
from helpers.checks.observe import observe
from helpers.checks.spec import Observation, first_said

EXERCISE = find("03.5")
AFTER_BACKWARD = next(w for w in EXERCISE.wrong if w.name == "after backward")


def test_an_answer_that_lies_about_its_sums_and_its_clock_is_refused() -> None:
    cases = [case for case in EXERCISE.cases(0) if case.ranks > 1]
    honest = observe(EXERCISE.drive, EXERCISE.reference, cases)
    late = observe(EXERCISE.drive, AFTER_BACKWARD.function, cases)
    for case, right, wrong in zip(cases, honest, late, strict=True):
        assert first_said(EXERCISE.claim, case, right) is None
        forged: Observation = copy.deepcopy(wrong)
        for mine, said in zip(forged.values, right.values, strict=True):
            mine.update({key: said[key] for key in ("sums", "ends", "done")})
        assert first_said(EXERCISE.claim, case, forged) is not None


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

    case = EXERCISE.cases(0)[0]
    (seen,) = observe(EXERCISE.drive, overlap, [case])
    hint = judge(EXERCISE, case, seen).hint
    assert "on the rank's own thread" in hint and "backward" not in hint


def test_a_list_that_holds_earlier_sums_is_seen_and_one_that_lasts_is_not() -> None:
    case = EXERCISE.cases(0)[0]
    for name, keeps in (("clears nothing", 1), ("flat in float32", 0)):
        answer = next(w.function for w in EXERCISE.wrong if w.name == name)
        (seen,) = observe(EXERCISE.drive, answer, [case])
        assert [value["kept"] for value in seen.values] == [keeps] * case.ranks
