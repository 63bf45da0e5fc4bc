"""The exercises of lesson 04, the frameworks."""

from helpers.exercises.lesson_04 import metric, prepare, replica, resume, tape, who

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("devices.framework_steps",)

EXERCISES = (
    prepare.EXERCISE,
    tape.EXERCISE,
    replica.EXERCISE,
    metric.EXERCISE,
    resume.EXERCISE,
    who.EXERCISE,
)
