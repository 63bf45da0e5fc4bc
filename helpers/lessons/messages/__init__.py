"""Lesson 02, messages."""

from helpers.rooms import Names, handed_out

NUMBER = "02"
BUILDS: tuple[str, ...] = ("collectives", "cost_model")
# What answers one of its exercises, in part, though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("collectives", "chunk_bounds"),
    ("collectives", "reduce_scatter_ring"),
    ("collectives", "all_gather_ring"),
)
NAMES: Names = {
    "": (
        "algorithms.collectives",
        "figures.link_view",
        "figures.message_view",
        "helpers.notebook.gpu_view",
        "helpers.notebook.on_gpu",
    ),
    "algorithms.cost_model": ("INTERCONNECTS", "INTERCONNECTS_SOURCE", "predicted_seconds"),
    "figures.chunks": ("show_ring", "show_slices"),
    "figures.link_view": (
        "show_all_reduces",
        "show_elsewhere",
        "show_message_speeds",
        "show_message_times",
        "which_wins_alt",
    ),
    "figures.message_view": (
        "show_broadcasts",
        "show_growth",
        "show_ring_and_halving",
        "show_two_sums",
        "show_two_ways",
    ),
    "helpers.notebook.measure": ("in_turn", "medians"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.progress": ("progress",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
