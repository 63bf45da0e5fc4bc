"""The exercises of lesson 14, sharding."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "splitting.tensor_parallel",
    "splitting.vocabulary_parallel",
    "data_parallel.sharding",
    "data_parallel.sharded_gather",
    "data_parallel.sharded_guard",
    "data_parallel.sharded_row",
    "data_parallel.sharded_sum",
    "data_parallel.sharded_unit",
    "data_parallel.memory",
    "splitting.ring_attention",
    "splitting.experts",
)
# What answers one of its exercises though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("splitting.vocabulary_parallel", "loss_and_gradient"),
    ("splitting.ring_attention", "ring_attention"),
    ("splitting.experts", "to_experts"),
)
# What its answers may use and nobody has to write.
GIVES: tuple[str, ...] = (
    "messages.mesh",
    "messages.maximum",
    "messages.all_to_all",
    "splitting.sequence_places",
)
