"""Tensors as headers and bytes: every kind comes out as it went in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from helpers.engine import tensors

TORCH = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.uint8,
         torch.int16, torch.int32, torch.int64, torch.bool, torch.complex64]  # fmt: skip
NUMPY = ["float32", "float64", "float16", "int8", "uint16", "int64", "bool", "complex128"]
shapes = st.lists(st.integers(0, 4), max_size=4).map(tuple)


class Marked(torch.Tensor):
    """A tensor that says more than its numbers do."""


def through(tensor):
    """A tensor as a receiver gets it, by its header and its bytes alone."""
    header, data = tensors.pack(tensor)
    assert data.dtype == np.uint8
    assert data.shape == (header.nbytes,)
    made, target = tensors.empty(header)
    target[:] = data
    return tensors.finish(header, made, torch.device("cpu"))


@given(shape=shapes, dtype=st.sampled_from(TORCH))
def test_torch_tensors_come_through(shape, dtype):
    tensor = (torch.randn(shape) * 3).to(dtype)
    for received in (through(tensor), tensors.snapshot(tensor)[1]):
        assert (received.dtype, received.shape) == (dtype, tensor.shape)
        assert torch.equal(received, tensor)
    assert tensors.describe(tensor) == tensors.pack(tensor)[0] == tensors.snapshot(tensor)[0]


@given(shape=shapes, dtype=st.sampled_from(NUMPY))
def test_arrays_come_through(shape, dtype):
    array = np.asarray(np.random.default_rng(0).normal(size=shape) * 3).astype(dtype)
    for received in (through(array), tensors.snapshot(array)[1]):
        assert (received.dtype, received.shape) == (array.dtype, array.shape)
        assert np.array_equal(received, array)
    assert tensors.describe(array) == tensors.pack(array)[0]


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(12.0).reshape(3, 4).t(),
        torch.arange(12.0)[::3],
        torch.arange(4.0)[2::2][:1],
        torch.ones(1).expand(5),
        torch.ones(3, requires_grad=True) * 2,
        torch.nn.Parameter(torch.ones(2)),
        torch.tensor([1 + 2j, 3j]).conj(),
        torch.arange(8.0).reshape(1, 2, 2, 2).to(memory_format=torch.channels_last),
    ],
)
def test_views_and_gradients(tensor):
    for received in (through(tensor), tensors.snapshot(tensor)[1]):
        assert torch.equal(received, tensor.detach())
        assert received.is_contiguous()
        assert not received.requires_grad


@pytest.mark.parametrize(
    "array",
    [
        np.arange(12).reshape(3, 4).T,
        np.arange(12)[::-2],
        np.arange(4.0)[2::2][:1],
        np.float64(3.5),
        np.arange(3, dtype=">f4"),
        np.asfortranarray(np.ones((2, 3))),
    ],
)
def test_views_of_arrays_and_other_byte_orders(array):
    for received in (through(array), tensors.snapshot(array)[1]):
        assert np.array_equal(received, array)


@pytest.mark.parametrize(
    "wrong",
    [3.0, [1, 2], "text", None, np.array(["a"]), np.array([object()]), torch.eye(2).to_sparse(),
     np.array([(1, 2.0)], "i4,f4"), np.array(["2020-01-01"], "datetime64[D]"), {"a": 1}, (1, 2),
     torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8), torch.ones(2, device="meta"),
     torch.nested.nested_tensor([torch.ones(2)], layout=torch.jagged),
     torch.ones(2).as_subclass(Marked),
     np.ma.masked_array([1.0, 2.0], [0, 1])],
)  # fmt: skip
def test_what_cannot_be_sent_is_named(wrong):
    for take in (tensors.pack, tensors.snapshot):
        with pytest.raises(TypeError, match="can be sent, not "):
            take(wrong)


def test_receiving_into():
    header, data = tensors.pack(torch.arange(6.0).reshape(2, 3))
    into = torch.zeros(2, 3, requires_grad=True)
    target = tensors.writable(into, header, "Rank 1")
    target[:] = data
    assert into.tolist() == [[0, 1, 2], [3, 4, 5]]
    # A view that is not contiguous cannot be filled by bytes; `store` fills it.
    view = torch.zeros(3, 2).t()
    assert tensors.writable(view, header, "Rank 1") is None
    tensors.store(view, torch.ones(2, 3))
    assert view.sum() == 6
    array = np.zeros((3, 2), np.float32).T
    assert tensors.writable(array, header, "Rank 1") is None
    tensors.store(array, torch.ones(2, 3))
    assert array.sum() == 6


@pytest.mark.parametrize(
    ("into", "text"),
    [
        (torch.zeros(3, 2), r"\(2, 3\) float32, but it is to be received into \(3, 2\)"),
        (torch.zeros(2, 3, dtype=torch.int32), r"into \(2, 3\) int32"),
        (np.zeros(6, np.float32), r"into \(6,\) float32"),
        ([0.0] * 6, "into a list"),
    ],
)
def test_receiving_into_what_does_not_fit(into, text):
    header = tensors.describe(torch.zeros(2, 3))
    with pytest.raises(ValueError, match=text):
        tensors.writable(into, header, "Rank 1")


@pytest.mark.tensorflow
def test_tensorflow_tensors_come_through(tensorflow):
    tf = tensorflow
    for dtype in (tf.float32, tf.int64, tf.bfloat16, tf.bool):
        tensor = tf.cast(tf.reshape(tf.range(6), (2, 3)), dtype)
        for sent in (tensor, tf.Variable(tensor)):
            received = through(sent)
            assert isinstance(received, tf.Tensor)
            assert received.dtype == dtype
            assert bool(tf.reduce_all(received == tensor))
            header, copy = tensors.snapshot(sent)
            assert tensors.finish(header, copy, None).dtype == dtype
