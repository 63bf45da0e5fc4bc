"""A run as its launcher has it: a job of SLURM's, or launchers on this machine; asked and ended.

submitit submits. What it has besides is not used: it asks `sacct` how a job stands, and there may
be no accounting, so the controller is asked for the job itself; its own batch file starts its own
program on each rank, and ours is the one of `cluster/` that a user can take along, whose ranks
answer in the run's folder alike under `srun`, torchrun and horovodrun.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple, Protocol

import psutil
import submitit

from helpers.course.setup.places import ROOT
from helpers.engine.errors import RunError
from helpers.engine.slurm import site

_ASK_SECONDS = 60.0
_END_SECONDS = 10.0
_WAITS = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD")
_RUNS = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")
# What tells of a job that the notebook itself is a part of: a new one is none of that one's.
_RANKS = (
    r"(RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|GROUP_RANK|MASTER_ADDR|MASTER_PORT|TF_CONFIG)$"
    r"|PMI|HOROVOD_|TORCHELASTIC_"
)
_JOB = r"SLURM_(?!CONF$)"
_OPTIONS = re.compile(r"^#SBATCH[ \t]+(.*)$", re.MULTILINE)


class State(NamedTuple):
    """A job as its launcher sees it.

    stage: "waits", "runs" or "ended"; "never" where it would wait for ever, "unknown" where there
    is no answer. word: the launcher's own, such as "PENDING". reason: why it waits or ended. nodes:
    where it is.
    """

    stage: str
    word: str = ""
    reason: str = ""
    nodes: str = ""


class Job(Protocol):
    """A run, as its launcher has it. name: as it is told, such as "Job 12"."""

    name: str

    def state(self) -> State:
        """Where it stands."""

    def end(self, well: bool) -> None:
        """See that it ends. well: its ranks have ended by themselves, and so will the launcher."""


# --- SLURM ----------------------------------------------------------------------------------------


class FileExecutor(submitit.SlurmExecutor):
    """submitit's executor, with a batch file of ours in the place of the one it would write."""

    def __init__(self, folder: Path, text: str, ranks: int) -> None:
        super().__init__(folder)
        self.text, self.ranks = text, ranks

    def _make_submission_file_text(self, command: str, uid: str) -> str:
        return self.text

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        gone = [name for name in os.environ if re.match(f"{_RANKS}|{_JOB}", name)]
        # What sbatch reads of the environment (SBATCH_TIMELIMIT, …) wins over the file's lines, and
        # the command's own options over both.
        asked = [shlex.split(line, comments=True) for line in _OPTIONS.findall(self.text)]
        options = ["--export=ALL", *(word for line in asked for word in line)]
        conf = site.environment().get("SLURM_CONF")
        given = [f"SLURM_CONF={conf}"] if conf else []
        unset = [word for name in gone for word in ("-u", name)]
        return ["env", *unset, *given, "sbatch", *options, str(submission_file_path)]

    def _num_tasks(self) -> int:
        return self.ranks


def submit(folder: Path, text: str, ranks: int) -> str:
    """Submit a batch file; returns the job's number.

    Raises RunError with SLURM's own words where it is not taken.
    """
    logging.getLogger("submitit").setLevel(logging.ERROR)
    try:
        return str(FileExecutor(folder, text, ranks)._submit_command("").job_id)
    except (submitit.core.utils.FailedJobError, RuntimeError, OSError) as error:
        raise RunError(
            f"SLURM did not take the job: {str(error).strip() or type(error).__name__}\n"
            "./course doctor says what is missing, ./course cluster up starts a SLURM of two "
            "nodes on this machine."
        ) from error


class SlurmRun:
    """A job of SLURM's."""

    def __init__(self, number: str) -> None:
        self.number, self.name = number, f"Job {number}"

    def state(self) -> State:
        """Where it stands; one that SLURM has forgotten has ended."""
        try:
            return self._state()
        except (OSError, subprocess.TimeoutExpired):
            return State("unknown")

    def _state(self) -> State:
        told = call("scontrol", "show", "job", "--oneliner", self.number)
        if told.returncode and "Invalid job id" not in told.stderr:
            return State("unknown")
        fields = dict(re.findall(r"(\w+)=(\S*)", told.stdout))
        word, reason = fields.get("JobState", "FORGOTTEN"), fields.get("Reason", "")
        stage = "waits" if word in _WAITS else "runs" if word in _RUNS else "ended"
        nodes = fields.get("NodeList", "").replace("(null)", "")
        if reason == "PartitionNodeLimit":  # also where nodes are down, which come back
            partition, asked = fields.get("Partition", ""), fields.get("NumNodes", "").split("-")[0]
            there = call("sinfo", "--noheader", f"--partition={partition}", "--format=%D").stdout
            if asked.isdigit() and there.strip().isdigit() and int(asked) > int(there):
                reason = f"it asks for {asked} nodes, and partition {partition} has {int(there)}"
                stage = "never"
        return State(stage, word, "" if reason == "None" else reason, nodes)

    def end(self, well: bool) -> None:
        """SLURM itself ends a job whose ranks have ended."""
        if well or self.state().stage == "ended":
            return
        call("scancel", self.number)
        until = time.monotonic() + _END_SECONDS
        while self.state().stage != "ended" and time.monotonic() < until:
            time.sleep(0.2)


def call(*command: str) -> subprocess.CompletedProcess[str]:
    """Run one of SLURM's commands."""
    return subprocess.run(
        command, env=site.environment(), capture_output=True, text=True, timeout=_ASK_SECONDS
    )


# --- launchers on this machine, or inside an allocation -------------------------------------------


class LocalRun:
    """Launchers below a guard (`helpers.engine.guard`), which outlives the notebook.

    A new kernel finds the guard by its number, and knows it by the run's folder.
    """

    def __init__(self, name: str, guard: int, folder: Path) -> None:
        self.name = f"Run {name}"
        self.guard: psutil.Process | None = None
        with contextlib.suppress(psutil.Error):
            if str(folder) in (found := psutil.Process(guard)).cmdline():
                self.guard = found

    def state(self) -> State:
        """Where it stands."""
        with contextlib.suppress(psutil.TimeoutExpired):
            code = self.guard.wait(0) if self.guard else 0
            self.guard = None
            return State("ended", "ENDED", f"exit code {code}" if code else "")
        return State("runs", "RUNNING")

    def end(self, well: bool) -> None:
        """Give the launchers a moment where ranks have ended; then the guard ends what is left."""
        for seconds in (_END_SECONDS * well, _END_SECONDS):
            if self.guard is None:
                return
            with contextlib.suppress(psutil.TimeoutExpired):
                self.guard.wait(seconds)
                return
            self.guard.terminate()


def start_local(folder: Path, script: Path, launcher: str, nodes: int) -> int:
    """Start a launcher's file: torchrun's on every node, horovodrun's once; the guard's number."""
    command = ["bash", str(script)]
    if launcher == "torchrun" and in_allocation():
        step = ["srun", f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1", "--overlap"]
        command = [*step, "--kill-on-bad-exit=1", *command]
    elif launcher == "torchrun":  # this machine is each of the nodes
        agents = "".join(f'COURSE_NODE=node{n} bash "$0" & ' for n in range(nodes))
        command = ["bash", "-c", f"{agents} wait", str(script)]
    env = {name: text for name, text in os.environ.items() if not re.match(_RANKS, name)}
    env["PYTHONPATH"] = import_path()
    guard = [sys.executable, "-m", "helpers.engine.guard", str(folder)]
    with (folder / "job.log").open("ab") as log:
        return subprocess.Popen(
            [*guard, *command], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=env,
            start_new_session=True,  # a killed or interrupted kernel does not take it along
        ).pid  # fmt: skip


def in_allocation() -> bool:
    """Whether this process has nodes of SLURM's to itself, as after `salloc` or `idev`."""
    return "SLURM_JOB_ID" in os.environ


def import_path() -> str:
    """PYTHONPATH for a process that is to find the course."""
    others = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return os.pathsep.join(dict.fromkeys([str(ROOT), *others]))
