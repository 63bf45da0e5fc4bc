"""The exercises of lesson 03, data parallelism."""

from helpers.exercises.lesson_03 import average, buckets, overlap, rate, shards, training

EXERCISES = (
    shards.EXERCISE,
    average.EXERCISE,
    training.EXERCISE,
    buckets.EXERCISE,
    overlap.EXERCISE,
    rate.EXERCISE,
)
