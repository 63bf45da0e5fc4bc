"""Lesson 01, devices."""

from helpers.rooms import Names, handed_out

NUMBER = "01"
BUILDS: tuple[str, ...] = ("device_memory", "placement", "device_graphs")
NAMES: Names = {
    "": (
        "experiments.control",
        "experiments.in_torch",
        "experiments.logical",
        "experiments.memory",
        "experiments.parallel",
        "experiments.placement",
        "experiments.servers",
        "helpers.notebook.gpu_view",
        "helpers.notebook.on_gpu",
    ),
    "figures.device_view": (
        "knobs_of_memory",
        "show_control",
        "show_formula",
        "show_two_chains",
        "show_variable",
        "show_without_pin",
    ),
    "helpers.engine.tf_cluster": ("run_cluster",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
