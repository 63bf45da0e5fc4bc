"""Lesson 07, spare replicas."""

from helpers.rooms import Names, handed_out

NUMBER = "07"
BUILDS: tuple[str, ...] = (
    "parameter_servers.update_rules",
    "accumulators",
    "sync_replicas",
    "what_if",
)
NAMES: Names = {
    "": ("helpers.notebook.published",),
    "algorithms.blame": ("Blame", "lasted"),
    "experiments.straggler_race": ("ROWS", "SECONDS", "TARGET", "aggregate_of", "contenders"),
    "experiments.stragglers": ("FittedStragglers", "Straggling", "iterations"),
    "experiments.sync_replay": ("OneAccumulator", "replay_sync_replicas"),
    "experiments.tf_sync": ("train_sync_replicas",),
    "experiments.traced_steps": ("NoGradients", "begun_and_ready"),
    "figures.spare_view": ("show_blame", "show_first_and_last", "show_race", "show_waiting"),
    "figures.stragglers": ("draw_spares", "show_hours", "show_kth", "spares_alt"),
    "figures.timelines": (
        "show_as_it_was",
        "show_first_tokens",
        "show_old_tokens",
        "show_one_spare",
        "show_real_steps",
        "show_replayed",
    ),
    "helpers.engine.servers.rule": ("Decision", "Rule", "mean"),
    "helpers.lessons.asynchronous.experiments.at_once": ("at_once",),
    "helpers.lessons.parameter_servers.algorithms.server_optimizers": ("Sgd",),
    "helpers.lessons.parameter_servers.experiments.digits_task": ("DigitsTask",),
    "helpers.lessons.parameter_servers.experiments.step_times": ("Gamma", "HeavyTail"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
