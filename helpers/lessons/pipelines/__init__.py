"""The exercises of lesson 13, pipelines."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "pipeline.schedules",
    "pipeline.pipeline",
    "pipeline.recompute",
    "pipeline.zero_bubble",
)
# The modules of helpers.algorithms that its answers stand on, and that nobody has to write.
GIVES: tuple[str, ...] = (
    "pipeline.instructions",
    "splitting.stages",
    "pipeline.timetable",
    "pipeline.deferred",
)
