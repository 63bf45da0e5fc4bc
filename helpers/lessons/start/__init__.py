"""Lesson 00, start here."""

from helpers.rooms import Names, handed_out

NUMBER = "00"
BUILDS: tuple[str, ...] = ()
NAMES: Names = {
    "figures.first_view": ("how_many_alt", "how_many_ranks", "show_break_even", "show_handing_out"),
    "helpers.engine.errors": ("RunError",),
    "helpers.notebook.measure": ("in_turn", "medians"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
