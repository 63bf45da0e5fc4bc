"""Reports of the drivers of lessons 01, 04 and 08 that a submission gives for itself earn nothing.

Each submission holds known wrong answers and what the reference's drivers report on the cases that
the lesson shows; before it is called it puts that in the place of the drivers in its own process.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from submissions import as_cell, write

from helpers.checks import of_lesson
from helpers.checks.spec import Exercise
from helpers.instructor.drivers import driver_name
from helpers.instructor.grades import ExerciseGrade
from helpers.instructor.judge import Judge
from helpers.instructor.judge.budgets import BUDGETS, Clock
from helpers.instructor.judge.calls import observe
from helpers.instructor.judge.session import Session
from helpers.instructor.sandbox import missing
from helpers.rooms import rooms
from helpers.worker.encoding import encode
from tests.instructor.judge.here import Judges

MISSING = missing()
pytestmark = [
    pytest.mark.real,
    pytest.mark.tensorflow,
    pytest.mark.skipif(bool(MISSING), reason=MISSING or ""),
]
SEED = 5_620_117_320_044_871
# For each exercise the wrong answers that such reports would hide best.
WRONG = {
    "01.4": ("waits for the reading alone", "no order"),
    "01.5": ("another container", "no variable, but its value"),
    "04.1": ("no broadcast", "averages by hand"),
    "04.2": ("no optimizer state", "no update"),
    "04.3": ("applies its own alone", "mean of the means"),
    "04.4": ("every rank counts the same", "own value"),
    "04.5": ("loads often", "no optimizer state"),
    "08.1": ("all on one device", "averages on a worker"),
    "08.2": ("one after the other", "all on one device"),
    "08.3": ("threads go on", "waits for the slow one"),
    "08.4": ("after at any time", "no container"),
    "08.5": ("tokens at the start", "loss outside"),
}
REPORTS = """
import importlib, json
from helpers.worker.encoding import decode
for home, cases in json.loads({told!r}).items():
    home, name = home.split(":")
    module = importlib.import_module(home)
    drive, seen, told = getattr(module, name), decode(cases), []

    def observation(values):
        from helpers.checks.spec import Observation
        return Observation(values=values)

    def as_reported(*args, seen=seen, told=told, **options):
        told.append(1)
        return observation(seen[(len(told) - 1) % len(seen)])

    def on_rank(fn, comm, *args, seen=seen):
        return seen[0][comm.rank % len(seen[0])]

    def with_reports(build, seen=seen, told=told):
        def built(fn, case):
            found = build(fn, case)
            value, right = found.values[0], seen[len(told) % len(seen)][0]
            told.append(1)
            value.update((k, right[k]) for k in ("kind", "kinds") if k in right and k in value)
            for mine, other in zip(value.get("clients", ()), right.get("clients", ())):
                mine.update((k, other[k]) for k in ("kinds", "hooked") if k in other)
            return found
        return built

    for attribute in ("_look", "look"):
        if hasattr(drive, attribute):
            setattr(drive, attribute, as_reported)
    if hasattr(drive, "build"):
        drive.build = with_reports(drive.build)
    elif hasattr(drive, "on_rank"):
        drive.call = drive.on_rank = on_rank
    elif hasattr(drive, "call"):
        drive.call = as_reported
    else:  # a function that reports beside what was asked for
        def beside(fn, case, drive=drive, seen=seen, told=told):
            found, right = drive(fn, case), as_reported(seen=seen, told=told)
            if not found.trouble:
                found.values[0].update(weights=right.values[0]["weights"], reduced=0)
            return found
        setattr(module, name, beside)
"""
# What such reports come through, by lesson: a sandbox has that of its own lesson alone.
HOMES = [
    "helpers.checks.drives.tf_given",
    *(f"{rooms()['01']}.exercises.{name}" for name in ("found", "logged", "step")),
    *(f"{rooms()['04']}.exercises.{name}" for name in ("prepare", "replica", "replicas")),
    *(f"{rooms()['04']}.exercises.{name}" for name in ("resume", "tape")),
    *(f"{rooms()['08']}.exercises.{name}" for name in ("between_async", "between_sync")),
    *(f"{rooms()['08']}.exercises.{name}" for name in ("graphs", "meeting")),
]
PATCHES = (
    f"HOMES = {HOMES}"
    + '''
import contextlib, importlib
from helpers.worker import remote_session

for home in HOMES:
    with contextlib.suppress(ImportError):
        module = importlib.import_module(home)
        for name, value in list(vars(module).items()):
            if name in ("named", "rows_are", "definition_of", "nodes_in", "_may_be", "copies"):
                setattr(module, name, lambda *args, **options: None)
            if name == "Rendezvous":
                value.alone = value.looks = 0
run = remote_session.RemoteSession.run

def at_once(self, fetches, *args, **options):
    """Does not wait for the end of an update."""
    import threading
    if fetches == "step":
        return run(self, fetches)
    threading.Thread(target=run, args=(self, fetches)).start()

remote_session.RemoteSession.run = at_once
'''
)


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    """The reports of the references, by lesson, once they were asked for."""
    return {}


def exercises(lesson: str) -> list[Exercise]:
    return [each for each in of_lesson(lesson) if each.number in WRONG]


def grades(judge: Judge, folder: Path, cells: list[str]) -> dict[str, ExerciseGrade]:
    found = judge.grade(write(folder / "it.ipynb", cells), "ada", SEED).grade
    return {each.number: each for each in found.exercises}


def with_all(attack: str, *functions: str) -> str:
    """A cell that runs an attack, once, since what these functions are comes of it."""
    lines = [f"{name} = after_the_attack({name})" for name in functions]
    once = "done = []\n\ndef after_the_attack(answer):\n    if not done:\n        attack()\n"
    once += "        done.append(1)\n    return answer\n"
    return f"def attack():\n{indent(attack, '    ')}\n{once}\n" + "\n".join(lines)


def reported(judge: Judge) -> dict[str, Any]:
    """What is reported of the references on the cases that the lesson shows, by driver."""
    mine, found = exercises(judge.lesson), dict[str, Any]()
    cells = [as_cell(each, each.reference) for each in mine]
    session = Session(judge.sandboxes, cells, [each.function for each in mine], BUDGETS)
    for each in mine:
        clock = Clock(BUDGETS)
        seen = [observe(each, case, session, clock, inside=True) for case in each.cases(0)[:2]]
        assert not any(one.trouble for one in seen)
        found[driver_name(each.drive)] = encode([one.values for one in seen])
    session.close()
    return found


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("lesson", "n"),
    [(lesson, n) for lesson in ("01", "04", "08") for n in (0, 1)],
)
def test_what_the_reference_reports_earns_nothing(
    judges: Judges, told: dict[str, Any], tmp_path: Path, lesson: str, n: int
) -> None:
    cells = []
    for home in HOMES:
        import_module(home)  # else nothing would be put in its place
    if lesson not in told:
        told[lesson] = reported(judges(lesson))
    for each in exercises(lesson):
        wrong = next(w for w in each.wrong if w.name == WRONG[each.number][n])
        cells.append(as_cell(each, wrong.function))
    attack = REPORTS.replace("{told!r}", repr(json.dumps(told[lesson]))) + PATCHES * n
    functions = [each.function for each in exercises(lesson)]
    found = grades(judges(lesson), tmp_path, [*cells, with_all(attack, *functions)])
    for each in exercises(lesson):
        assert found[each.number].points == 0, found[each.number]
        outcomes = ("wrong", "error", "crashed", "time-out") if n else ("wrong",)
        assert found[each.number].outcome in outcomes, found[each.number]
        assert found[each.number].mistake != "exception in its cell", found[each.number]


RIGHT = """
def log_then_assign(weight, value, log):
    import tensorflow as tf
    with tf.control_dependencies([log(weight.read_value())]):
        return weight.assign({value})
"""
# What is put in the place of the value, and what the hint says of it.
STRANGE = {
    "tf.py_function(lambda one: one, [value], tf.float32)": "an op `EagerPyFunc`",
    "tf.numpy_function(lambda one: one, [value], tf.float32)": "an op `PyFunc`",
    "value + 0 * tf.strings.to_number(tf.io.read_file('/tmp/it'))": "an op `ReadFile`",
    "tf.function(lambda: [tf.io.write_file('/tmp/it', 'x'), value][1])()": "an op `WriteFile`",
    "value + tf.constant(__import__('numpy').random.rand(2**20 + 1).astype('f'))[0]": "bytes",
}


@pytest.mark.thorough
@pytest.mark.parametrize("value", STRANGE)
def test_a_graph_is_run_alone_and_does_nothing_else(
    judges: Judges, tmp_path: Path, value: str
) -> None:
    grade = grades(judges("01"), tmp_path, [RIGHT.replace("{value}", value)])["01.4"]
    assert grade.points == 0
    assert STRANGE[value] in grade.hint


NAMES = """
from helpers.lessons.devices.exercises import logged
build = logged.logs_and_assigns.build

def built(fn, case):
    found = build(fn, case)
    found.values[0].update({told})
    return found

logged.logs_and_assigns.build = built
"""
TOLD = {
    "run='it'": "there is no 'it' in the graph",
    "graph=found.values[0]['graph'][:-7]": "is no graph",
    "graph='it'": "is no graph",
    "run=found.values[0]['graph']": "there is no",
}


@pytest.mark.thorough
@pytest.mark.parametrize("told", TOLD)
def test_what_is_told_of_a_graph_has_to_be_in_it(judges: Judges, tmp_path: Path, told: str) -> None:
    attack = with_all(NAMES.replace("{told}", told), "log_then_assign")
    cells = [RIGHT.replace("{value}", "value"), attack]
    grade = grades(judges("01"), tmp_path, cells)["01.4"]
    assert grade.points == 0
    assert TOLD[told] in grade.hint


@pytest.mark.thorough
def test_an_order_within_a_function_is_seen(judges: Judges, tmp_path: Path) -> None:
    """An assignment that is hidden in a function of the graph has to wait for the log, too."""
    hidden = """
    def log_then_assign(weight, value, log):
        import tensorflow as tf
        old = weight.read_value()

        @tf.function(autograph=False)
        def assign(value):
            weight.assign(value)
            return value

        with tf.control_dependencies([old{more}]):
            given = assign(value)
        return tf.group(given, {log})
    """
    cell = "def make():\n" + hidden + "\n    return log_then_assign\nlog_then_assign = make()"
    loose = cell.replace("{more}", "").replace("{log}", "log(old)")
    tight = cell.replace("{more}", ", log(old)").replace("{log}", "given")
    assert grades(judges("01"), tmp_path, [loose])["01.4"].points == 0
    assert grades(judges("01"), tmp_path, [tight])["01.4"].outcome == "passed"
