"""Four ranks and one all-reduce of one number: how long until the answer is there?

Ours is timed around `helpers.run` in a process that has run it before, as a second cell does. Of
the peers, `torchrun` and `horovodrun` are commands and timed as such, and `mp.spawn` is timed
around the call in a process that has torch already. `notebook_launcher` forks its caller, which may
not have computed: in a course's notebook it comes with a restart of the kernel. It is timed with
one, and its call alone in a process that has done nothing yet.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import helpers
from benchmarks import goals
from benchmarks.report import Report

RANKS = 4
OURS, PEERS, HANG = 9, 3, 15  # repeats of ours, of each peer; seconds that stand for a hang
RESTARTED = "notebook_launcher, kernel restarted"
ALONE = "notebook_launcher, call alone"
JOBS = Path(__file__).with_name("jobs.py")


def torch_job(comm: Any) -> float:
    """One all-reduce of one number, over gloo."""
    import torch
    import torch.distributed as dist

    total = torch.ones(1)
    dist.all_reduce(total)
    return total.item()


def horovod_job(comm: Any) -> float:
    """The same under Horovod."""
    import horovod.torch as hvd
    import torch

    return float(hvd.allreduce(torch.ones(1), op=hvd.Sum))


def tensorflow_job(comm: Any) -> float:
    """The same in TensorFlow's strategy for several workers."""
    import tensorflow as tf

    strategy = tf.distribute.MultiWorkerMirroredStrategy()

    def total() -> Any:
        context = tf.distribute.get_replica_context()
        return context.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(1.0))

    # AutoGraph would take half as long as the rest, to rewrite a function without any branch.
    return float(strategy.run(tf.function(total, autograph=False)).numpy())


def time_ours(framework: str, job: Any) -> list[float]:
    """Seconds of each warm run; the first one, which starts the server, is left out."""
    seconds = []
    for _ in range(OURS + 1):
        start = time.perf_counter()
        values = helpers.run(job, ranks=RANKS, framework=framework, show=False)
        seconds.append(time.perf_counter() - start)
        if list(values) != [RANKS] * RANKS:
            raise RuntimeError(f"The {framework} ranks summed to {list(values)}, not {RANKS}.")
    return seconds[1:]


def time_command(*command: str) -> float:
    """Seconds of a command from its start to its end."""
    start = time.perf_counter()
    run_quietly(*command)
    return time.perf_counter() - start


def time_inside(*command: str) -> float:
    """Seconds that a script prints about the call that it times itself."""
    for line in run_quietly(*command).splitlines():
        if line.startswith("seconds "):
            return float(line.split()[1])
    raise RuntimeError(f"{command[-1]} printed no seconds.")


def run_quietly(*command: str, timeout: float = 40) -> str:
    """Run a command in a session of its own; returns what it printed.

    Raises RuntimeError with the end of its errors where it fails, TimeoutError where it hangs.
    """
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "3"}
    environment["PYTHONSAFEPATH"] = "1"  # what lies beside the script is no module of theirs
    environment["GLOO_SOCKET_IFNAME"] = "lo0" if sys.platform == "darwin" else "lo"
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=JOBS.parent,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            output, errors = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise TimeoutError(f"No answer within {timeout} s.") from None
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {errors[-800:]}")
    return output


def time_peer(
    report: Report, name: str, measure: Callable[..., float], command: Sequence[str]
) -> list[float]:
    """Seconds of each of a peer's runs; one that hangs is noted and tried again.

    Raises TimeoutError where it hangs oftener than it answers.
    """
    seconds: list[float] = []
    hung = 0
    while len(seconds) < PEERS:
        try:
            seconds.append(measure(sys.executable, *command))
        except TimeoutError:
            hung += 1
            if hung > PEERS:
                raise
    if hung:
        report.notes.append(f"{name} hung {hung} times beside the runs that are counted.")
    return seconds


def hangs_after_training() -> bool:
    """Whether ranks of notebook_launcher that compute hang after its process has computed."""
    try:
        run_quietly(sys.executable, JOBS.name, "after-training", str(RANKS), timeout=HANG)
    except TimeoutError:
        return True
    return False


def measure() -> Report:
    """Every launcher, ours last of all so that nothing of it runs beside the peers."""
    report = Report("launch", f"{RANKS} ranks, one all-reduce of one number, from call to answer")
    case = f"{RANKS} torch ranks"
    job = (JOBS.name, "torchrun", str(RANKS))
    torchrun = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", str(RANKS), *job)
    spawn = (JOBS.name, "mp.spawn", str(RANKS))
    notebook = (JOBS.name, "notebook", str(RANKS))
    ways = {
        "torchrun": (time_command, torchrun),
        "mp.spawn": (time_inside, spawn),
        RESTARTED: (time_command, notebook),
        ALONE: (time_inside, notebook),
    }
    peers = {name: time_peer(report, name, *way) for name, way in ways.items()}
    ours = report.add(case, "helpers.run, warm", time_ours("torch", torch_job))
    for name, seconds in peers.items():
        report.add(case, name, seconds)
    report.hold(goals.WARM, f"{case}, warm", ours.median_s)
    for name in peers:
        goal = goals.BARE_CALL if name == ALONE else goals.LAUNCHERS
        report.hold(goal, f"quicker than {name}", report.median(case, name) / ours.median_s)
    verdict = f"gave no answer within {HANG} s" if hangs_after_training() else "still answered"
    report.notes.append(
        "notebook_launcher forks the process that calls it, which is quick; it asks for a restart "
        "of the kernel once that has computed. From a process that had run a backward on two "
        f"threads, ranks that ran one too {verdict}. Its call alone, in a process that has not "
        f"computed, takes {report.median(case, ALONE) / ours.median_s:.1f} times as long as ours."
    )
    measure_horovod(report)
    case = f"{RANKS} TensorFlow ranks"
    row = report.add(case, "helpers.run, warm", time_ours("tensorflow", tensorflow_job))
    report.hold(goals.OTHER_RANKS, f"{case}, warm", row.median_s)
    return report


def measure_horovod(report: Report) -> None:
    """Horovod's ranks beside horovodrun's, where Horovod is installed."""
    if find_spec("horovod") is None:
        report.notes.append("Horovod is not installed here, so its ranks are left out.")
        return
    case = f"{RANKS} Horovod ranks"
    command = ("horovodrun", "-np", str(RANKS), sys.executable, JOBS.name, "horovodrun", str(RANKS))
    peer = [time_command(*command) for _ in range(PEERS)]
    ours = report.add(case, "helpers.run, warm", time_ours("horovod", horovod_job))
    theirs = report.add(case, "horovodrun", peer)
    report.hold(goals.OTHER_RANKS, f"{case}, warm", ours.median_s)
    report.hold(goals.LAUNCHERS, "quicker than horovodrun", theirs.median_s / ours.median_s)
