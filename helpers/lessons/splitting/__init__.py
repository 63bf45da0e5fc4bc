"""Lesson 12, splitting a model."""

from helpers.rooms import Names, handed_out

NUMBER = "12"
BUILDS: tuple[str, ...] = (
    "model_split",
    "vertical_split",
    "partly_connected",
    "halo_split",
    "wave",
    "split_cost",
)
NAMES: Names = {
    "": ("helpers.notebook.on_gpu", "helpers.notebook.published"),
    "algorithms.model_split": ("LayerSplit",),
    "algorithms.partly_connected": ("band", "block_owners", "spectral_owners"),
    "algorithms.split_cost": ("dense_work",),
    "algorithms.vertical_split": ("VerticalSplit",),
    "algorithms.wave": ("Wave",),
    "exercises.recurrent_layers": ("recurrent",),
    "experiments.machines": ("machine",),
    "experiments.recurrent": ("recurrent_layers",),
    "experiments.split_clock": ("Dense", "Recurrent", "measure_dense", "measure_recurrent"),
    "experiments.split_gpus": ("DenseNet", "RecurrentNet", "speedup", "vertical_step", "wave_step"),
    "experiments.transformer": ("transformer",),
    "figures.split_knobs": ("knobs_picture", "knobs_words"),
    "figures.split_view": (
        "show_by_layer",
        "show_counted",
        "show_crossings",
        "show_distbelief",
        "show_gains",
        "show_speedups",
    ),
    "figures.wave_view": ("show_chunks", "show_on_clock", "show_wave"),
    "helpers.lessons.data_parallel.experiments.digits": ("digits",),
    "helpers.lessons.data_parallel.experiments.models": ("mlp",),
    "helpers.lessons.data_parallel.figures.step_view": ("last_step",),
    "helpers.lessons.messages.algorithms.collectives": ("all_reduce_ring",),
    "helpers.lessons.messages.algorithms.cost_model": ("INTERCONNECTS", "INTERCONNECTS_SOURCE"),
    "helpers.notebook.figures": ("show",),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
