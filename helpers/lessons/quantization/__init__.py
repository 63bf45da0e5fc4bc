"""The exercises of lesson 11, quantization."""

# The modules of helpers.algorithms that hold what this lesson builds.
BUILDS: tuple[str, ...] = (
    *("quantization.quantization", "quantization.calibration", "quantization.integer_layers"),
    *("quantization.integer_pools", "quantization.folding", "quantization.fake_quantization"),
    *("quantization.quantized_training", "quantization.quantized_model", "quantization.mxfp4"),
    *("quantization.dynamic_layers", "quantization.dynamic_recurrent", "quantization.weight_only"),
    *("quantization.requantize", "quantization.packing", "quantization.block_formats"),
)
# What its answers may use and nobody has to write.
GIVES: tuple[str, ...] = (
    "quantization.integer_products",
    "quantization.packed_products",
    "quantization.windows",
)
# What answers one of its exercises though no spec names it, as (module, name).
ANSWERS: tuple[tuple[str, str], ...] = (
    ("quantization.integer_layers", "integer_linear"),
    ("quantization.calibration", "best_bound"),
    ("quantization.calibration", "least_error_cut"),
    ("quantization.calibration", "LeastError"),
)
