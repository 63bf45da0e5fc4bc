"""The exercises of lesson 12, splitting a model."""

from helpers.exercises.lesson_12 import columns, crossing, halo, pay, waves

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "splitting.model_split",
    "splitting.vertical_split",
    "splitting.partly_connected",
    "splitting.halo_split",
    "splitting.wave",
    "splitting.split_cost",
)

EXERCISES = (
    pay.EXERCISE,
    columns.EXERCISE,
    crossing.EXERCISE,
    halo.EXERCISE,
    waves.EXERCISE,
)
