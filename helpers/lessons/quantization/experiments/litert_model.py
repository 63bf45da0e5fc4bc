"""A model as a file for phones: TensorFlow's converter makes it, LiteRT runs it.

torch's layers are built again out of TensorFlow's operations, and the converter turns these into
ones on 8-bit codes. Sources: TensorFlow's documentation, "Post-training integer quantization" and
"LiteRT 8-bit quantization specification".
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from helpers.engine.chatter import silence
from helpers.lessons.quantization.algorithms.folding import fold
from helpers.lessons.quantization.algorithms.integer_pools import check_average
from helpers.lessons.quantization.algorithms.quantization import Grid
from helpers.lessons.quantization.algorithms.quantized_training import IDLE, flat
from helpers.lessons.quantization.algorithms.windows import Sliding, pair


def to_litert(model: nn.Module, batches: Iterable[Tensor]) -> bytes:
    """A LiteRT file of whole numbers from end to end: 8-bit codes in and out, 32-bit sums.

    model: an nn.Sequential, of others too, of linear layers, convolutions (in groups of one input
    channel, or none), batch norms behind them, ReLU, AvgPool2d, Flatten and Unflatten. batches:
    inputs to find ranges with; the lowest and the highest value seen count. Weights have one scale
    a channel. Raises TypeError for another layer.
    """
    from helpers.notebook.quiet import tensorflow as tf

    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # or it tells where it wrote

    layers = [m for m in flat(fold(model).cpu()) if not isinstance(m, IDLE)]
    given = [batch.detach().float().cpu().numpy() for batch in batches]
    for layer in layers:
        _rule(layer)  # before the converter starts

    @tf.function(input_signature=[tf.TensorSpec([None, *given[0].shape[1:]], tf.float32)])
    def run(x: Any) -> Any:
        return _run(tf, layers, x)

    with silence(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        concrete = run.get_concrete_function()
        converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: ([batch] for batch in given)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
        return bytes(converter.convert())


class LiteRT:
    """Runs a file that `to_litert` has made; needs no TensorFlow. Floats in, floats out.

    content: the file.
    """

    def __init__(self, content: bytes) -> None:
        from ai_edge_litert.interpreter import Interpreter

        with silence():
            self._interpreter = Interpreter(model_content=content, num_threads=1)
            self._interpreter.allocate_tensors()
        (self._entrance,) = self._interpreter.get_input_details()
        (self._exit,) = self._interpreter.get_output_details()
        self._rows = -1

    def __call__(self, x: Tensor) -> Tensor:
        """x: (rows, …), as the model takes it. Returns what the model returns, float32."""
        codes = _grid(self._entrance).quantize(x.detach().float()).numpy()
        run = self._interpreter
        if len(codes) == 0:
            return torch.zeros(0, *self._exit["shape_signature"][1:])
        if len(codes) != self._rows:
            run.resize_tensor_input(self._entrance["index"], codes.shape)
            with silence():
                run.allocate_tensors()
            self._rows = len(codes)
        run.set_tensor(self._entrance["index"], codes)
        run.invoke()
        found = torch.from_numpy(run.get_tensor(self._exit["index"]))
        return _grid(self._exit).dequantize(found)


def _grid(details: Any) -> Grid:
    """The codes of a tensor as LiteRT describes it; its zero points are whole numbers."""
    scale, zero_point = details["quantization"]
    return Grid(torch.tensor(scale), torch.tensor(zero_point, dtype=torch.int32))


def _run(tf: Any, layers: list[nn.Module], x: Any) -> Any:
    """Layer after layer. Pictures have their channels last in between: LiteRT knows no other way.

    x: pictures with channels first, or rows of features. So is what is returned.
    """
    if x.shape.rank == 4:
        x = tf.transpose(x, [0, 2, 3, 1])
    for layer in layers:
        x = _rule(layer)(tf, layer, x)
    return tf.transpose(x, [0, 3, 1, 2]) if x.shape.rank == 4 else x


def _linear(tf: Any, layer: Any, x: Any) -> Any:
    x = tf.matmul(x, layer.weight.detach().t().contiguous().numpy())
    return x if layer.bias is None else tf.nn.bias_add(x, layer.bias.detach().numpy())


def _conv(tf: Any, layer: Any, x: Any) -> Any:
    sliding = Sliding.of(layer)
    x, padding = _padded(tf, sliding, x)
    weight = layer.weight.detach()  # (out, in / groups, height, width)
    settings: dict[str, Any] = {"padding": padding, "dilations": list(sliding.dilation)}
    if layer.groups == 1:
        kernel = weight.permute(2, 3, 1, 0).contiguous().numpy()
        x = tf.nn.conv2d(x, kernel, strides=list(sliding.stride), **settings)
    else:  # one input channel in each group
        kernel = weight.view(layer.groups, -1, *sliding.kernel).permute(2, 3, 0, 1)
        strides = [1, *sliding.stride, 1]
        x = tf.nn.depthwise_conv2d(x, kernel.contiguous().numpy(), strides, **settings)
    return x if layer.bias is None else tf.nn.bias_add(x, layer.bias.detach().numpy())


def _padded(tf: Any, sliding: Sliding, x: Any) -> tuple[Any, str]:
    """The picture with zeros around it, or the word for "as many as keep its size"."""
    left, right, top, bottom = sliding.around
    reach = [d * (k - 1) for d, k in zip(sliding.dilation, sliding.kernel, strict=True)]
    keeps = [top, bottom, left, right] == [half for r in reach for half in (r // 2, r - r // 2)]
    if keeps and sliding.stride == (1, 1):
        return x, "SAME"
    if any(sliding.around):
        x = tf.pad(x, [[0, 0], [top, bottom], [left, right], [0, 0]])
    return x, "VALID"


def _relu(tf: Any, layer: Any, x: Any) -> Any:
    return tf.nn.relu(x)


def _pool(tf: Any, layer: Any, x: Any) -> Any:
    check_average(layer)
    return tf.nn.avg_pool2d(x, pair(layer.kernel_size), pair(layer.stride), "VALID")


def _flatten(tf: Any, layer: Any, x: Any) -> Any:
    if x.shape.rank == 4 and (x.shape[1], x.shape[2]) != (1, 1):
        x = tf.transpose(x, [0, 3, 1, 2])  # torch's order of features
    return tf.reshape(x, [-1, int(np.prod(x.shape[1:]))])


def _unflatten(tf: Any, layer: Any, x: Any) -> Any:
    return tf.transpose(tf.reshape(x, [-1, *layer.unflattened_size]), [0, 2, 3, 1])


RULES: dict[type[nn.Module], Callable[[Any, Any, Any], Any]] = {
    nn.Linear: _linear,
    nn.Conv2d: _conv,
    nn.ReLU: _relu,
    nn.AvgPool2d: _pool,
    nn.Flatten: _flatten,
    nn.Unflatten: _unflatten,
}


def _rule(layer: nn.Module) -> Callable[[Any, Any, Any], Any]:
    """How a layer is built in TensorFlow."""
    if type(layer) not in RULES:
        known = ", ".join(kind.__name__ for kind in RULES)
        raise TypeError(f"{type(layer).__name__} cannot go into a LiteRT file here: use {known}.")
    return RULES[type(layer)]
