"""Lesson 14, sharding."""

from helpers.rooms import Names, handed_out

NUMBER = "14"
BUILDS: tuple[str, ...] = (
    "tensor_parallel",
    "vocabulary_parallel",
    "sharding",
    "sharded_gather",
    "sharded_sum",
    "sharded_unit",
    "memory",
    "ring_attention",
    "experts",
)
GIVES: tuple[str, ...] = ("bandwidth.mesh", "maximum", "all_to_all", "sequence_places")
# What answers one of its exercises, in part, though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("vocabulary_parallel", "loss_and_gradient"),
    ("ring_attention", "ring_attention"),
    ("experts", "to_experts"),
)
NAMES: Names = {
    "": (
        "experiments.ring_clock",
        "experiments.sharded_clock",
        "experiments.torch_tensor_parallel",
        "figures.memory_view",
        "figures.sharding_view",
        "helpers.notebook.on_gpu",
        "helpers.notebook.published",
    ),
    "algorithms.all_to_all": ("all_to_all", "all_to_all_direct", "all_to_all_pairwise"),
    "algorithms.experts": ("ParallelExperts", "all_experts"),
    "algorithms.maximum": ("all_reduce_max",),
    "algorithms.memory": ("FLOAT32_ADAM", "MIXED_ADAM", "communication", "memory"),
    "algorithms.ring_attention": ("attention_in_ring",),
    "algorithms.sequence_places": ("contiguous", "pairs", "striped"),
    "algorithms.sharding": ("Sharded",),
    "algorithms.tensor_parallel": ("parallel_block",),
    "algorithms.vocabulary_parallel": ("parallel_transformer", "vocabulary_cross_entropy"),
    "experiments.torch_fsdp": ("TorchSharded",),
    "figures.experts_view": ("show_experts", "show_to_their_experts"),
    "figures.memory_view": ("show_by_ranks", "show_held", "show_held_in_a_step", "show_stages"),
    "figures.ring_view": ("show_dealt", "show_round_the_ring"),
    "figures.sharding_view": (
        "show_by_link",
        "show_prefetching",
        "show_real_steps",
        "show_tokens_or_weights",
    ),
    "figures.tensor_parallel_view": (
        "show_block_messages",
        "show_column_then_row",
        "show_mesh",
        "show_row_first",
        "show_vocabulary",
    ),
    "helpers.lessons.bandwidth.algorithms.mesh": ("Mesh",),
    "helpers.lessons.data_parallel.algorithms.data_parallel": ("DataParallel", "rows_of"),
    "helpers.lessons.data_parallel.experiments.digits": ("digits",),
    "helpers.lessons.messages.algorithms.collectives": (
        "all_gather_ring",
        "all_reduce_ring",
        "chunk_bounds",
        "reduce_scatter_ring",
    ),
    "helpers.lessons.splitting.experiments.machines": ("machine",),
    "helpers.lessons.splitting.experiments.transformer": ("text", "token_loss", "transformer"),
    "helpers.notebook.measure": ("in_turn", "medians"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
