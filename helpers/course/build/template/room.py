"""Lesson NN, my subject."""

from helpers.rooms import Names, handed_out

NUMBER = "NN"
BUILDS: tuple[str, ...] = ()
NAMES: Names = {
    "figures.my_subject_view": ("show_mean",),
    "helpers.notebook.predict": ("predict",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
