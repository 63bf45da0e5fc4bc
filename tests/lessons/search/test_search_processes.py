"""Searches on real processes: killed, hung, interrupted, failing; and nothing is left behind."""

from __future__ import annotations

import _thread
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from benchmarks.search import killed
from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import SuccessiveHalving
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments import search_clock
from helpers.lessons.search.experiments.search_models import Models, Synthetic
from helpers.lessons.search.experiments.search_processes import (
    SearchFailed,
    on_processes,
    replayed,
)

pytestmark = pytest.mark.real
Trained = tuple[float, Any]


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No worker and no descriptor more than there were, but for the fork server's."""
    on_processes(SuccessiveHalving(1, 5, 5), Synthetic().train, 1)
    files = psutil.Process().num_fds()
    yield
    assert not multiprocessing.active_children()
    assert psutil.Process().num_fds() <= files


def at_first(mark: Path, do: Callable[[], Any], when: Callable[[Job], bool]) -> Any:
    """Training in which something is done at the first such job: a closure, as from a cell."""

    def train(job: Job, state: Any) -> Trained:
        if when(job) and not mark.exists():
            mark.touch()
            do()
        return float(job.trial), None

    return train


def test_the_same_losses_as_alone() -> None:
    models = Models()
    run = on_processes(SuccessiveHalving(9, 5, 15), models.train, 2)
    alone = SuccessiveHalving(9, 5, 15)
    search_clock.on_clock(alone, [1.0], models.loss, alone.resources)
    assert run.losses == alone.losses
    assert len(run.reports) == 12 and not run.gone and run.kills == 0
    assert {report.worker for report in run.reports} <= {0, 1}
    for trial in run.losses[1]:
        assert torch.equal(run.states[trial], models.train(Job(trial, 1, 15))[1])


def test_a_log_replayed_decides_again() -> None:
    def train(job: Job, state: Any) -> Trained:
        time.sleep(0.01)
        return Synthetic(1, 0.5).train(job, state)

    run = on_processes(Asha(20, 1, 9), train, 3, kills=[0.02, 0.1, 0.15])
    again = replayed(Asha(20, 1, 9), run.log)
    assert again.losses == run.losses and again.done()
    with pytest.raises(ValueError, match="the search decides for Job"):
        replayed(Asha(20, 2, 18), run.log)


@pytest.mark.thorough
@pytest.mark.parametrize(("make", "waits"), [(SuccessiveHalving, True), (Asha, False)])
def test_no_trial_is_lost_and_none_counts_twice(make: Any, waits: bool) -> None:
    found = killed(lambda: make(27, 20, 180), waits, 30)
    assert found.kills == 30 and found.searches >= 1
    assert (found.lost, found.twice, found.other, found.left) == (0, 0, 0, 0)


def test_a_worker_that_dies_is_named_and_replaced(tmp_path: Path) -> None:
    die = lambda: os.kill(os.getpid(), signal.SIGSEGV)  # noqa: E731
    train = at_first(tmp_path / "mark", die, lambda job: job.trial == 1)
    run = on_processes(SuccessiveHalving(3, 5, 5), train, 1)
    (gone,) = run.gone
    assert (gone.worker, gone.job, gone.why) == (
        0,
        Job(1, 0, 5),
        "was killed by signal 11 (SIGSEGV)",
    )
    assert [report.worker for report in run.reports] == [0, 1, 1]


@pytest.mark.thorough
def test_an_idle_worker_that_dies_is_replaced(tmp_path: Path) -> None:
    """Two of three have nothing to do while the last job runs, which ends them."""

    def kill_others() -> None:
        server = psutil.Process(os.getppid())
        before = set(server.children())
        for other in before - {psutil.Process()}:
            other.kill()
        while len(set(server.children()) - before) < 2:
            time.sleep(0.01)

    train = at_first(tmp_path / "mark", kill_others, lambda job: job.rung == 1)
    run = on_processes(SuccessiveHalving(3, 1, 3), train, 3)
    assert [(gone.job, gone.why) for gone in run.gone] == [
        (None, "was killed by signal 9 (SIGKILL)")
    ] * 2
    assert [len(known) for known in run.losses] == [3, 1]


def raises(job: Job, state: Any) -> Trained:
    raise RuntimeError(f"no luck with {job.trial}")


def dies(job: Job, state: Any) -> Trained:
    os._exit(7)


def hangs(job: Job, state: Any) -> Trained:
    while True:
        time.sleep(1)


@pytest.mark.parametrize(
    ("train", "says"),
    [
        (raises, r"(?s)Worker 0 failed in trial 0 on rung 0 \(5 steps\): RuntimeError: no "
                 r"luck with 0.*in raises"),
        (dies, "ended its process with exit code 7 in trial 0 on"),
    ],
)  # fmt: skip
def test_training_that_cannot_go_on_ends_the_search(train: Any, says: str) -> None:
    with pytest.raises(SearchFailed, match=says):
        on_processes(SuccessiveHalving(1, 5, 5), train, 1)


def test_a_search_that_takes_too_long_is_ended() -> None:
    said = r"within 0\.5 s: worker 0 is at trial 0 on rung 0 \(5 steps\)"
    with pytest.raises(SearchFailed, match=said):
        on_processes(SuccessiveHalving(1, 5, 5), hangs, 1, timeout=0.5)


@pytest.mark.thorough
def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    def train(job: Job, state: Any) -> Trained:
        (tmp_path / str(os.getpid())).touch()
        time.sleep(60)
        return 0.0, None

    def interrupt() -> None:
        while len(list(tmp_path.iterdir())) < 2:
            time.sleep(0.01)
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        on_processes(SuccessiveHalving(500, 5, 5), train, 2)
    thread.join()
    assert not any(psutil.pid_exists(int(each.name)) for each in tmp_path.iterdir())


def test_what_cannot_be_is_told() -> None:
    search, train, lock = SuccessiveHalving(1, 5, 5), Synthetic().train, threading.Lock()
    with pytest.raises(ValueError, match="1 worker or more, not 0"):
        on_processes(search, train, 0)
    with pytest.raises(TypeError, match="cannot be sent to workers"):
        on_processes(search, lambda job, state: (lock, None), 1)
    search.running.add(Job(9, 0, 5))  # it waits for somebody who is not there
    with pytest.raises(SearchFailed, match="All workers wait, and the search is not done"):
        on_processes(search, train, 1)
