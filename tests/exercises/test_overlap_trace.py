"""Exercise 03.5 takes nobody's word for when a sum began: the trace decides."""

from __future__ import annotations

import copy

from helpers.exercises import find
from helpers.exercises.observe import observe
from helpers.exercises.spec import Observation

EXERCISE = find("03.5")
AFTER_BACKWARD = next(w for w in EXERCISE.wrong if w.name == "after backward")


def test_an_answer_that_lies_about_its_sums_and_its_clock_is_refused() -> None:
    for seed in (0, 5):
        cases = [case for case in EXERCISE.cases(seed) if case.ranks > 1]
        honest = observe(EXERCISE.drive, EXERCISE.reference, cases)
        late = observe(EXERCISE.drive, AFTER_BACKWARD.function, cases)
        for case, right, wrong in zip(cases, honest, late, strict=True):
            assert EXERCISE.claim(case, right) is None
            forged: Observation = copy.deepcopy(wrong)
            for mine, said in zip(forged.values, right.values, strict=True):
                mine.update({key: said[key] for key in ("sums", "ends", "done")})
            assert EXERCISE.claim(case, forged) is not None
