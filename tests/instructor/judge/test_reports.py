"""What a driver says of an answer from inside: nothing of it decides points.

A learner's own check runs the driver beside the answer, and so may say whether an argument was
changed, what was kept, how often a layer ran. Where an answer is graded, its process could say all
that as the reference would. So each wrong answer is observed as in a check, and its reports are
replaced by those of the reference. If it would pass so, it is graded in the sandbox, with all that
reports replaced in its process (with --all, as it is, too): it gets no points, but for what the
guide lists.
TensorFlow's graphs: `test_reports_tensorflow`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from submissions import as_cell, write

from helpers.checks import everything, find, judging
from helpers.checks.observe import observe
from helpers.checks.spec import Case, Exercise, Observation, WrongAnswer
from helpers.instructor.sandbox import missing
from helpers.instructor.seen import REPORTS, listed
from tests.instructor.judge.here import Judges

MISSING = missing()
in_sandboxes = pytest.mark.skipif(bool(MISSING), reason=MISSING or "")
EXERCISES = [e for e in everything() if e.framework == "torch" and e.lesson not in ("04", "08")]
SEED = 5_071_993

# What each driver gives that was asked for; all else is in the guide's list.
ASKED = {
    *("given", "after", "gradients", "weights", "returned", "worker", "pushed", "made", "release"),
    *("push", "wants", "version", "applied", "dropped", "moves", "gave", "step", "start", "turns"),
    *("tokens", "out", "gradient", "told", "loss", "input", "x", "scale", "parts", "parameters"),
    *("momentum", "own", "again", "gone"),
}
EVERYDAY = {
    "02.5": "rank 0 alone",  # the driver is on a rank
    "03.1": "seeds the rank's own random state",  # each rank in a process of its own
    "13.4": "evaluates",  # it hands out modules
}


# What a submission could do to its own process before its answer is called.
LIES = """
def lie(answer):
    import contextlib, gc, importlib, random, sys, weakref
    import numpy, torch

    yes, no, nothing = (lambda *a, **k: True), (lambda *a, **k: False), (lambda *a, **k: None)
    zero = lambda *a, **k: 0
    patches = {
        "helpers.checks.drives.arguments": {"_same": yes, "agree": yes},
        "helpers.lessons.data_parallel.exercises.shards": {
            "states_there": zero,
            "seed_there": nothing,
        },
        "helpers.lessons.pipelines.exercises.blocks": {"states_there": lambda fn: {"torch": b""}},
        "helpers.lessons.pipelines.exercises.recompute": {
            "states_there": lambda fn: {"torch": b""}
        },
        "helpers.checks.random_states": {"here": dict, "seed_all": nothing},
        "helpers.lessons.sharding.exercises.shared": {
            "first_changed": nothing,
            "watched": lambda comm, call: (call(), 0, 0),
        },
        "helpers.checks.drives.requests": {
            "still_open": zero,
            "all_waited": lambda r, v: v,
            "changed": nothing,
            "returned": lambda v: v,
        },
        "helpers.checks.compare": {"agree": yes},
    }
    classes = {
        "helpers.checks.drives.requests": {"Requests": {"end": zero}},
        "helpers.lessons.pipelines.exercises.blocks": {
            "Block": {"kept": zero, "result_kept": no, "drew": lambda b: ""},
            "Made": {"held": zero},
        },
        "helpers.lessons.sharding.exercises.kept_weights": {"_Held": {"largest": zero}},
        "helpers.checks.drives.rules": {"Given": {"use": lambda *a: "as decided"}},
        "helpers.lessons.quantization.exercises.float_products": {
            "_FloatProducts": {"look": nothing}
        },
        "helpers.lessons.messages.exercises.shared": {
            "Counter": {"__torch_function__": lambda self, f, t, a=(), k=None: f(*a, **(k or {}))}
        },
        "helpers.lessons.pipelines.exercises.run_stage": {"_Layers": {"note": nothing}},
        "helpers.worker.remote_comm": {"RemoteComm": {"compute": nothing}},
        "helpers.worker.calls": {
            "Calls": {
                "do_collect": lambda self, message: ("return", None, []),
                "do_draw": draw,
                "do_seed": seed,
                "do_states": states,
            }
        },
    }
    global real_seed
    from helpers.checks.random_states import seed_all as real_seed

    for home, names in patches.items():
        with contextlib.suppress(Exception):
            module = importlib.import_module(home)
            for name, value in names.items():
                setattr(module, name, value)
    for home, known in classes.items():
        for name, members in known.items():
            with contextlib.suppress(Exception):
                cls = getattr(importlib.import_module(home), name)
                for member, value in members.items():
                    setattr(cls, member, value)
    torch.equal = numpy.array_equal = numpy.allclose = yes
    torch.isclose = lambda one, other, **k: torch.ones_like(one, dtype=torch.bool)
    torch.get_rng_state = random.getstate = zero
    weakref.ref = lambda held: nothing
    return answer


def seed(self, message):
    import torch
    from helpers.checks.random_states import seeded

    lie.states, lie.generator = seeded(message["seed"]), torch.Generator()
    lie.generator.manual_seed(message["seed"])
    real_seed(message["seed"])
    return "return", None, []


def draw(self, message):
    import torch

    torch.rand(message["shape"], generator=lie.generator)
    return "return", None, []


def states(self, message):
    return "return", self.handed.tell([state.hex() for state in lie.states.values()]), []
"""


def lied_about() -> Iterator[tuple[str, list[str]]]:
    """What LIES replaces: a module, and the way to a name in it."""
    for node in ast.walk(ast.parse(LIES)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("patches", "classes"):
            assert isinstance(node.value, ast.Dict)
            for home, names in zip(node.value.keys, node.value.values, strict=True):
                assert isinstance(home, ast.Constant) and isinstance(names, ast.Dict)
                for name, value in zip(names.keys, names.values, strict=True):
                    assert isinstance(name, ast.Constant)
                    members = value.keys if isinstance(value, ast.Dict) else [None]
                    for each in members:
                        way = [
                            name.value,
                            *([each.value] if isinstance(each, ast.Constant) else []),
                        ]
                        yield home.value, way


def test_what_is_lied_about_is_there() -> None:
    # A lie about a name that has moved would say nothing, and nobody would hear of it.
    for home, way in lied_about():
        assert attrgetter(".".join(way))(import_module(home)) is not None, (home, way)


def seen_by_a_check(exercise: Exercise, function: Any, case: Case) -> Observation:
    return observe(exercise.drive, function, [case], 20.0)[0]


def with_reports(value: Any, said: Any, reports: set[str]) -> Any:
    """A value with the reports of another one, where there are such in both."""
    if isinstance(value, dict) and not isinstance(said, dict) and "returned" in value:
        value = value["returned"]  # what was changed, or left open, was told around it
    if isinstance(value, dict) and isinstance(said, dict):
        return {
            k: said[k] if k in reports and k in said else with_reports(v, said.get(k), reports)
            for k, v in value.items()
        }
    if isinstance(value, list | tuple) and isinstance(said, list | tuple):
        more = [None] * (len(value) - len(said))
        pairs = zip(value, [*said, *more], strict=False)
        return type(value)(with_reports(v, s, reports) for v, s in pairs)
    return value


def lied(exercise: Exercise, case: Case, function: Any, reports: set[str]) -> bool:
    """Whether an answer would pass a case with the reports of the reference."""
    seen = seen_by_a_check(exercise, function, case)
    if seen.trouble:
        return False
    said = seen_by_a_check(exercise, exercise.reference, case).values
    values = with_reports(seen.values, said, reports)
    if exercise.number == "03.1":  # what comes last is no value either
        values[0] = [*values[0][:-1], said[0][-1]]
    return judging.judge(exercise, case, replace(seen, values=values)).status == "passed"


def would_pass(exercise: Exercise, function: Any, reports: set[str]) -> bool:
    """Whether it would pass every case that the lesson shows."""
    return all(lied(exercise, case, function, reports) for case in exercise.cases(0))


@pytest.mark.parametrize("number", EVERYDAY)
def test_what_everyday_grades_would_pass_by_its_reports(number: str) -> None:
    answer = known(number, EVERYDAY[number])
    assert would_pass(find(number), answer.function, set(REPORTS[number]))


def known(number: str, name: str) -> WrongAnswer:
    """A wrong answer by its name."""
    return next(each for each in find(number).wrong if each.name == name)


@in_sandboxes
@pytest.mark.real
@pytest.mark.parametrize("number", EVERYDAY)
def test_one_of_each_kind_gets_no_points_by_what_its_process_says(
    number: str, judges: Judges, tmp_path: Path
) -> None:
    grade_the_lie(find(number), known(number, EVERYDAY[number]), True, judges, tmp_path)


@in_sandboxes
@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.parametrize("exercise", EXERCISES, ids=lambda e: e.number)
def test_a_wrong_answer_gets_no_points_by_what_its_process_says(
    exercise: Exercise, judges: Judges, tmp_path: Path
) -> None:
    reports = set(REPORTS.get(exercise.number, ()))
    for answer in exercise.wrong:
        if would_pass(exercise, answer.function, reports):  # else it is wrong in what was asked for
            for lies in (False, True):
                grade_the_lie(exercise, answer, lies, judges, tmp_path)


def grade_the_lie(
    exercise: Exercise, answer: WrongAnswer, lies: bool, judges: Judges, folder: Path
) -> None:
    """Grade a wrong answer that would pass by its reports."""
    bases = [find(number) for number in exercise.builds_on]
    cells = [*(as_cell(base, base.reference) for base in bases)]
    mine, name = as_cell(exercise, answer.function), exercise.function
    path = folder / "it.ipynb"
    write(path, [*cells, f"{LIES}\n{mine}\n{name} = lie({name})" if lies else mine])
    graded = judges(exercise.lesson).grade(path, "ada", SEED).grade
    found = next(each for each in graded.exercises if each.number == exercise.number)
    if found.points:
        listed_ones = set(exercise.unseen)
        assert would_pass(exercise, answer.function, listed_ones), "the guide does not list it"
        # Who gets points made no mistake that has a name: the words alone are its own.
        assert lies or (answer.hint or longest_words(answer.says)) in found.hint, answer.name
    else:
        assert lies or found.outcome == "wrong", answer.name


def longest_words(says: str) -> str:
    """The longest part of what is said that holds no number of the case."""
    return max(re.split(r"\{\w+\}", says), key=len)


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for each in value.values():
            yield from keys_of(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from keys_of(each)


def test_every_key_that_a_driver_gives_is_a_report_or_was_asked_for() -> None:
    for exercise in EXERCISES:
        if exercise.number in ("01.2", "18.1", "18.6"):
            continue  # the keys are the learner's own, or those of the calls that a learner makes
        seen = seen_by_a_check(exercise, exercise.reference, exercise.cases(0)[0])
        reports = set(REPORTS.get(exercise.number, ()))
        assert set(keys_of(seen.values)) <= reports | ASKED, exercise.number
        assert set(exercise.unseen) <= reports, exercise.number


def test_the_guide_lists_what_is_seen_and_what_is_not() -> None:
    text = (Path(__file__).parents[3] / "docs" / "sandbox.md").read_text(encoding="utf-8")
    assert listed() in text, (
        "`python -m helpers.instructor.seen` prints the list that belongs there"
    )
