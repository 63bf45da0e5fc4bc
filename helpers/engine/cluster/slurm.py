"""SLURM's side of a run: submitting by submitit, the job's state, cancelling.

There may be no accounting (`sacct`), so the controller is asked for the job itself.
"""

from __future__ import annotations

import logging
import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import submitit

from helpers.engine.errors import RunError
from helpers.engine.slurm import site

_ASK_SECONDS = 60.0
_OURS = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "LOCAL_RANK", "TF_CONFIG")
_WAITS = ("PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD")
_RUNS = ("RUNNING", "COMPLETING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT", "RESIZING")


class State(NamedTuple):
    """A job as its launcher sees it.

    stage: "waits", "runs" or "ended". word: the launcher's own, such as "PENDING". reason: why it
    waits or ended. nodes: where it is.
    """

    stage: str
    word: str = ""
    reason: str = ""
    nodes: str = ""


class FileExecutor(submitit.SlurmExecutor):
    """submitit's executor, with a batch file of ours in the place of the one it would write."""

    def __init__(self, folder: Path, text: str, ranks: int) -> None:
        super().__init__(folder)
        self.text, self.ranks = text, ranks

    def _make_submission_file_text(self, command: str, uid: str) -> str:
        return self.text

    def _make_submission_command(self, submission_file_path: Path) -> list[str]:
        conf = site.environment().get("SLURM_CONF")
        # The notebook itself may run inside a job: the new one is none of that one's.
        inside = [name for name in os.environ if re.match(r"SLURM_(?!CONF$)|PMI|HOROVOD_", name)]
        gone = [word for name in (*_OURS, *inside) for word in ("-u", name)]
        given = [f"SLURM_CONF={conf}"] if conf else []
        return ["env", *gone, *given, "sbatch", str(submission_file_path)]

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


def call(*command: str) -> subprocess.CompletedProcess[str]:
    """Run one of SLURM's commands."""
    return subprocess.run(
        command,
        env=site.environment(),
        capture_output=True,
        text=True,
        timeout=_ASK_SECONDS,
        check=False,
    )


def job_fields(job: str) -> dict[str, str]:
    """What SLURM says of a job, by its own names: JobState, Reason, StdOut; {} for none."""
    try:
        told = call("scontrol", "show", "job", "--oneliner", job)
    except (OSError, subprocess.TimeoutExpired):
        return {"JobState": "UNKNOWN"}
    if told.returncode and "Invalid job id" not in told.stderr:
        return {"JobState": "UNKNOWN", "Reason": told.stderr.strip()}
    return dict(re.findall(r"(\w+)=(\S*)", told.stdout))


def state(job: str) -> State:
    """Where a job stands. One that SLURM has forgotten has ended."""
    fields = job_fields(job)
    word, reason = fields.get("JobState", ""), fields.get("Reason", "")
    nodes = fields.get("NodeList", "").replace("(null)", "")
    if word == "UNKNOWN":
        return State("unknown", word, reason)
    stage = "waits" if word in _WAITS else "runs" if word in _RUNS else "ended"
    return State(stage, word or "FORGOTTEN", "" if reason == "None" else reason, nodes)


def sbatch_options(
    options: Mapping[str, Any], nodes: int, ranks_per_node: int, log: Path
) -> dict[str, Any]:
    """The #SBATCH lines of a run, by SLURM's names."""
    given = {name.replace("_", "-"): value for name, value in options.items()}
    if (gpus := given.pop("gpus", None)) is not None:
        given["gpus-per-node"] = gpus
    set_here = {"nodes": nodes, "ntasks-per-node": ranks_per_node, "output": str(log)}
    return {**given, **set_here, "no-requeue": True}


def names(words: Sequence[str]) -> str:
    """Nodes in words: "n1 and n2"."""
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
