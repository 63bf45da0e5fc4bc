"""Backward in two halves: orders, idle time and memory by formula, and gradients put off."""

from __future__ import annotations

from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from helpers.lessons.pipelines.algorithms.deferred import PutOff
from helpers.lessons.pipelines.algorithms.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
)
from helpers.lessons.pipelines.algorithms.schedules import (
    live_activations,
    one_forward_one_backward,
    orders,
    validate,
)
from helpers.lessons.pipelines.algorithms.timetable import (
    in_a_v,
    makespan,
    own_idle,
    timetable,
)
from helpers.lessons.pipelines.algorithms.zero_bubble import split_bubble, zb_v, zero_bubble

zb_h2 = partial(zero_bubble, times=2)
some = settings(max_examples=25)
STAGES, MANY = st.integers(1, 8), st.integers(1, 20)
TIMES = st.sampled_from([0.5, 1.0, 1.5, 2.0, 3.0])  # sums are exact


def clock(f: float, b: float, w: float, chunks: int = 1):
    kinds = {Forward: f, BackwardInput: b, BackwardWeights: w, Backward: b + w}
    return lambda rank, now: kinds[type(now)] / chunks


@some
@given(STAGES, st.integers(0, 9), TIMES, TIMES, TIMES)
def test_idle_time_is_the_papers(stages, more, f, b, w):
    w = min(w, f, b)  # the handmade schedules are for parts that are alike
    count = stages + more
    both = orders(one_forward_one_backward, stages, count)
    table = timetable(both, clock(f, b, w))
    assert makespan(table) - count * (f + b + w) == split_bubble(stages, f, b, w)
    table = timetable(orders(zero_bubble, stages, count), clock(f, b, w))
    assert makespan(table) - count * (f + b + w) == split_bubble(stages, f, b, w, saved=2)
    table = timetable(orders(zb_h2, stages, 2 * stages - 1 + more), clock(f, b, w))
    assert max(map(own_idle, table)) == split_bubble(stages, f, b, w, saved=3)


@some
@given(STAGES, st.integers(0, 9), TIMES)
def test_the_v_is_complete_without_a_bubble_where_all_parts_take_equally_long(ranks, more, each):
    validate(orders(zb_v, ranks, more + 1), more + 1, chunks=2, place=in_a_v)
    count = 2 * ranks - 1 + more
    table = timetable(orders(zb_v, ranks, count), clock(each, each, each, chunks=2), place=in_a_v)
    assert max(map(own_idle, table)) == 0


@some
@given(STAGES, st.integers(0, 9))
def test_memory_is_the_papers(stages, more):
    count = 2 * stages - 1 + more
    held = {
        schedule: [live_activations(stream) for stream in orders(schedule, stages, count)]
        for schedule in (one_forward_one_backward, zero_bubble, zb_h2, zb_v)
    }
    assert held[one_forward_one_backward] == [stages - s for s in range(stages)]
    assert held[zero_bubble] == [stages] * stages
    assert held[zb_h2] == [2 * stages - 1] * stages
    assert held[zb_v] == [2 * stages] * stages  # of half stages


def test_halves_that_are_missing_doubled_or_turned_round_are_refused():
    half, rest = BackwardInput(0), BackwardWeights(0)
    for behind in ([half], [Backward(0), rest], [half, half, rest], [rest, half]):
        with pytest.raises(ValueError, match=r"needs one for each|wait for each other"):
            validate([[Forward(0), *behind]], 1)


# --- gradients put off -------------------------------------------------------------------------


def a_model() -> nn.Sequential:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Linear(4, 6), nn.LayerNorm(6), nn.Tanh(), nn.Linear(6, 6, bias=False), nn.Linear(6, 2)
    ).double()


@pytest.mark.parametrize(
    "frozen", [(), ("0.weight",), ("3.weight", "4.bias"), ("1.bias", "0.bias")]
)
def test_what_is_put_off_is_what_backward_gives(frozen):
    model, twin = a_model(), a_model()
    for one in (model, twin):
        for name in frozen:
            one.get_parameter(name).requires_grad_(False)
    put_off = PutOff(model)
    x = torch.randn(3, 5, 4, dtype=torch.float64)
    a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
    for _ in range(2):  # the second is added to the first
        twin(b).pow(2).sum().backward()
        put_off.into = later = []
        model(a).pow(2).sum().backward()
        assert len(later) == 3
        for product in later:
            product()
    torch.testing.assert_close(a.grad, b.grad, rtol=1e-12, atol=1e-12)
    for name, parameter in twin.named_parameters():
        mine = model.get_parameter(name)
        assert (mine.grad is None) == (parameter.grad is None), name
        if parameter.grad is not None:
            assert not mine.grad.requires_grad
            torch.testing.assert_close(mine.grad, parameter.grad, rtol=1e-12, atol=1e-12)
