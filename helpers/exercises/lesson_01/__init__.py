"""The exercises of lesson 01, devices."""

from helpers.exercises.lesson_01 import found, logged, order, place, step

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("devices.device_memory", "devices.placement", "devices.device_graphs")

EXERCISES = (
    step.EXERCISE,
    place.EXERCISE,
    order.EXERCISE,
    logged.EXERCISE,
    found.EXERCISE,
)
