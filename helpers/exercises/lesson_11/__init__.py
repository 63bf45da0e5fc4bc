"""The exercises of lesson 11, quantization."""

from helpers.exercises.lesson_11 import (
    bounds,
    codes,
    folding,
    products,
    straight_through,
    weights,
)

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    "quantization",
    "calibration",
    "integer_layers",
    "integer_pools",
    "folding",
    "fake_quantization",
    "quantized_training",
    "quantized_model",
    "dynamic_layers",
    "dynamic_recurrent",
    "weight_only",
    "requantize",
    "packing",
)
# What its answers may use and nobody has to write.
GIVES: tuple[str, ...] = ("integer_products", "packed_products", "windows")
# What answers one of its exercises though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("integer_layers", "integer_linear"),
    ("calibration", "best_bound"),
    ("calibration", "least_error_cut"),
)

EXERCISES = (
    codes.EXERCISE,
    weights.EXERCISE,
    products.EXERCISE,
    bounds.EXERCISE,
    folding.EXERCISE,
    straight_through.EXERCISE,
)
