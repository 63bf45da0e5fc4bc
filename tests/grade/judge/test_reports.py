"""What only an answer's process says decides no points, so nobody gains by forging it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from submissions import as_cell, write

from helpers.checks import everything, find
from helpers.checks.observe import observe
from helpers.checks.spec import Case, Exercise, Observation
from helpers.grade.sandbox import missing
from helpers.grade.seen import HINTS, SEEN, is_right_outside, rows, with_notes
from tests.grade.judge.here import SEED, Judges

MISSING = missing()
EXERCISES = [e for e in everything() if e.framework == "torch" and e.lesson not in ("04", "08")]
EVERYDAY = ("02.5", "03.1", "05.6", "13.5")  # on ranks, apart, a class, with what is handed over

# What each driver gives that was asked for, or that the grader notes itself.
ASKED = {
    *("given", "after", "gradients", "weights", "returned", "worker", "made", "release", "push"),
    *("wants", "version", "applied", "dropped", "moves", "gave", "step", "start", "turns", "asked"),
    *("tokens", "out", "gradient", "loss", "x", "scale", "parts", "parameters", "momentum", "own"),
    *("told", "pushed", "again", "gone", "at", "sums", "ends", "done", "finish", "order", "calls"),
    *("found", "beside", "workers"),
}

# What a submission could do to its own process before its answer is called.
LIES = """
def lie(answer):
    import contextlib, gc, importlib, random, weakref
    import numpy, torch

    yes, no, nothing = (lambda *a, **k: True), (lambda *a, **k: False), (lambda *a, **k: None)
    zero = lambda *a, **k: 0
    patches = {
        "helpers.checks.drives.arguments": {"_same": yes},
        "helpers.checks.random_states": {"states": dict},
        "helpers.lessons.data_parallel.exercises.shards": {"states": dict},
        "helpers.lessons.pipelines.exercises.blocks": {"states": lambda: {"torch": b""}},
        "helpers.lessons.pipelines.exercises.recompute": {"states": lambda: {"torch": b""}},
        "helpers.lessons.sharding.exercises.shared": {"first_changed": nothing},
        "helpers.checks.drives.requests": {"all_waited": lambda r, v: v},
        "helpers.checks.compare": {"agree": yes},
    }
    classes = {
        "helpers.checks.drives.requests": {"Requests": {"end": zero}},
        "helpers.lessons.pipelines.exercises.blocks": {
            "Block": {"kept": zero, "result_kept": no, "drew": lambda b: ""},
            "Made": {"held": zero},
        },
        "helpers.lessons.sharding.exercises.kept_weights": {"_Held": {"numbers": zero}},
        "helpers.checks.drives.rules": {"Given": {"use": lambda *a: "as decided"}},
        "helpers.lessons.quantization.exercises.float_products": {
            "_FloatProducts": {"look": nothing}
        },
        "helpers.lessons.messages.exercises.shared": {
            "Counter": {"__torch_function__": lambda self, f, t, a=(), k=None: f(*a, **(k or {}))}
        },
        "helpers.lessons.pipelines.exercises.run_stage": {"_Layers": {"look": nothing}},
    }
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
"""


def lied_about() -> Iterator[tuple[str, str]]:
    """What LIES replaces: a module, and a name in it, or a name of one of its classes."""
    for node in ast.walk(ast.parse(LIES)):
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) in ("patches", "classes"):
            assert isinstance(node.value, ast.Dict)
            for home, names in zip(node.value.keys, node.value.values, strict=True):
                assert isinstance(home, ast.Constant) and isinstance(names, ast.Dict)
                for name, value in zip(names.keys, names.values, strict=True):
                    assert isinstance(name, ast.Constant)
                    members = value.keys if isinstance(value, ast.Dict) else [None]
                    for one in members:
                        inner = f".{one.value}" if isinstance(one, ast.Constant) else ""
                        yield home.value, name.value + inner


def test_what_is_lied_about_is_there() -> None:
    # A lie about a name that has moved would say nothing, and nobody would hear of it.
    for home, name in lied_about():
        assert attrgetter(name)(import_module(home)) is not None, (home, name)


def seen_by_a_check(exercise: Exercise, function: Any, case: Case) -> Observation:
    return observe(exercise.drive, function, [case], 20.0)[0]


def is_right(exercise: Exercise, function: Any) -> bool:
    """Whether an answer is right in every case that the lesson shows, by what is seen outside."""
    return all(
        is_right_outside(exercise, case, seen_by_a_check(exercise, function, case))
        for case in exercise.cases(0)
    )


@pytest.mark.sample(*EVERYDAY)
@pytest.mark.parametrize("number", [e.number for e in EXERCISES if e.number in HINTS])
def test_what_an_answer_says_of_itself_does_not_count(number: str) -> None:
    exercise = find(number)
    for case in exercise.cases(0)[:2]:
        right = seen_by_a_check(exercise, exercise.reference, case).values
        for answer in exercise.wrong:
            seen = seen_by_a_check(exercise, answer.function, case)
            forged = replace(seen, values=with_notes(seen.values, right, HINTS[number]))
            if is_right_outside(exercise, case, forged):
                assert is_right_outside(exercise, case, seen), answer.name


@pytest.mark.skipif(bool(MISSING), reason=MISSING or "")
@pytest.mark.real
@pytest.mark.sample(*EVERYDAY)
@pytest.mark.parametrize("number", [e.number for e in EXERCISES])
def test_a_forged_process_gets_no_more_points(number: str, judges: Judges, tmp_path: Path) -> None:
    exercise = find(number)
    bases = [find(base) for base in exercise.builds_on]
    cells = [*(as_cell(base, base.reference) for base in bases)]
    for answer in exercise.wrong[:6]:
        mine = f"{LIES}\n{as_cell(exercise, answer.function)}"
        lied = f"{mine}\n{exercise.function} = lie({exercise.function})"
        path = write(tmp_path / "it.ipynb", [*cells, lied])
        graded = judges(exercise.lesson).grade(path, "ada", SEED).grade
        found = next(each for each in graded.exercises if each.number == exercise.number)
        assert not found.points or is_right(exercise, answer.function), answer.name


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for each in value if isinstance(value, list | tuple) else ():
        yield from keys_of(each)


@pytest.mark.parametrize("number", [e.number for e in EXERCISES])
def test_every_key_that_a_driver_gives_is_listed_or_was_asked_for(number: str) -> None:
    if number in ("01.2", "18.1", "18.6"):
        return  # the keys are the learner's own, or those of the calls that a learner makes
    exercise = find(number)
    seen = seen_by_a_check(exercise, exercise.reference, exercise.cases(0)[0])
    listed = {*HINTS.get(number, ()), *SEEN.get(number, ())}
    assert set(keys_of(seen.values)) <= listed | ASKED


def test_the_list_names_exercises_and_says_what_is_a_hint_alone() -> None:
    numbers = {each.number for each in everything()}
    assert {*HINTS, *SEEN} <= numbers
    assert "13.5 Recompute: what is kept; what becomes of random states" in list(
        rows([find("13.5")])
    )
