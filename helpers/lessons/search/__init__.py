"""Lesson 16, search and ensembles."""

from helpers.rooms import Names, handed_out

NUMBER = "16"
BUILDS: tuple[str, ...] = ("halving", "asha", "space", "validation")
GIVES: tuple[str, ...] = ("ranges", "rungs")
# What answers one of its exercises, in part, though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (("halving", "best"),)
NAMES: Names = {
    "": (
        "experiments.best_of_many",
        "experiments.ensemble",
        "experiments.search_optuna",
        "figures.search_knobs",
        "figures.search_view",
    ),
    "algorithms.promotions": ("expected", "wrong_promotions"),
    "algorithms.rungs": ("Job", "rungs"),
    "algorithms.validation": ("folds",),
    "experiments.search_clock": ("decisions", "on_clock", "speeds"),
    "experiments.search_cluster": ("Client", "run_clients"),
    "experiments.search_models": ("SPACE", "Models", "Synthetic", "split"),
    "experiments.search_processes": ("on_processes", "replayed"),
    "experiments.search_ranks": ("search_ranks",),
    "figures.search_view": (
        "folds_words",
        "honest_words",
        "optuna_words",
        "show_asha",
        "show_chosen",
        "show_drawn",
        "show_halving",
        "show_wrong",
    ),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
