"""The exercises of lesson 08, four ways in TensorFlow."""

from helpers.exercises.lesson_08 import (
    between_async,
    between_sync,
    in_graph_async,
    in_graph_sync,
    threads,
)

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("devices.four_ways",)

EXERCISES = (
    in_graph_sync.EXERCISE,
    in_graph_async.EXERCISE,
    threads.EXERCISE,
    between_async.EXERCISE,
    between_sync.EXERCISE,
)
