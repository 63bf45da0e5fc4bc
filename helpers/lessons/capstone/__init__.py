"""The exercises of lesson 18, the capstone, and the parts of its report."""

from helpers.checks.report import Part

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "racing.timing",
    "racing.rates",
    "racing.paired",
    "racing.findings",
)
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = ("racing.runs",)

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
