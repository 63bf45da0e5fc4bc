"""Lesson 15, actors and learners."""

from helpers.rooms import Names, handed_out

NUMBER = "15"
BUILDS: tuple[str, ...] = ("losses", "returns", "v_trace")
GIVES: tuple[str, ...] = ("rms_prop", "staleness")
NAMES: Names = {
    "": (
        "experiments.actor_speedup",
        "experiments.races",
        "experiments.stale_actors",
        "figures.actors_knobs",
        "figures.actors_view",
    ),
    "algorithms.staleness": ("mean_staleness",),
    "experiments.actor_settings": ("CART_POLE", "TIC_TAC_TOE"),
    "experiments.games": ("TicTacToe", "rollout"),
    "experiments.shared_actors": ("Pace", "train_shared"),
    "experiments.stale_clock": ("arrivals", "counted_staleness"),
    "helpers.lessons.parameter_servers.experiments.step_times": ("Gamma",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
    "helpers.course.setup.machine": ("usable_cores",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
