"""The exercises of lesson 03, data parallelism."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "data_parallel.bucket",
    "data_parallel.data_parallel",
    "data_parallel.learning_rate",
)
