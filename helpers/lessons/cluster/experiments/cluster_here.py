"""Where a job of two nodes can run from here: on a SLURM, on virtual hosts, or as processes."""

from __future__ import annotations

import difflib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

from helpers.course.setup.places import ROOT
from helpers.engine.cluster import files
from helpers.engine.cluster.run import found_run
from helpers.engine.slurm import site as sites
from helpers.engine.trace import Results

ASK_SECONDS = 30.0


class Here(NamedTuple):
    """What takes jobs here. options: for `helpers.run`. slurm: whether it is one. words: which."""

    options: dict[str, Any]
    slurm: bool
    words: str


def here(theirs: bool = False) -> Here:
    """What takes jobs of two nodes with two ranks each here, started where that can be done.

    theirs: take the SLURM that this machine belongs to, whose queue may make a job wait. Otherwise
    the one of `./course cluster up`, or one of two nodes that ends with this process; where there
    is none, ranks run on virtual hosts, and where these cannot be had, as processes. Raises
    nothing.
    """
    slurm = {"engine": "cluster", "launcher": "slurm", "nodes": 2, "ranks_per_node": 2}
    if (theirs or own()) and (there := answering()):
        return Here(slurm, True, f"Jobs go to SLURM, whose nodes are {there}.")
    why = sites.missing()
    if not why:
        try:
            site = sites.start(tied=True)
        except sites.SiteFailed as error:
            why = str(error)
        else:
            os.environ["SLURM_CONF"] = str(site.conf)  # from now on SLURM's commands find it
            names = " and ".join(site.nodes())
            words = f"Jobs go to a SLURM of two nodes, {names}. It ends with this kernel."
            return Here(slurm, True, words)
    from helpers.engine.hosts import namespaces

    lacking = namespaces.missing() if sys.platform == "linux" else f"this is {sys.platform}."
    if not lacking:
        hosts = {"engine": "hosts", "hosts": 2, "ranks_per_host": 2}
        return Here(hosts, False, f"{why}\nJobs go to 2 virtual hosts of lesson 09 instead.")
    words = f"{why}\nThere are no virtual hosts either: {lacking}\nJobs go to processes instead."
    return Here({"ranks": 4}, False, words)


def own() -> bool:
    """Whether SLURM's commands find one that the course has started."""
    named = os.environ.get("SLURM_CONF")
    return Path(named).parent.name.startswith(sites.PREFIX) if named else sites.found() is not None


def answering() -> str:
    """The nodes of the SLURM that its commands find, as it names them; "" where none answers."""
    if shutil.which("sinfo") is None:
        return ""
    command = ["sinfo", "--noheader", "--responding", "--format=%N"]
    try:
        told = subprocess.run(
            command, env=sites.environment(), capture_output=True, text=True, timeout=ASK_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ", ".join(dict.fromkeys(told.stdout.split())) if told.returncode == 0 else ""


def filled_in(ran: Results) -> str:
    """The lines that `helpers.run` wrote into SLURM's file, and what they replace.

    A sentence where the run was none of SLURM's.
    """
    run = found_run(ran.job, None) if ran.job else None
    submitted = next(run.path.glob("*_submission.sh"), None) if run else None
    if run is None or submitted is None:
        return "No file was submitted: these ranks are not SLURM's."
    before = files.template("slurm").splitlines()
    lines = difflib.ndiff(before, submitted.read_text(encoding="utf-8").splitlines())
    told = "\n".join(line for line in lines if line[:2] in ("- ", "+ "))
    for folder, name in ((run.path, "RUN"), (ROOT, "COURSE"), (Path.home(), "~")):
        told = told.replace(str(folder), name)
    return told
