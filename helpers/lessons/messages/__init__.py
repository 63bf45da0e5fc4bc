"""The exercises of lesson 02, messages."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = ("messages.collectives", "messages.cost_model")
# What answers one of its exercises, in part, though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("messages.collectives", "chunk_bounds"),
    ("messages.collectives", "reduce_scatter_ring"),
    ("messages.collectives", "all_gather_ring"),
)
