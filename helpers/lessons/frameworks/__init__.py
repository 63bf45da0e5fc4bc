"""Lesson 04, the frameworks."""

from helpers.rooms import Names, handed_out

NUMBER = "04"
BUILDS: tuple[str, ...] = ("framework_steps",)
NAMES: Names = {
    "": ("experiments.setting",),
    "experiments.in_torch": ("train_alone",),
    "experiments.measure": ("measure",),
    "experiments.ways": ("train",),
    "figures.frameworks_mistakes": ("MISTAKES", "averaging_twice", "without_broadcast"),
    "figures.frameworks_view": (
        "draw_mistake",
        "mistake_alt",
        "show_policies",
        "show_prepared",
        "show_seven",
    ),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
