"""Messages of real ranks that are hard: many at once, refused, behind the rank's back."""

from __future__ import annotations

import gc
import time
import weakref
from typing import Any

import pytest
import torch

import helpers
from helpers.engine import processes
from helpers.engine.comm import Comm
from helpers.engine.errors import RankFailed

pytestmark = pytest.mark.real

TRANSPORTS = pytest.mark.parametrize("transport", ["shared memory", "sockets"])


def run(fn: Any, **options: Any) -> Any:
    return helpers.run(fn, **{"ranks": 2, "timeout": 30.0, "show": False, **options})


def test_hundreds_of_messages_each_asked_for_before_it_comes() -> None:
    many = 300

    def fn(comm: Comm) -> list[int]:
        other = 1 - comm.rank
        if comm.rank == 0:
            asked = [comm.irecv(other) for _ in range(many)]
            sent = [comm.isend(torch.tensor(number), other) for number in range(many)]
        else:
            sent = []
            for number in range(many):
                comm.compute(1e-3)
                sent.append(comm.isend(torch.tensor(number), other))
            asked = [comm.irecv(other) for _ in range(many)]
        got = [int(request.wait()) for request in reversed(asked)]
        for request in sent:
            request.wait()
        return got

    assert list(run(fn)) == [list(reversed(range(many)))] * 2


@TRANSPORTS
def test_a_message_that_is_refused_is_out_of_the_way(transport: str) -> None:
    def fn(comm: Comm) -> Any:
        if comm.rank == 0:
            comm.send(torch.ones(3), 1)
            comm.send(torch.full((4,), 2.0), 1)
            return None
        with pytest.raises(ValueError, match=r"rank 0 sent \(3,\)"):
            comm.recv(0, into=torch.zeros(4))
        return comm.recv(0).tolist()

    assert run(fn, transport=transport)[1] == [2.0] * 4


@pytest.mark.parametrize(
    ("transport", "wait"),
    [
        ("shared memory", "send"),
        ("shared memory", "background"),
        ("sockets", "receive"),
        ("sockets", "barrier"),
    ],
)
def test_what_background_work_raises_ends_a_wait_for_another_rank(
    transport: str, wait: str
) -> None:
    def fn(comm: Comm) -> None:
        def work(its_comm: Comm) -> None:
            raise ValueError("behind the rank's back")

        if comm.rank == 0:  # is late, so that the other one waits
            time.sleep(60)
        comm.background(work)
        if wait == "receive":
            comm.recv(0)
        elif wait == "background":
            comm.background(lambda its_comm: its_comm.recv(0)).wait()
        elif wait == "send":
            comm.isend(torch.zeros(1_000_000), 0).wait()
        else:
            comm.barrier()

    with pytest.raises(RankFailed, match="behind the rank's back") as caught:
        run(fn, transport=transport)
    assert caught.value.rank == 1


def test_two_failures_of_a_rank_are_both_told() -> None:
    def fn(comm: Comm) -> None:
        def work(its_comm: Comm) -> None:
            raise ValueError("behind the rank's back")

        job = comm.background(work)
        while not job.done():
            time.sleep(0.01)
        raise KeyError("before its eyes")

    with pytest.raises(RankFailed, match="KeyError") as caught:
        run(fn, ranks=1)
    assert "A background function raised too: ValueError: behind" in caught.value.report
    assert 'raise ValueError("behind' in caught.value.report


def test_different_failures_of_two_ranks_at_once_are_both_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    receive = processes.LocalRun.receive

    def when_all_have_failed(run: processes.LocalRun, rank: int) -> None:
        while not all(map(processes.readable, run.controls)):
            time.sleep(0.01)
        receive(run, rank)

    def fn(comm: Comm) -> None:
        raise ValueError("the odd one" if comm.rank == 1 else "the even ones")

    monkeypatch.setattr(processes.LocalRun, "receive", when_all_have_failed)
    with pytest.raises(RankFailed) as caught:
        run(fn, ranks=3)
    told = caught.value.report
    assert "the odd one" in told and "the even ones" in told
    assert "at the same time" in told and told.count("Traceback of rank") == 2


def test_what_was_raised_and_caught_is_not_raised_again() -> None:
    def fn(comm: Comm) -> str:
        def work(its_comm: Comm) -> None:
            raise ValueError("caught")

        said = ""
        try:
            comm.background(work).wait()
        except ValueError as error:
            said = str(error)
        comm.barrier()
        comm.background(lambda its_comm: its_comm.time()).wait()
        return said

    assert list(run(fn)) == ["caught"] * 2


def test_background_work_that_has_ended_keeps_no_tensor() -> None:
    def fn(comm: Comm) -> int:
        alive = []
        for _ in range(20):
            tensor = torch.ones(1000)
            alive.append(weakref.ref(tensor))
            comm.background(lambda its_comm, t: t.sum(), tensor).wait()
            del tensor
        gc.collect()
        return sum(reference() is not None for reference in alive)

    assert max(run(fn)) <= 1  # the last one's may still be on its way out
