"""Many ranks in one process: what is each rank's own, and what the process keeps."""

from __future__ import annotations

import contextlib
import io
import random
import sys
import threading

import numpy as np
import torch
from on_virtual import nothing_is_left, run

from helpers.engine.errors import RunError

__all__ = ["nothing_is_left"]


def draw():
    """Numbers of all three generators; normal ones come in pairs, one of which is kept."""
    return (
        torch.rand(1).item(),
        torch.randn(1).item(),
        np.random.normal(),
        np.random.rand(),
        random.random(),
        random.gauss(0, 1),
    )


def test_each_rank_draws_as_if_it_was_alone():
    def fn(comm, seed):
        if seed:
            torch.manual_seed(comm.rank)
            np.random.seed(comm.rank)
            random.seed(comm.rank)
        drawn = []
        for _ in range(5):
            drawn.append(draw())
            comm.compute((comm.rank * 7 % 3 + 1) * 1e-3)  # so the ranks take turns
        return drawn

    torch.manual_seed(7)
    np.random.seed(7)
    random.seed(7)
    np.random.normal()  # leaves a second number ready
    random.gauss(0, 1)
    states = torch.get_rng_state(), np.random.get_state(), random.getstate()
    unseeded = run(fn, False, ranks=3)
    # The caller's own state is as it was.
    assert torch.equal(torch.get_rng_state(), states[0])
    assert random.getstate() == states[2]
    assert all(np.array_equal(a, b) for a, b in zip(np.random.get_state(), states[1], strict=True))
    # A rank starts from the caller's state, and no other rank's draws disturb it.
    alone = [draw() for _ in range(5)]
    assert list(unseeded) == [alone] * 3
    seeded = run(fn, True, ranks=3)
    for rank in range(3):
        torch.manual_seed(rank)
        np.random.seed(rank)
        random.seed(rank)
        assert seeded[rank] == [draw() for _ in range(5)]


def test_gradient_mode_is_each_ranks_own():
    def fn(comm):
        with torch.no_grad() if comm.rank else contextlib.nullcontext():
            comm.barrier()
            return torch.is_grad_enabled()

    with torch.no_grad():
        assert list(run(fn)) == [True, False]


def test_output_is_collected_and_shown_in_rank_order(capsys):
    def fn(comm):
        comm.compute(-comm.rank + comm.size)
        print("begins", comm.rank)
        hidden = io.StringIO()
        with contextlib.redirect_stdout(hidden):
            print("hidden")
            comm.barrier()
            print("hidden")
        print("warns", file=sys.stderr, end="")
        return hidden.getvalue()

    results = run(fn, ranks=3)
    assert results.output == [f"begins {rank}\nwarns" for rank in range(3)]
    assert list(results) == ["hidden\nhidden\n"] * 3
    shown, errors = capsys.readouterr()
    assert shown.splitlines() == [
        f"rank {rank} | {text}" for rank in range(3) for text in (f"begins {rank}", "warns")
    ]
    assert errors == ""
    run(fn, ranks=3, show=False)
    assert capsys.readouterr().out == ""


def test_a_run_inside_a_rank():
    def inner(comm):
        torch.rand(comm.rank + 1)
        print("inner")
        comm.barrier()
        return comm.rank

    def fn(comm):
        before = torch.get_rng_state()
        inside = run(inner, ranks=3, show=False)
        print("outer")
        assert torch.equal(before, torch.get_rng_state())
        comm.barrier()
        return list(inside), inside.output

    results = run(fn, show=False)
    assert list(results) == [([0, 1, 2], ["inner\n"] * 3)] * 2
    assert results.output == ["outer\n"] * 2


def test_a_second_run_in_another_thread_is_refused():
    def fn(comm):
        told = []

        def other():
            try:
                run(lambda comm: None)
            except RunError as error:
                told.append(str(error))

        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return told[0]

    assert "one at a time" in run(fn, ranks=1)[0]
    assert run(lambda comm: comm.rank) == [0, 1]


def test_hundreds_of_ranks():
    def fn(comm):
        comm.barrier()
        return comm.rank

    assert run(fn, ranks=500) == list(range(500))
