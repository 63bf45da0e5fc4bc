"""The exercises of lesson 09, bandwidth saturation."""

# The modules of helpers.algorithms that hold what this lesson builds, and those that it gives.
BUILDS: tuple[str, ...] = (
    "data_parallel.scaling",
    "messages.sparse",
    "messages.two_level",
)
GIVES: tuple[str, ...] = ("messages.mesh",)
# What answers one of its exercises, in part, though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("data_parallel.scaling", "_least_squares_above_zero"),
    ("messages.sparse", "in_rank_order"),
    ("messages.sparse", "merged"),
    ("messages.two_level", "counterparts"),
)
