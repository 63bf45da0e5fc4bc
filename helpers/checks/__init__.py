"""The exercises: one spec each, read by the learner's check, the grader and the tests.

How to write one
----------------
A lesson's exercises live in its room, `helpers/lessons/SUBJECT/exercises/`, one file each, and are
found there by their `EXERCISE`; the room says what the lesson builds. A file holds, in this order:

1. `cases(seed)`: the inputs, as plain values and numpy arrays. Seed 0 is what the learner's check
   uses; every other seed is hidden. World sizes 1, 2, 3 and 5, the most telling case first: a hint
   is given for the first case that is wrong.
2. `claim(case, seen)`: None where the observation is right, otherwise one plain sentence; or it
   yields one sentence after the other, and the first decides. The case's name is put before it
   (`spec.first_said`). This alone decides. It tests what the exercise claims (bytes, messages,
   order), not only the values.
3. `Mistake(name, look)` only for families that no single function stands for: deadlocks, time,
   missing waits, memory kept. They see what the answer did, never its source text.
4. The driver, where no other lesson's exercise has the same. A grader's sandbox gets it and what it
   names, cut out of the file, and nothing else of it.
5. The reference, with the name and the arguments that the room's `algorithms` give it.
6. `WRONG`, the wrong answers that people really write, as a table of text (`table.py`): most are
   patches of the reference, one thing exchanged. Each is its own oracle (`known.py`): who does in a
   case what it does is told what it says. The name is shown without a case (by the grader), so it
   holds no numbers of the case.
7. `EXERCISE = Exercise(...)`, with `wrong=wrong_answers("NN.k", WRONG, reference, …)`.

`./course verdicts` records what all answers are told, before a change, and compares after it.

The learner's function runs elsewhere: a driver calls it for a case and hands back an
`Observation`, plain values without behaviour. It names nothing that is an answer or a case.
"""

import re
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType

from helpers.checks.spec import Exercise
from helpers.rooms import folder, rooms


class NoSuchExercise(LookupError):
    """The number names no exercise; the text lists those that there are."""

    def __str__(self) -> str:
        return str(self.args[0])


def lessons() -> list[str]:
    """The numbers of the lessons that have exercises, such as `["00", "02"]`."""
    return [number for number in rooms() if (folder(number) / "exercises").is_dir()]


@cache
def of_lesson(lesson: str) -> tuple[Exercise, ...]:
    """A lesson's exercises, in order; none where the lesson has no exercises."""
    if lesson not in lessons():
        return ()
    package = import_module(f"{rooms()[lesson]}.exercises")
    modules = [
        import_module(f"{package.__name__}.{m.name}") for m in iter_modules(package.__path__)
    ]
    found: list[Exercise] = [m.EXERCISE for m in modules if hasattr(m, "EXERCISE")]
    return tuple(sorted(found, key=lambda exercise: exercise.number))


def provided(lesson: str) -> tuple[str, ...]:
    """The modules of algorithms, by their dotted names, that a lesson's answers may use.

    These are what earlier lessons build (`BUILDS`; a module that several lessons build is the last
    one's), and what this lesson or an earlier one gives and nobody has to write (`GIVES`).
    """
    homes = {number: import_module(room) for number, room in rooms().items() if number <= lesson}
    built = [algorithm(homes[n], one) for n in homes if n < lesson for one in homes[n].BUILDS]
    given = [algorithm(home, one) for home in homes.values() for one in vars(home).get("GIVES", ())]
    return tuple(dict.fromkeys(built + given))


def algorithm(room: ModuleType, name: str) -> str:
    """The dotted name of a module of algorithms, of a room where it names no other."""
    subject, _, module = name.rpartition(".")
    home = f"{room.__name__.rpartition('.')[0]}.{subject}" if subject else room.__name__
    return f"{home}.algorithms.{module}"


def everything() -> list[Exercise]:
    """Every exercise of the course, in order."""
    return [exercise for lesson in lessons() for exercise in of_lesson(lesson)]


def find(number: str) -> Exercise:
    """The exercise with a number such as "02.1". Raises NoSuchExercise with the list."""
    if isinstance(number, str) and re.fullmatch(r"\d\d\.\d+", number):
        for exercise in of_lesson(number[:2]):
            if exercise.number == number:
                return exercise
    listed = "\n".join(f"  {e.number}  {e.title}" for e in everything())
    raise NoSuchExercise(f"There is no exercise {number!r}. The exercises are:\n{listed}")
