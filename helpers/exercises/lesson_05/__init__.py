"""The exercises of lesson 05, parameter servers."""

from helpers.exercises.lesson_05 import (
    adagrad,
    downpour,
    placement,
    push_pull,
    saturation,
    supervisor,
)

# The modules of helpers.algorithms that hold what this lesson builds, and those that it gives.
BUILDS: tuple[str, ...] = ("servers.clients", "servers.server_optimizers")
GIVES: tuple[str, ...] = ("servers.rule",)

EXERCISES = (
    supervisor.EXERCISE,
    push_pull.EXERCISE,
    saturation.EXERCISE,
    placement.EXERCISE,
    downpour.EXERCISE,
    adagrad.EXERCISE,
)
