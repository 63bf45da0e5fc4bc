"""The exercises of lesson 02, messages."""

from helpers.exercises.lesson_02 import scatter

EXERCISES = (scatter.EXERCISE,)
