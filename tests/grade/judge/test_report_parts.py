"""Six reports of lesson 18 and their points: each is told what it lacks."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helpers.checks import find
from helpers.checks.report import parts_of
from helpers.checks.spec import Case, Exercise, Observation
from helpers.grade.grades import ExerciseGrade
from helpers.grade.judge.notebook import outputs_and_texts
from helpers.grade.judge.report import (
    SOLUTION,
    STUB,
    TEXTS,
    grade_parts,
    measured,
    typed_number,
)
from helpers.lessons.capstone.algorithms.findings import findings
from helpers.lessons.capstone.algorithms.runs import Look, Run
from helpers.lessons.capstone.exercises.draw import draw
from helpers.lessons.capstone.exercises.predictions import predictions
from helpers.lessons.capstone.experiments.logbook import MIME, Logbook
from helpers.lessons.capstone.experiments.race import tables, written
from helpers.lessons.capstone.experiments.settings import SETTINGS, WAYS

PARTS = parts_of("18")
WORDS = " ".join(["Whoever reads this sees what was compared, on what, and why it is fair."] * 5)
Functions = dict[str, Callable[..., Any]]
CHAIN = ("number", "at", "kind", "before", "digest")
GOOD: Functions = {"findings": findings, "draw": draw}


def a_run(way: str, setting: Any, rate: float, seed: int) -> Run:
    """A run that anybody can make again: it depends on its arguments alone."""
    random = np.random.default_rng((WAYS.index(way), len(setting.name), seed))
    errors = [80.0, 30.0, *(float(x) for x in random.uniform(5, 12, 4))]
    pace = float(random.uniform(0.5, 2.0))
    return Run(0.0, [Look(round(pace * k, 6), 0.0, e) for k, e in enumerate(errors)])


def a_book(folder: Path, ways: tuple[str, ...] = WAYS, late: bool = False) -> Logbook:
    """Predictions and runs; late: in the wrong order."""
    book = Logbook(folder / "18_logbook.jsonl")
    if not late:
        book.add("prediction", given=predictions())
    for name, setting in SETTINGS.items():
        for seed in range(5):
            for way in ways:
                run = a_run(way, setting, 0.25, seed)
                what = {"setting": name, "way": way, "seed": seed, "rate": 0.25}
                seconds = written(run.looks[-2].at)
                end = sum(look.error for look in run.looks[-3:]) / 3
                book.add("run", **what, seconds=seconds, end=end, began=0.0,
                         looks=[list(look) for look in run.looks])  # fmt: skip
    if late:
        book.add("prediction", given=predictions())
    return book


def a_report(folder: Path, book: Logbook | None, functions: Functions, text: str = WORDS) -> Path:
    """A notebook with a logbook, the sentences that the functions give, and texts."""
    said = (
        [s for name in SETTINGS for s in functions["findings"](*tables(book, name))] if book else []
    )
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "id": name, "metadata": {"nbgrader": {"grade_id": name}},
         "source": text} for name in TEXTS
    ]  # fmt: skip
    for name, output in (
        ("report-findings", {"output_type": "stream", "name": "stdout", "text": "\n".join(said)}),
        ("report-logbook", {"output_type": "execute_result", "execution_count": 1, "metadata": {},
                            "data": {MIME: {"entries": book.entries if book else []}}}),
    ):  # fmt: skip
        cells.append({"cell_type": "code", "id": name, "metadata": {}, "source": "",
                      "execution_count": 1, "outputs": [output]})  # fmt: skip
    path = folder / "18_capstone.ipynb"
    notebook = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return path


def graded(path: Path, functions: Functions, train: Any = a_run) -> dict[str, ExerciseGrade]:
    def observe(exercise: Exercise, case: Case) -> Observation:
        return exercise.drive(functions[exercise.function], case)

    return {one.number: one for one in grade_parts(PARTS, path, observe, 7, train)}


def test_a_whole_report_gets_all_that_can_be_counted(tmp_path: Path) -> None:
    found = graded(a_report(tmp_path, a_book(tmp_path), GOOD), GOOD)
    assert [found[n].points for n in ("18.7", "18.8", "18.9")] == [3, 4, 0], found
    assert found["18.9"].outcome == "by hand" and "3 points, question" in found["18.9"].reason


def copied(folder: Path, change: Callable[[dict[str, Any]], Any]) -> Path:
    """A report with the logbook of the course's solution, each entry changed and chained anew."""
    outputs, _ = outputs_and_texts(SOLUTION)
    data = [output["data"] for each in outputs.values() for output in each if "data" in output]
    (entries,) = [each[MIME]["entries"] for each in data if MIME in each]
    book = Logbook(None)
    for entry in entries:
        change(entry)
        book.add(entry["kind"], **{k: v for k, v in entry.items() if k not in CHAIN})
    return a_report(folder, book, GOOD)


@pytest.mark.parametrize(
    "change",
    [
        lambda entry: None,
        lambda entry: entry.update(given=predictions()) if "given" in entry else None,
        lambda entry: entry.update(seed=entry["seed"] + 7) if "seed" in entry else None,
        lambda entry: entry.update(end=9.0) if "end" in entry else None,
    ],
    ids=["as it is", "other predictions", "other seeds", "other ends"],
)
def test_the_solutions_logbook_is_nobodys(tmp_path: Path, change: Any) -> None:
    """However much is written anew around the runs that were measured."""
    found = graded(copied(tmp_path, change), GOOD)
    assert [found[n].points for n in ("18.7", "18.8")] == [0, 2], found
    assert "those of the course's own solution" in found["18.7"].reason


def test_runs_on_the_clock_are_everybodys() -> None:
    """Of the solution's runs those on the clock are not known: who makes them, has the same."""
    assert len(measured(SOLUTION)) == 50 and measured(SOLUTION.with_name("none")) == frozenset()


@pytest.mark.parametrize(
    ("words", "result"),
    [
        ("The target of 13 % was set, a test error.", False),
        ("The target is a test error of 13 %.", False),
        ("With a rate of 0.3, or at the rates 0.5 and 0.12, all is well.", False),
        ("A gradient takes 4 ms, at the slow host 12 ms; there are 12,000 pictures.", False),
        ("It reached the target at 12.4 s.", True),
        ("It reached the target after 3 s.", True),
        ("It ended at 9 %.", True),
        ("It was 2.5 times as quick.", True),
        ("At this rate it took 3.2 s.", True),
        ("It took 1,234 s.", True),
    ],
)
def test_settings_may_be_typed_and_results_may_not(words: str, result: bool) -> None:
    assert (typed_number(dict.fromkeys(TEXTS, words)) is not None) == result


def test_typed_numbers(tmp_path: Path) -> None:
    text = f"{WORDS} Asynchronous training was first, after 12.4 s."
    found = graded(a_report(tmp_path, a_book(tmp_path), GOOD, text), GOOD)["18.8"]
    assert found.points == 3 and "'12.4' is typed in the text report-method" in found.reason


def test_typed_sentences(tmp_path: Path) -> None:
    book = a_book(tmp_path)
    once = findings(*tables(book, "hosts"))
    typed: Functions = {"findings": lambda times, ends: once, "draw": draw}
    found = graded(a_report(tmp_path, book, typed), typed)["18.8"]
    assert found.points == 3 and "In your own runs in the setting processes" in found.reason


def test_predictions_after_the_results(tmp_path: Path) -> None:
    found = graded(a_report(tmp_path, a_book(tmp_path, late=True), GOOD), GOOD)["18.7"]
    assert found.points == 2 and "predicted after the results is none" in found.reason


def test_no_intervals(tmp_path: Path) -> None:
    wrong = {answer.name: answer.function for n in ("18.5", "18.6") for answer in find(n).wrong}
    bare: Functions = {"findings": wrong["no interval"], "draw": wrong["bars alone"]}
    found = graded(a_report(tmp_path, a_book(tmp_path), bare), bare)["18.8"]
    assert found.points == 2
    assert "the 95 % interval is missing" in found.reason and "no intervals" in found.reason


def test_one_way_is_missing(tmp_path: Path) -> None:
    found = graded(a_report(tmp_path, a_book(tmp_path, WAYS[:4]), GOOD), GOOD)
    assert found["18.7"].points == 2
    assert "vertical slices did not run in the setting processes" in found["18.7"].reason


def test_an_untouched_report(tmp_path: Path) -> None:
    found = graded(a_report(tmp_path, None, GOOD, STUB), GOOD)
    assert [found[n].points for n in ("18.7", "18.8", "18.9")] == [0, 0, 0]
    assert "no logbook" in found["18.7"].reason and found["18.7"].outcome == "not attempted"


def test_runs_that_were_invented_come_out_otherwise(tmp_path: Path) -> None:
    def other(way: str, setting: Any, rate: float, seed: int) -> Run:
        run = a_run(way, setting, rate, seed)
        return Run(0.0, [look._replace(at=2 * look.at) for look in run.looks])

    found = graded(a_report(tmp_path, a_book(tmp_path), GOOD), GOOD, other)["18.7"]
    assert found.points == 2 and "comes out otherwise" in found.reason


@pytest.mark.parametrize("key", ["seconds", "kind", "at", "number", "before"])
def test_a_changed_entry_damages_the_logbook(tmp_path: Path, key: str) -> None:
    book = a_book(tmp_path)
    book.entries[9][key] = {"kind": "prediction", "number": 3}.get(
        key, "2020" if key == "at" else 1
    )
    found = graded(a_report(tmp_path, book, GOOD), GOOD)["18.7"]
    assert found.points == 0 and "damaged" in found.reason


@pytest.mark.parametrize("entries", [[1], [{}], "text", [None], [{"number": math.nan}]])
def test_anything_may_be_in_the_place_of_entries(tmp_path: Path, entries: Any) -> None:
    path = a_report(tmp_path, a_book(tmp_path), GOOD)
    notebook = json.loads(path.read_text())
    notebook["cells"][-1]["outputs"][0]["data"][MIME]["entries"] = entries
    path.write_text(json.dumps(notebook))
    found = graded(path, GOOD)
    assert found["18.7"].points == 0 and found["18.8"].points <= 2


@pytest.mark.parametrize(
    ("since", "off", "points"),
    [(3, 2.5, 3), (0, 1.5, 2), (3, 30.0, 2)],
    ids=["rounding that grew", "another beginning", "another end"],
)
def test_the_first_looks_tell_runs_apart(
    tmp_path: Path, since: int, off: float, points: int
) -> None:
    """What another processor rounds otherwise is off late, and by little in most looks."""

    def again(way: str, setting: Any, rate: float, seed: int) -> Run:
        looks = a_run(way, setting, rate, seed).looks
        return Run(
            0.0, [e._replace(error=e.error + off * (k >= since)) for k, e in enumerate(looks)]
        )

    found = graded(a_report(tmp_path, a_book(tmp_path), GOOD), GOOD, again)["18.7"]
    assert found.points == points
