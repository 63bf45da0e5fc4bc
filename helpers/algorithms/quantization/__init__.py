"""Lesson 11: numbers in few bits, layers that compute with them, models made of such layers.

Read `quantization` first, the affine map, then `calibration`, `folding` and `fake_quantization`.
`integer_products` and `requantize` carry the `integer_layers` and `integer_pools`, `dynamic_layers`
and `dynamic_recurrent` find their ranges as they go, `weight_only` keeps its products in floats.
`quantized_training` and `quantized_model` put whole models together. `packing`, `packed_products`
and `windows` are the tools.
"""
