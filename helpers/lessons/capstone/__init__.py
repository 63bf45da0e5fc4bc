"""Lesson 18, the capstone."""

from helpers.checks.report import Part
from helpers.rooms import Names, handed_out

NUMBER = "18"
BUILDS: tuple[str, ...] = ("timing", "rates", "paired", "findings")
GIVES: tuple[str, ...] = ("runs",)

PARTS = (
    Part(
        "18.7",
        "Report: the logbook",
        3,
        (
            "1 point: every setting was predicted before anything was run",
            "1 point: all five ways ran on the same five seeds in each of the three settings",
            "1 point: runs on the clock, made again by the grader, come out the same",
        ),
    ),
    Part(
        "18.8",
        "Report: computed, not typed",
        4,
        (
            "1 point: the sentences fit the runs in the logbook, and stand in the notebook",
            "1 point: the figure fits them: means, 95 % intervals, units, and who did not arrive",
            "1 point: the three texts are written",
            "1 point: no number of a result is typed in them",
        ),
    ),
    Part(
        "18.9",
        "Report: as read",
        10,
        (
            "3 points, question and method: somebody else could repeat it, and sees why it is fair",
            "4 points, why: differences between the settings are explained by what is in them, and "
            "failed predictions are named",
            "3 points, limits: what the runs do not say, what would be next, and a choice with its "
            "reason",
        ),
        by_hand=True,
    ),
)
NAMES: Names = {
    "": ("experiments.orders", "experiments.race", "figures.race_view"),
    "experiments.race": ("predicted_times",),
    "experiments.settings": ("CLOCK", "ELSEWHERE", "HOSTS", "PROCESSES", "SEEDS", "TARGET", "WAYS"),
    "experiments.ways": ("train",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.progress": ("progress",),
    "helpers.notebook.tables": ("table",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
