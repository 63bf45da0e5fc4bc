"""The exercises of lesson 13, pipelines."""

from helpers.exercises.lesson_13 import bubble, gpipe, one_by_one, recompute, run_stage

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("pipeline.schedules", "pipeline.pipeline", "pipeline.recompute")
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("pipeline.instructions", "splitting.stages", "pipeline.timetable")

EXERCISES = (
    bubble.EXERCISE,
    gpipe.EXERCISE,
    one_by_one.EXERCISE,
    run_stage.EXERCISE,
    recompute.EXERCISE,
)
