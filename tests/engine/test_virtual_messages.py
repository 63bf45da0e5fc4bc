"""Messages, requests, shared buffers and background work on the virtual clock."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from on_virtual import ALPHA, BANDWIDTH, nothing_is_left, run

__all__ = ["nothing_is_left"]


def test_a_tensor_is_sent_as_it_was():
    def fn(comm):
        if comm.rank == 0:
            tensor = torch.arange(6.0, requires_grad=True)
            request = comm.isend(tensor.detach(), 1)
            with torch.no_grad():
                tensor.zero_()
            request.wait()
            comm.send(tensor * 2, 1)
            return None
        first, second = comm.recv(0), comm.recv(0)
        return first, second.requires_grad

    first, grad = run(fn)[1]
    assert torch.equal(first, torch.arange(6.0))
    assert grad is False


def test_receive_into_fills_the_tensor_itself():
    def fn(comm):
        if comm.rank == 0:
            comm.send(torch.arange(4.0).reshape(2, 2), 1)
            comm.send(np.arange(3), 1)
            return None
        into, array = torch.zeros(2, 2).t(), np.zeros(3, int)
        assert comm.recv(0, into=into) is into
        assert comm.recv(0, into=array) is array
        return into, array

    into, array = run(fn)[1]
    assert torch.equal(into, torch.arange(4.0).reshape(2, 2))
    assert array.tolist() == [0, 1, 2]


def test_a_request_can_be_asked_twice():
    def fn(comm):
        if comm.rank == 0:
            request = comm.isend(torch.ones(2), 1)
            return request.wait(), request.wait(), request.done()
        request = comm.irecv(0)
        return request.wait() is request.wait(), request.done()

    assert list(run(fn)) == [(None, None, True), (True, True)]


def test_asking_again_and_again_lets_the_others_go_on():
    def fn(comm):
        if comm.rank == 0:
            comm.compute(1.0)
            comm.send(torch.ones(1), 1)
            comm.send(torch.ones(1), 2)
        else:
            request = comm.irecv(0)
            while not request.done():
                pass
        return comm.time()

    one = ALPHA + 4 / BANDWIDTH
    # A loop that looks ends just when the message is there, with two that look at once as well.
    assert list(run(fn, ranks=3)) == pytest.approx([1 + 2 * one, 1 + one, 1 + 2 * one])


# --- background -----------------------------------------------------------------------------------


def test_background_work_overlaps_and_keeps_its_own_messages():
    def exchange(comm, tensor):
        other = 1 - comm.rank
        request = comm.isend(tensor, other)
        value = comm.recv(other)
        request.wait()
        return value

    def fn(comm):
        comm.compute(1.0)
        first = comm.background(exchange, torch.full((25_000,), 1.0))
        second = comm.background(exchange, torch.full((25_000,), 2.0))
        comm.compute(0.05)
        # The rank's own messages of the same moment do not mix with those.
        own = exchange(comm, torch.full((1,), 3.0))
        comm.compute(0.05)
        return float(first.wait()[0]), float(second.wait()[0]), float(own[0]), comm.time()

    results = run(fn)
    # 100 kB take 0.1 s; the two jobs come one after the other, with the rank's 4 B between.
    assert all(r[:3] == (1.0, 2.0, 3.0) for r in results)
    assert all(r[3] == pytest.approx(1.2 + 2 * ALPHA, abs=2e-4) for r in results)
    lanes = {e.lane for e in results.trace.of(0)}
    assert lanes == {0, 1}
    begun = results.trace.of(0, lane=1)[0].start
    assert begun == 1.0
    assert "wait for exchange" in {e.label for e in results.trace.of(0, "waiting", lane=0)}


def test_a_rank_waits_for_background_work_at_its_end():
    def work(comm):
        comm.compute(2.0)
        comm.isend(torch.ones(1), (comm.rank + 1) % comm.size)
        comm.recv((comm.rank - 1) % comm.size)

    def fn(comm):
        comm.background(work)

    assert all(s == pytest.approx(2 + ALPHA + 4e-6) for s in run(fn, ranks=3).stats.seconds)


def test_background_works_again_after_a_rest():
    def work(comm, seconds):
        comm.compute(seconds)
        return comm.time()

    def fn(comm):
        first = comm.background(work, 1.0).wait()
        comm.compute(5.0)
        return first, comm.background(work, 1.0).wait()

    assert run(fn, ranks=1)[0] == (1.0, 7.0)
