"""The exercises of lesson 00, start here."""

from helpers.exercises.lesson_00 import roll_call

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ()

EXERCISES = (roll_call.EXERCISE,)
