"""The exercises of lesson 03, data parallelism."""

from helpers.exercises.lesson_03 import average, buckets, overlap, rate, shards, training

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "data_parallel.bucket",
    "data_parallel.data_parallel",
    "data_parallel.learning_rate",
)

EXERCISES = (
    shards.EXERCISE,
    average.EXERCISE,
    training.EXERCISE,
    buckets.EXERCISE,
    overlap.EXERCISE,
    rate.EXERCISE,
)
