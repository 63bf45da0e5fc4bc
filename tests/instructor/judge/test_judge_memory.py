"""What an answer keeps is seen from outside: in lists, in other processes, in files, in one place.

Each exercise's large hidden case is run by itself, which is where it shows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from submissions import as_cell, write
from torch import nn

from helpers.checks import find, judging
from helpers.checks.drives.values import Remote
from helpers.checks.spec import Case, Exercise, Observation
from helpers.instructor.judge import Judge
from helpers.instructor.judge.budgets import BUDGETS, Clock
from helpers.instructor.judge.calls import observe
from helpers.instructor.judge.notebook import code_cells
from helpers.instructor.judge.session import Session
from helpers.instructor.sandbox import missing
from helpers.lessons.data_parallel.exercises.hooks import _Steps
from tests.lessons.asynchronous import right_answers_06
from tests.lessons.pipelines import right_answers_13
from tests.lessons.sharding import right_answers_14_sharding

MISSING = missing()
in_sandboxes = pytest.mark.skipif(bool(MISSING), reason=MISSING or "")

KEEPS = {
    "03.5": ("clears nothing",),
    "13.5": ("keeps a copy of the output",),
    "14.6": ("gathers and keeps", "holds it, and gathers", "a view", "keeps in backward"),
    "06.5": ("a copy a version",),
}
MISTAKES = {
    "clears nothing": "keeps what it started",
    "keeps a copy of the output": "keeps a copy of the output",
    "gathers and keeps": "keeps the weight",
    "holds it, and gathers": "keeps the weight",
    "a view": "keeps the gradient",
    "keeps in backward": "keeps the gradient",
    "a copy a version": "a copy a version",
}
# torch's own checkpoint loads a compiler for ten seconds first, in each rank's process.
SLOW = "linear_with_a_checkpoint"
RIGHT = [
    (number, function)
    for number, function in (
        *((number, find(number).reference) for number in KEEPS),
        *right_answers_06.RIGHT,
        *right_answers_13.RIGHT,
        *right_answers_14_sharding.OF_SHARDING,
    )
    if number in KEEPS and function.__name__ != SLOW
]
OWN = """
import os
import torch

class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, fn):
        ctx.fn = fn
        ctx.save_for_backward(x)
        out = fn(x)
        keep(ctx, out)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        with torch.enable_grad():
            ctx.fn(x).backward(gradient)
        return x.grad, None

def recompute(fn, x):
    return Own.apply(x, fn)
"""
# The bodies of `keep(ctx, out)`.
HIDDEN = {
    "one place": "ctx.fn.__dict__['last'] = out.clone()",
    "single precision": "ctx.half = out.float()",
    "a file without a name": """
    ctx.file = open('/tmp/kept', 'wb')
    os.unlink('/tmp/kept')
    ctx.file.write(out.numpy().tobytes())
    ctx.file.flush()""",
    "shared memory": "ctx.shared = out.clone().share_memory_()",
    "another process": """
    kept = out.clone()
    if os.fork() == 0:
        import time
        time.sleep(60)
        os._exit(0)""",
}


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    """Sandboxes that hold what these lessons' answers use."""
    with Judge("99", slot=54) as made:
        yield made


def large(exercise: Exercise) -> Case:
    """The hidden case of which the most numbers are handed over."""
    size = {
        "03.5": lambda case: sum(weight.size for weight in case.args[0][0]),
        "13.5": lambda case: case.args[0][2].size,
        "06.5": lambda case: case.args[0][0].size,
    }
    found = size.get(exercise.number, lambda case: case.facts["elements"])
    return max(exercise.cases(2**62 + 11), key=found)


def seen(judge: Judge, folder: Path, exercise: Exercise, source: str) -> tuple[Case, Observation]:
    path = write(folder / "it.ipynb", [source])
    session = Session(judge.sandboxes, code_cells(path), [exercise.function], BUDGETS)
    try:
        case = large(exercise)
        return case, observe(exercise, case, session, Clock(BUDGETS))
    finally:
        session.close()


@in_sandboxes
@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "function"), RIGHT, ids=[f"{number}-{f.__name__}" for number, f in RIGHT]
)
def test_a_right_answer_holds_no_more_than_it_may(
    judge: Judge, tmp_path: Path, number: str, function: Callable[..., Any]
) -> None:
    exercise = find(number)
    case, found = seen(judge, tmp_path, exercise, as_cell(exercise, function))
    assert judging.judge(exercise, case, found).status == "passed", found
    looked = found.values[0][-1] if number == "06.5" else found.values[0]
    keys = {"03.5": ["kept"], "13.5": ["copies"], "14.6": ["held", "after"], "06.5": ["held"]}
    assert all(looked[key] is not None for key in keys[number])


@in_sandboxes
@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.parametrize(
    ("number", "name"), [(number, name) for number, names in KEEPS.items() for name in names]
)
def test_an_answer_that_keeps_more_gets_no_points(
    judge: Judge, tmp_path: Path, number: str, name: str
) -> None:
    exercise = find(number)
    function = next(each.function for each in exercise.wrong if each.name == name)
    case, found = seen(judge, tmp_path, exercise, as_cell(exercise, function))
    verdict = judging.judge(exercise, case, found)
    assert (verdict.status, verdict.mistake) == ("wrong", MISTAKES[name])


@in_sandboxes
@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.parametrize("name", HIDDEN)
def test_a_copy_is_seen_wherever_it_lies(judge: Judge, tmp_path: Path, name: str) -> None:
    exercise = find("13.5")
    keep = f"\ndef keep(ctx, out):\n    {HIDDEN[name].strip()}\n"
    case, found = seen(judge, tmp_path, exercise, OWN + keep)
    verdict = judging.judge(exercise, case, found)
    assert (verdict.status, verdict.mistake) == ("wrong", "keeps a copy of the output")


@in_sandboxes
@pytest.mark.real
def test_a_copy_is_seen_and_the_same_without_it_is_right(judge: Judge, tmp_path: Path) -> None:
    exercise = find("13.5")
    for keep, status in (("pass", "passed"), (HIDDEN["one place"], "wrong")):
        source = f"{OWN}\ndef keep(ctx, out):\n    {keep}\n"
        case, found = seen(judge, tmp_path, exercise, source)
        assert judging.judge(exercise, case, found).status == status


@in_sandboxes
@pytest.mark.real
@pytest.mark.thorough
def test_a_hidden_case_is_told_by_what_the_lesson_shows(tmp_path: Path) -> None:
    exercise = find("13.5")
    wrong = next(each for each in exercise.wrong if each.name == "keeps a copy of the output")
    path = write(tmp_path / "it.ipynb", [as_cell(exercise, wrong.function)])
    with Judge("13", slot=55) as judge:
        graded = judge.grade(path, "ada", 2**62 + 11).grade
    found = next(each for each in graded.exercises if each.number == "13.5")
    assert (found.points, found.mistake) == (0, "keeps a copy of the output")
    assert "a copy of the output counts too" in found.hint and "large output" not in found.hint


@pytest.mark.parametrize(("more", "kept"), [(None, None), (-4096, 0), (90_000, 0), (660_000, 5)])
def test_what_comes_and_goes_is_not_a_step_that_is_kept(more: int | None, kept: int | None) -> None:
    class Elsewhere(Remote):
        def memory(self) -> int | None:
            return next(answers)

    answers = iter([None if more is None else 10**8, None if more is None else 10**8 + more])
    steps = _Steps(Elsewhere.__new__(Elsewhere), [nn.Parameter(torch.zeros(32_500))], 7)
    steps.end(1)
    assert steps.kept() == {"kept": kept, "grows": None}
