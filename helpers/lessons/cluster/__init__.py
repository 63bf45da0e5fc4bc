"""Lesson 17, onto a cluster."""

from helpers.rooms import Names, handed_out

NUMBER = "17"
BUILDS: tuple[str, ...] = (
    "interval",
    "effective",
    "folder",
    "resharding",
    "environment",
    "same_sum",
)
GIVES: tuple[str, ...] = ("quorum", "files", "crashes")
NAMES: Names = {
    "": ("figures.failures_view",),
    "algorithms.crashes": ("crashes",),
    "experiments.checkpoint_hidden": ("added_words", "costs", "hidden_words"),
    "experiments.checkpoint_kills": ("killed", "resumed"),
    "experiments.checkpoint_promises": ("promises",),
    "experiments.checkpoint_ways": ("Means",),
    "experiments.cluster_here": ("filled_in", "here"),
    "experiments.elastic_launchers": ("on_horovod", "on_torchrun"),
    "experiments.elastic_quorum": ("with_quorum",),
    "experiments.elastic_training": ("PARTS", "Training"),
    "experiments.failure_clock": ("luck", "run"),
    "experiments.failure_published": ("published_shares", "shares_by_gpus"),
    "experiments.failure_settings": ("compare", "llama", "waits_for_saves"),
    "figures.failures_view": ("promises_words", "show_by_gpus", "show_intervals"),
    "helpers.engine.errors": ("RunError",),
    "helpers.lessons.messages.algorithms.collectives": ("all_reduce_ring",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
    "helpers.course.setup.state": ("horovod_missing",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
