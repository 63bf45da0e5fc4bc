"""The exercises of lesson 06, asynchronous updates."""

from helpers.exercises.lesson_06 import asynchronous, compensate, descent, drop, scale, warmup

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("servers.stale_cures", "servers.stale_descent")
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("servers.rule", "servers.cure")

EXERCISES = (
    asynchronous.EXERCISE,
    descent.EXERCISE,
    drop.EXERCISE,
    scale.EXERCISE,
    compensate.EXERCISE,
    warmup.EXERCISE,
)
