"""Lesson 06, asynchronous updates."""

from helpers.rooms import Names, handed_out

NUMBER = "06"
BUILDS: tuple[str, ...] = ("stale_cures", "stale_descent")
NAMES: Names = {
    "": (
        "experiments.stale_settings",
        "figures.bounded_view",
        "figures.cures_view",
        "figures.staleness_view",
        "helpers.lessons.parameter_servers.algorithms.update_rules",
        "helpers.notebook.published",
    ),
    "algorithms.stale_cures": ("BatchRows", "LowerRate"),
    "experiments.at_once": ("at_once",),
    "experiments.torch_hogwild": ("hogwild", "lost"),
    "figures.bowl": ("descend", "draw_descent"),
    "helpers.engine.servers.cure": ("Cure",),
    "helpers.engine.servers.rule": ("Decision", "Rule"),
    "helpers.engine.tf_cluster": ("run_cluster",),
    "helpers.lessons.data_parallel.experiments.models": ("wide_mlp",),
    "helpers.lessons.messages.algorithms.cost_model": ("INTERCONNECTS",),
    "helpers.lessons.parameter_servers.algorithms.server_optimizers": ("Sgd", "cosine"),
    "helpers.lessons.parameter_servers.experiments.digits_task": ("DigitsTask", "ShardedDigits"),
    "helpers.lessons.parameter_servers.experiments.step_times": ("Gamma", "HeavyTail", "OneSlow"),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.progress": ("progress",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
    "helpers.course.setup.machine": ("usable_cores",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
