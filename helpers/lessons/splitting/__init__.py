"""The exercises of lesson 12, splitting a model."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "splitting.model_split",
    "splitting.vertical_split",
    "splitting.partly_connected",
    "splitting.halo_split",
    "splitting.wave",
    "splitting.split_cost",
)
