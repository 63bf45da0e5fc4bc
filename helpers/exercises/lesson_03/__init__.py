"""The exercises of lesson 03, data parallelism."""

from __future__ import annotations

from helpers.exercises.spec import Exercise

EXERCISES: tuple[Exercise, ...] = ()
