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
        "figures.message_shown",
        "figures.message_view",
        "helpers.notebook.gpu_view",
        "helpers.notebook.on_gpu",
    ),
    "algorithms.cost_model": ("INTERCONNECTS", "INTERCONNECTS_SOURCE", "predicted_seconds"),
    "helpers.notebook.measure": ("in_turn", "medians"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.progress": ("progress",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
