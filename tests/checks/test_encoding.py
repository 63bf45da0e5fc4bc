"""Values that cross from the sandbox: what goes in comes out, and nothing else comes out."""

from __future__ import annotations

import json
import math
import socket
import struct
import threading
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from helpers.checks.compare import Other
from helpers.checks.encoding import MAX_DEPTH, TYPES, Malformed, decode, encode, loads
from helpers.engine.own_time import Late, Limit, OwnTime, Seen
from helpers.grade.worker.frames import Closed, Frames

integers = st.integers(-(2**63) + 1, 2**63 - 1)
scalars = st.none() | st.booleans() | integers | st.floats() | st.text(max_size=20)
tensors = arrays.arrays(
    st.sampled_from(sorted(TYPES)).map(np.dtype), arrays.array_shapes(min_dims=0, max_side=4)
)
values = st.recursive(
    scalars | tensors,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(integers | st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=12,
)
json_data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["number", "tuple", "dict", "array", "other", "x"]), inner, max_size=2
        )
    ),
    max_leaves=12,
)


def same(one: Any, other: Any) -> bool:
    """Equal in value and in type, all the way down; NaN equals itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray):
        return one.dtype == other.dtype and one.shape == other.shape and equal_bits(one, other)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    return one == other or (isinstance(one, float) and math.isnan(one) and math.isnan(other))


def equal_bits(one: np.ndarray, other: np.ndarray) -> bool:
    return one.tobytes() == other.tobytes()


@given(values)
def test_a_value_comes_back_as_it_was(value: Any) -> None:
    sent = loads(json.dumps(encode(value), allow_nan=False).encode())
    assert same(decode(sent), value)


@given(json_data)
@settings(max_examples=500)
def test_any_data_is_a_plain_value_or_refused(data: Any) -> None:
    try:
        value = decode(data)
    except Malformed:
        return
    assert plain(value)


def plain(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(map(plain, value))
    if type(value) is dict:
        return all(type(k) in (int, str) and plain(v) for k, v in value.items())
    return type(value) in (type(None), bool, int, float, str, np.ndarray, Other)


@pytest.mark.parametrize(
    "data",
    [
        2**63,
        {"number": "1e5"},
        {"number": "nan", "tuple": []},
        {"array": ["object", [1], "AAAAAAAAAAA="]},
        {"array": ["float32", [2], "AAAA"]},
        {"array": ["float32", [-1], ""]},
        {"array": ["float32", [2**30, 2**30], ""]},
        {"array": ["uint8", [3], "AA\nA"]},
        {"array": ["uint8", [True], "AA=="]},
        {"dict": [[[1], 2]]},
        {"dict": [[1, 2], [1, 3]]},
        {"dict": [[1.0, 2]]},
        {"other": 3},
        {"__class__": "float"},
        {},
        "x" * 100_000,
    ],
)
def test_what_no_encoder_makes_is_refused(data: Any) -> None:
    with pytest.raises(Malformed):
        decode(data)


def test_what_is_too_deep_is_refused() -> None:
    data: Any = 0
    for _ in range(MAX_DEPTH + 1):
        data = [data]
    with pytest.raises(Malformed):
        decode(data)


@pytest.mark.parametrize(
    "text",
    [
        b"[" * 100_000,
        b"[" + b"0," * 1_000_000 + b"0]",
        b"\xff\xfe",
        b"9" * 5000,
        b"",
        b"{} {}",
    ],
    ids=["deep", "long", "no text", "huge", "empty", "two"],
)
def test_json_that_no_worker_sends_is_refused(text: bytes) -> None:
    with pytest.raises(Malformed):
        loads(text)


def test_a_huge_integer_and_a_strange_object_become_names() -> None:
    assert decode(encode(10**30)) == Other("huge integer")
    assert decode(encode({1, 2})) == Other("set")


def test_messages_cross_whole_and_in_order() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        sent = [{"n": n, "data": "x" * 300_000} for n in range(3)]
        sender = threading.Thread(target=lambda: [Frames(theirs).send(m) for m in sent])
        sender.start()
        reader = Frames(ours)
        assert [reader.read() for _ in sent] == sent
        sender.join()


class Sleepers(OwnTime):
    """Processes that are asleep at each look."""

    def _look(self) -> Seen:
        return Seen(0.0, True)


def test_who_waits_for_an_answer_is_not_asleep_meanwhile() -> None:
    ours, theirs = socket.socketpair()
    own = Sleepers(lambda: ())
    with ours, theirs:
        frames, other = Frames(ours), Frames(theirs)
        for number in range(3):  # the answers are there at once, and only what reads them is slow
            other.send(number)
            own._at -= 1.0
            assert frames.read(Limit(own, 1.0)) == number
        assert own.slept < 0.1
        own._at -= 1.0
        with pytest.raises(Late):
            frames.read(Limit(own, 0.3))  # nothing comes


def over() -> Limit:
    """The limit of somebody who has nothing left."""
    return Limit(OwnTime(lambda: ()), 0.0)


def test_nobody_waits_for_a_message_that_does_not_end() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack(">I", 100) + b"{")
        with pytest.raises(Late):
            Frames(ours).read(over())


def test_nobody_waits_for_one_who_does_not_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(Late):
        Frames(ours).send("x" * 10_000_000, limit=over())


def test_the_end_of_the_other_side_is_told() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours:
        with pytest.raises(Closed):
            Frames(ours).read()
        with pytest.raises(Closed):
            Frames(ours).send({})


def test_a_message_that_is_too_long_is_refused_before_it_is_read() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(struct.pack(">I", 2**32 - 1))
        with pytest.raises(Malformed):
            Frames(ours).read()
