"""Lesson 04, the frameworks."""

from helpers.rooms import Names, handed_out

NUMBER = "04"
BUILDS: tuple[str, ...] = ("framework_steps",)
NAMES: Names = {
    "": ("experiments.setting",),
    "experiments.in_torch": ("train_alone",),
    "experiments.measure": ("measure",),
    "experiments.ways": ("train",),
    "figures.frameworks_view": (
        "MISTAKES",
        "averaging_twice",
        "draw_mistake",
        "mistake_alt",
        "show_policies",
        "show_prepared",
        "show_seven",
        "without_broadcast",
    ),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
