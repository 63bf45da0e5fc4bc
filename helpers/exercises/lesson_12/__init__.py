"""The exercises of lesson 12, splitting a model."""

from helpers.exercises.lesson_12 import columns, crossing, halo, pay, waves

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "model_split",
    "vertical_split",
    "partly_connected",
    "halo_split",
    "wave",
    "split_cost",
)

EXERCISES = (
    pay.EXERCISE,
    columns.EXERCISE,
    crossing.EXERCISE,
    halo.EXERCISE,
    waves.EXERCISE,
)
