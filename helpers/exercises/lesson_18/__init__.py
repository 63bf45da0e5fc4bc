"""The exercises of lesson 18, the capstone."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "racing.timing",
    "racing.rates",
    "racing.paired",
    "racing.findings",
)
