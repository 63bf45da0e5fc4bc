"""Lesson 08, four ways in TensorFlow."""

from helpers.rooms import Names, handed_out

NUMBER = "08"
BUILDS: tuple[str, ...] = ("four_ways",)
NAMES: Names = {
    "": ("experiments.model",),
    "experiments.plain_graph": ("graphs_of",),
    "experiments.runs": ("train_alone", "train_way"),
    "figures.four_ways_view": (
        "draw_ways",
        "show_four",
        "show_losses",
        "show_step_gradients",
        "ways_alt",
    ),
    "figures.graph_view": ("show_graph",),
    "helpers.engine.tf_cluster": ("run_cluster",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.quiet": ("tensorflow",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
