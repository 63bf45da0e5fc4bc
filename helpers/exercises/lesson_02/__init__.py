"""The exercises of lesson 02, messages."""

from helpers.exercises.lesson_02 import broadcast, fit, ring, scatter, shared

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("collectives", "cost_model")

EXERCISES = (
    scatter.EXERCISE,
    broadcast.EXERCISE,
    ring.EXERCISE,
    fit.EXERCISE,
    shared.EXERCISE,
)
