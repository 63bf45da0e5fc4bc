"""Lesson 05, parameter servers."""

from helpers.rooms import Names, handed_out

NUMBER = "05"
BUILDS: tuple[str, ...] = ("clients", "placement", "server_optimizers")
NAMES: Names = {
    "": ("helpers.notebook.published",),
    "algorithms.clients": ("LocalSteps",),
    "algorithms.server_optimizers": ("Sgd",),
    "algorithms.update_rules": ("SoftSync", "Synchronous"),
    "experiments.alexnet": ("tensor_bytes",),
    "experiments.digits_task": ("ShardedDigits",),
    "experiments.step_times": ("Constant", "Gamma"),
    "experiments.tf_parameter_server": ("train_parameter_server",),
    "figures.servers_knobs": ("draw_servers", "round_words"),
    "figures.servers_view": (
        "show_averaging",
        "show_bytes",
        "show_downpour",
        "show_eight_workers",
        "show_machines",
        "show_placement",
        "show_rates",
        "show_served",
        "show_staleness",
        "show_throughput",
    ),
    "helpers.engine.servers.rule": ("Decision", "Rule"),
    "helpers.lessons.messages.algorithms.cost_model": ("INTERCONNECTS",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
