"""Searches on real processes: killed, hung, interrupted, failing; and nothing is left behind."""

from __future__ import annotations

import _thread
import math
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import torch

from helpers.lessons.search.algorithms.asha import Asha
from helpers.lessons.search.algorithms.halving import RandomSearch, SuccessiveHalving
from helpers.lessons.search.algorithms.rungs import Job
from helpers.lessons.search.experiments import search_clock, search_processes
from helpers.lessons.search.experiments.crew import Crew, Nursery, SearchFailed, ended
from helpers.lessons.search.experiments.search_kills import WAYS, killed
from helpers.lessons.search.experiments.search_models import Models, Synthetic
from helpers.lessons.search.experiments.search_processes import (
    SearchTimeout,
    on_processes,
    replayed,
)

pytestmark = pytest.mark.real

MADE = {"waits": SuccessiveHalving, "clock": Asha, "as they come": Asha}


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as shared:
        yield shared


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """No process, no thread and no descriptor more than there were, but for the shared nursery."""
    me = psutil.Process()
    before = {child.pid for child in me.children(recursive=True)}
    files, threads = me.num_fds(), threading.active_count()
    yield
    left = [c for c in me.children(recursive=True) if c.pid not in before and not is_shared(c)]
    assert not left and threading.active_count() <= threads
    assert me.num_fds() <= files + 2  # the shared nursery's


def is_shared(process: psutil.Process) -> bool:
    return process.ppid() == os.getpid() and "crew.nursery" in " ".join(process.cmdline())


def slow(seconds: float) -> Any:
    """Training that takes a while: a closure, as from a cell."""

    def train(job: Job, state: Any) -> tuple[float, Any]:
        time.sleep(seconds)
        return Synthetic(1, 0.5).train(job, state)

    return train


def test_the_same_losses_as_alone(nursery: Nursery) -> None:
    models = Models()
    run = on_processes(SuccessiveHalving(9, 5, 15), models.train, 2, nursery=nursery)
    alone = SuccessiveHalving(9, 5, 15)
    search_clock.on_clock(alone, [1.0], models.loss, alone.resources)
    assert run.losses == alone.losses and run.top(3) == alone_top(alone)
    assert len(run.reports) == 12 and not run.gone and run.kills == 0
    assert {report.worker for report in run.reports} <= {0, 1}
    assert all(0 <= report.begin < report.end <= run.seconds for report in run.reports)
    for trial in run.top(3):
        assert torch.equal(run.states[trial], models.train(Job(trial, 1, 15))[1])


def alone_top(search: SuccessiveHalving) -> list[int]:
    from helpers.lessons.search.algorithms.halving import top

    return top(search.losses, 3)


@pytest.mark.thorough
def test_random_search_and_more_workers_than_jobs(nursery: Nursery) -> None:
    run = on_processes(RandomSearch(2, 9), Synthetic().train, 3, nursery=nursery)
    assert len(run.reports) == 2 and run.losses[0].keys() == {0, 1}


def test_asha_by_the_clock_decides_as_on_the_clock(nursery: Nursery) -> None:
    """Whatever real workers do, and however many there are."""
    speeds, losses = search_clock.speeds(4, seed=1), Synthetic(1, 0.5)
    clock = Asha(20, 1, 9)
    spans = search_clock.on_clock(clock, speeds, losses.loss, clock.resources)
    run = on_processes(
        Asha(20, 1, 9), slow(0.01), 3, speeds=speeds, nursery=nursery, kills=[0.05, 0.1]
    )
    assert [report.job for report in run.reports] == [span.job for span in spans]
    assert run.losses == clock.losses


@pytest.mark.thorough
def test_a_log_replayed_decides_again(nursery: Nursery) -> None:
    run = on_processes(Asha(20, 1, 9), slow(0.01), 3, nursery=nursery, kills=[0.02, 0.1, 0.15])
    again = replayed(Asha(20, 1, 9), run.log)
    assert again.losses == run.losses and again.done()
    with pytest.raises(ValueError, match="the search decides for Job"):
        replayed(Asha(20, 2, 18), run.log)


@pytest.mark.thorough
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kills", [8, 50])
def test_no_trial_is_lost_and_none_counts_twice(way: str, kills: int, nursery: Nursery) -> None:
    make = lambda: MADE[way](27, 20, 180)  # noqa: E731
    found = killed(make, Models().train, way, kills, nursery=nursery)
    assert found.kills == kills and found.searches >= 1
    assert (found.lost, found.twice, found.other, found.left) == (0, 0, 0, 0)


def test_a_way_that_there_is_not_is_told() -> None:
    with pytest.raises(ValueError, match="There is no way 'wild'; there are: waits"):
        killed(lambda: Asha(3, 1, 3), Synthetic().train, "wild")


def test_a_worker_that_dies_is_named_and_replaced(nursery: Nursery, tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    def train(job: Job, state: Any) -> tuple[float, Any]:
        if job.trial == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        return float(job.trial), None

    run = on_processes(RandomSearch(3, 5), train, 1, nursery=nursery)
    (gone,) = run.gone
    assert (gone.worker, gone.job, gone.why) == (0, Job(1, 0, 5), "killed by SIGSEGV")
    assert sorted(report.worker for report in run.reports) == [0, 1, 1]


@pytest.mark.thorough
def test_an_idle_worker_that_dies_is_replaced(nursery: Nursery, tmp_path: Path) -> None:
    """Two of three have nothing to do while the last job runs, which ends them."""
    mark = tmp_path / "mark"

    def train(job: Job, state: Any) -> tuple[float, Any]:
        if job.rung == 1 and not mark.exists():
            mark.touch()
            nurse = psutil.Process(os.getppid())
            before = set(nurse.children())
            for other in before - {psutil.Process()}:
                other.kill()
            while len(set(nurse.children()) - before) < 2:
                time.sleep(0.01)
        return float(job.trial), None

    run = on_processes(SuccessiveHalving(3, 1, 3), train, 3, nursery=nursery)
    assert [(gone.job, gone.why) for gone in run.gone] == [(None, "killed by SIGKILL")] * 2
    assert [len(known) for known in run.losses] == [3, 1]


def test_training_that_kills_every_worker_ends_the_search(
    nursery: Nursery, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_processes, "MOST_DEATHS", 3)

    def train(job: Job, state: Any) -> tuple[float, Any]:
        os._exit(7 if job.trial == 1 else 0)

    with pytest.raises(SearchFailed, match=r"ended by itself with exit code [07] in trial [01] on"):
        on_processes(RandomSearch(2, 5), train, 2, nursery=nursery)


def test_training_that_raises_is_told_with_its_traceback(nursery: Nursery) -> None:
    def train(job: Job, state: Any) -> tuple[float, Any]:
        raise RuntimeError(f"no luck with {job.trial}")

    with pytest.raises(SearchFailed) as caught:
        on_processes(RandomSearch(1, 5), train, 1, nursery=nursery)
    assert "Worker 0 failed in trial 0 on rung 0 (5 steps): RuntimeError: no luck with 0" in str(
        caught.value
    )
    assert "in train" in str(caught.value)


@pytest.mark.thorough
def test_a_worker_that_hangs_is_ended_and_named(nursery: Nursery, tmp_path: Path) -> None:
    mark = tmp_path / "mark"

    def train(job: Job, state: Any) -> tuple[float, Any]:
        if job.trial == 1 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGSTOP)
        return float(job.trial), None

    run = on_processes(RandomSearch(3, 5), train, 2, job_timeout=8.0, nursery=nursery)
    told = {gone.why for gone in run.gone if gone.job == Job(1, 0, 5)}
    assert told == {"ended, without an answer for 8 s,"}
    assert run.losses[0] == {0: 0.0, 1: 1.0, 2: 2.0}


def test_a_job_that_hangs_twice_ends_the_search(nursery: Nursery) -> None:
    def train(job: Job, state: Any) -> tuple[float, Any]:
        while True:
            time.sleep(1)

    with pytest.raises(
        SearchFailed, match=r"was ended, without an answer for 0\.2 s, in trial 0 on"
    ):
        on_processes(RandomSearch(1, 5), train, 1, job_timeout=0.2, nursery=nursery)
    with pytest.raises(
        SearchTimeout, match=r"within 0\.5 s: worker 0 has been at trial 0 on rung 0"
    ):
        on_processes(RandomSearch(1, 5), train, 1, timeout=0.5, nursery=nursery)


@pytest.mark.thorough
def test_a_stopped_worker_with_a_big_state_makes_nobody_wait(nursery: Nursery) -> None:
    """Its socket is full after a part of the state: the caller must not wait for the rest."""

    def train(job: Job, state: Any) -> tuple[float, Any]:
        if job.rung == 0:
            threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGSTOP)).start()
        return 1.0, torch.zeros(2_000_000)

    search = SuccessiveHalving(2, 1, 2, 2)
    with pytest.raises(SearchFailed, match="was ended, without an answer for 1 s"):

        def stopping(job: Job, state: Any) -> tuple[float, Any]:
            if job.rung == 1:
                os.kill(os.getpid(), signal.SIGSTOP)
            return train(job, state)

        on_processes(search, stopping, 1, timeout=60, job_timeout=1.0, nursery=nursery)


@pytest.mark.thorough
def test_an_interrupt_ends_it(tmp_path: Path) -> None:
    def train(job: Job, state: Any) -> tuple[float, Any]:
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
        on_processes(RandomSearch(500, 5), train, 2)
    thread.join()
    assert not any(psutil.pid_exists(int(each.name)) for each in tmp_path.iterdir())


def test_a_search_that_is_stuck_is_told(nursery: Nursery) -> None:
    search = RandomSearch(1, 5)
    search.running.add(Job(9, 0, 5))
    with pytest.raises(SearchFailed, match="All workers wait, and the search is not done"):
        on_processes(search, Synthetic().train, 1, nursery=nursery)


def test_what_cannot_be_is_told(nursery: Nursery) -> None:
    with pytest.raises(ValueError, match="1 worker or more, not 0"):
        on_processes(RandomSearch(1, 5), Synthetic().train, 0, nursery=nursery)
    with pytest.raises(ValueError, match="seconds above 0"):
        on_processes(RandomSearch(1, 5), Synthetic().train, 1, timeout=0, nursery=nursery)
    with pytest.raises(ValueError, match="seconds above 0"):
        on_processes(RandomSearch(1, 5), Synthetic().train, job_timeout=math.nan, nursery=nursery)
    lock = threading.Lock()
    with pytest.raises(TypeError, match="cannot be sent to workers"):
        on_processes(RandomSearch(1, 5), lambda job, state: (lock, None), 1, nursery=nursery)


def test_a_nursery_that_cannot_load_is_told() -> None:
    with pytest.raises(SearchFailed, match="ModuleNotFoundError: No module named 'no_such'"):
        Nursery(["no_such"])


@pytest.mark.thorough
def test_a_nursery_that_dies_is_told() -> None:
    with Nursery() as own:
        own.process.kill()
        with pytest.raises(SearchFailed, match="The process that starts workers has ended"):
            Crew(Synthetic().train, 1, own)


def test_how_a_process_ended_in_words() -> None:
    assert ended(0) == "ended by itself with exit code 0"
    assert ended(-9) == "killed by SIGKILL" and ended(-200) == "killed by signal 200"
