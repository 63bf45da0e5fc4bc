"""Lesson 11, quantization."""

from helpers.rooms import Names, handed_out

NUMBER = "11"
BUILDS: tuple[str, ...] = (
    "quantization",
    "calibration",
    "integer_layers",
    "integer_pools",
    "folding",
    "fake_quantization",
    "quantized_training",
    "quantized_model",
    "mxfp4",
    "dynamic_layers",
    "weight_only",
    "requantize",
)
GIVES: tuple[str, ...] = ("integer_products", "packed_products", "windows")
# What answers one of its exercises, in part, though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("integer_layers", "integer_linear"),
    ("calibration", "best_bound"),
    ("calibration", "least_error_cut"),
    ("calibration", "LeastError"),
)
NAMES: Names = {
    "": (
        "experiments.patients",
        "figures.quantization_knobs",
        "helpers.notebook.on_gpu",
        "helpers.notebook.published",
    ),
    "algorithms.calibration": ("OBSERVERS", "Observer", "Percentile", "observer"),
    "algorithms.dynamic_layers": ("DynamicLinear",),
    "algorithms.folding": ("fold",),
    "algorithms.integer_products": ("how_products_run", "int_matmul"),
    "algorithms.quantized_model": (
        "in_dtype",
        "quantize_dynamic",
        "quantize_static",
        "quantize_weights",
    ),
    "algorithms.quantized_training": ("convert",),
    "experiments.litert_model": ("LiteRT", "to_litert"),
    "experiments.model_file": ("save",),
    "experiments.torchao_model": ("torchao_dynamic",),
    "figures.forms_view": ("show_fewer", "show_forms", "show_losses", "show_products"),
    "figures.quantization_view": (
        "show_block_errors",
        "show_blocks",
        "show_bounds",
        "show_channels",
        "show_codes",
        "show_line",
    ),
    "helpers.notebook.predict": ("predict",),
    "helpers.notebook.tables": ("table",),
    "helpers.notebook.widgets": ("explore",),
}

__getattr__, __dir__ = handed_out(__name__, NAMES)
