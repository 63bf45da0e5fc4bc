"""Lesson 03, data parallelism."""

from helpers.rooms import Names, handed_out

NUMBER = "03"
BUILDS: tuple[str, ...] = ("bucket", "data_parallel", "learning_rate")
NAMES: Names = {
    "": ("helpers.notebook.gpu_view", "helpers.notebook.on_gpu", "helpers.notebook.published"),
    "experiments.digits": ("digits",),
    "experiments.many_runs": ("errors_after_training", "steps_per_epoch"),
    "experiments.models": ("mlp", "timed_mlp", "wide_mlp"),
    "experiments.step_model": ("modelled_step",),
    "figures.replicas": (
        "show_curves",
        "show_drift",
        "show_equality",
        "show_errors",
        "show_owners",
        "show_parts",
        "show_pieces",
        "show_step_times",
    ),
    "figures.step_view": (
        "last_step",
        "show_efficiency",
        "show_real_step",
        "show_with_overlap",
        "show_without_overlap",
        "step_picture",
        "step_words",
    ),
    "helpers.lessons.messages.algorithms.collectives": (
        "all_reduce_ring",
        "all_reduce_shared",
        "broadcast_tree",
    ),
    "helpers.lessons.messages.algorithms.cost_model": (
        "INTERCONNECTS",
        "fit_latency_bandwidth",
        "predicted_seconds",
    ),
    "helpers.notebook.figures": ("show",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.progress": ("progress",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
