"""The exercises of lesson 07, spare replicas."""

from helpers.exercises.lesson_07 import accumulator, chief, choose, kth, spare

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("servers.update_rules", "servers.accumulators", "servers.sync_replicas")
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("servers.rule",)

EXERCISES = (
    kth.EXERCISE,
    choose.EXERCISE,
    spare.EXERCISE,
    accumulator.EXERCISE,
    chief.EXERCISE,
)
