"""The exercises of lesson 00, start here."""

from helpers.exercises.lesson_00 import roll_call

EXERCISES = (roll_call.EXERCISE,)
