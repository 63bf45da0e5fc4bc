"""Lesson 09, bandwidth saturation."""

from helpers.rooms import Names, handed_out

NUMBER = "09"
BUILDS: tuple[str, ...] = ("scaling", "sparse", "two_level")
GIVES: tuple[str, ...] = ("mesh",)
# What answers one of its exercises, in part, though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("scaling", "_least_squares_above_zero"),
    ("sparse", "in_rank_order"),
    ("sparse", "merged"),
    ("two_level", "counterparts"),
)
NAMES: Names = {
    "algorithms.mesh": ("Group",),
    "experiments.host_steps": ("Weights", "push_pull_seconds", "source", "step_seconds"),
    "experiments.speedup_cases": ("CASES", "TEN_GBIT"),
    "figures.bandwidth_knobs": ("EXCHANGES", "knobs_picture", "knobs_words"),
    "figures.bandwidth_view": (
        "show_bars",
        "show_calibrated",
        "show_predictions",
        "show_published_speedups",
        "show_speedups",
    ),
    "helpers.lessons.data_parallel.experiments.digits": ("digits",),
    "helpers.lessons.messages.algorithms.collectives": (
        "all_gather_ring",
        "all_reduce_naive",
        "all_reduce_ring",
        "broadcast_tree",
        "reduce_scatter_ring",
    ),
    "helpers.lessons.parameter_servers.algorithms.server_optimizers": ("Sgd",),
    "helpers.lessons.parameter_servers.algorithms.update_rules": ("Asynchronous", "Synchronous"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
