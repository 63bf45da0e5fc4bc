"""Lesson 10, fewer bits, or less often."""

from helpers.rooms import Names, handed_out

NUMBER = "10"
BUILDS: tuple[str, ...] = ("feedback", "loss_scale", "pays", "power_sgd", "two_way", "diloco")
NAMES: Names = {
    "": (
        "experiments.fewer_bits",
        "experiments.half_training",
        "experiments.hooked_steps",
        "experiments.scheme_steps",
    ),
    "algorithms.step_cost": ("compressed_step",),
    "experiments.embedding_steps": ("WIDTH", "measured"),
    "figures.fewer_bits_view": (
        "pays_picture",
        "pays_words",
        "show_lines",
        "show_losses",
        "show_scaled",
    ),
    "helpers.lessons.bandwidth.algorithms.sparse": ("sum_sparse",),
    "helpers.lessons.bandwidth.experiments.host_steps": ("source",),
    "helpers.lessons.bandwidth.figures.bandwidth_view": ("show_bars",),
    "helpers.lessons.messages.algorithms.collectives": ("all_reduce_ring",),
    "helpers.lessons.parameter_servers.algorithms.clients": ("LocalSteps",),
    "helpers.lessons.parameter_servers.algorithms.server_optimizers": ("AdamW", "Sgd"),
    "helpers.lessons.parameter_servers.algorithms.update_rules": ("Averaging", "Synchronous"),
    "helpers.lessons.parameter_servers.experiments.digits_task": ("DigitsTask",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
    "helpers.course.setup.state": ("horovod_missing",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
