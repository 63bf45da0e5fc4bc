"""Mistakes of one's own class: a table like the course's, for `./course grade --mistakes FILE`.

    [02.2]
    takes every second rank
        | have *= 2 => have *= 4
        only every second rank has the tensor: …

An exercise's number in brackets begins its part. An answer is patches of the course's own and a
sentence; whoever does the same is told that, and has the points as before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from helpers.checks import of_lesson
from helpers.checks.apart import observe_apart
from helpers.checks.judging import judge_all
from helpers.checks.known import said
from helpers.checks.spec import Exercise, WrongAnswer
from helpers.checks.table import TableError, entries, wrong_answers
from helpers.grade.wish import GradingError

_HEAD = re.compile(r"\[(\d\d\.\d+)\]\s*")


def read(path: Path, lesson: str) -> str:
    """A table of the class's, which is tried before anything is graded.

    Raises GradingError where it cannot be read, or says something that no answer could be told.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise GradingError(f"{path} cannot be read as a table of mistakes: {error}") from None
    known = of_lesson(lesson)
    try:
        for before, exercise in zip(known, learned(known, text), strict=True):
            for answer in exercise.wrong[len(before.wrong) :]:
                _tried(exercise, answer)
    except TableError as error:
        raise GradingError(f"{path}: {error}") from None
    return text


def learned(exercises: Sequence[Exercise], text: str) -> list[Exercise]:
    """Exercises with the class's wrong answers behind their own. Raises TableError."""
    known = {exercise.number: exercise for exercise in exercises}
    bases = {one.number: getattr(one.wrong, "base", (one.reference,)) for one in exercises}
    for number, table in parts(text):
        exercise = known.get(number)
        if exercise is None:
            if number[:2] in {one[:2] for one in known}:
                raise TableError(f"[{number}]: lesson {number[:2]} has no such exercise.")
            continue  # of another lesson: one file may serve all of them
        for entry in entries(number, table):
            for mark in "=?!":
                for _, at in entry.marked[mark]:
                    raise TableError(
                        f"Exercise {number}, “{entry.name}”, line {at}: `{mark}` is for the "
                        "course's own tables. Here an answer is patches, `| old => new`, and a "
                        "sentence."
                    )
            if entry.name in {answer.name for answer in exercise.wrong}:
                raise TableError(
                    f"Exercise {number}, “{entry.name}”: the course has a mistake of that name. "
                    "Take another."
                )
        more = wrong_answers(number, table, bases[number])
        known[number] = replace(exercise, wrong=(*exercise.wrong, *more))
    return list(known.values())


def parts(text: str) -> Iterator[tuple[str, str]]:
    """Each exercise's number and its table; lines have the numbers that they have in the file.

    Raises TableError for what stands before the first number.
    """
    lines = text.splitlines()
    heads = [at for at, line in enumerate(lines) if _HEAD.fullmatch(line)]
    for at, line in enumerate(lines[: heads[0] if heads else None], 1):
        if line.strip() and not line.startswith("#"):
            raise TableError(f"line {at}, `{line.strip()}`: write the exercise's number, [02.2].")
    for at, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        found = _HEAD.fullmatch(lines[at])
        assert found is not None
        yield found[1], "\n" * (at + 1) + "\n".join(lines[at + 1 : end])


def _tried(exercise: Exercise, answer: WrongAnswer) -> None:
    """Raises TableError where the answer is right, or its sentence names what there is not."""
    cases = exercise.cases(0)
    seen = observe_apart(exercise, answer.function, cases)
    name = f"Exercise {exercise.number}, “{answer.name}”"
    if judge_all(exercise, cases, seen).status == "passed":
        raise TableError(f"{name}: with these patches the answer is right in all cases.")
    try:
        said(exercise, answer, cases[len(seen) - 1], seen[-1])
    except (KeyError, IndexError, ValueError) as error:
        raise TableError(
            f"{name}: its sentence cannot be filled in ({error}). In braces stand the exercise's "
            "own numbers; a brace itself is written twice, {{."
        ) from None
