"""The exercises of lesson 02, messages."""

from helpers.exercises.lesson_02 import broadcast, fit, ring, scatter, shared

EXERCISES = (
    scatter.EXERCISE,
    broadcast.EXERCISE,
    ring.EXERCISE,
    fit.EXERCISE,
    shared.EXERCISE,
)
