"""The exercises of lesson 17, onto a cluster."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "failures.interval",
    "failures.effective",
    "checkpoints.folder",
    "checkpoints.resharding",
    "launching.environment",
    "failures.same_sum",
)
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = (
    "failures.quorum",
    "checkpoints.files",
    "checkpoints.crashes",
    "launching.launchers",
)
