"""`helpers.run(engine="cluster")` and `helpers.attach`."""

from __future__ import annotations

import contextlib
import linecache
import os
import secrets
import shlex
import shutil
import socket
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from helpers.course.setup.places import ROOT, cache
from helpers.engine.cluster import files, slurm
from helpers.engine.cluster.folder import Plan, RunFolder
from helpers.engine.cluster.follow import Follower
from helpers.engine.cluster.launchers import (
    Job,
    SlurmRun,
    in_allocation,
    job_of,
    start_local,
)
from helpers.engine.cluster.place import first_address, free_ports
from helpers.engine.errors import RunError, RunInterrupted
from helpers.engine.processes import pack_function
from helpers.engine.trace import Results
from helpers.engine.wire import Parcel

LAUNCHERS = ("slurm", "torchrun", "horovod")
START_SECONDS = 300.0  # for the ranks to come up: frameworks load slowly from a shared disk
LOCAL_HOSTS = ("localhost", "127.0.0.1")  # names of this machine: horovodrun takes each for a host
KEPT = 20  # runs that have ended whose folders stay, to be read and attached to


def run_cluster(
    fn: Callable[..., Any],
    args: Sequence[Any],
    nodes: int = 2,
    ranks_per_node: int = 2,
    launcher: str = "slurm",
    framework: str = "torch",
    timeout: float = 60.0,
    start_timeout: float = START_SECONDS,
    folder: str | os.PathLike[str] | None = None,
    interface: str = "",
    hosts: Sequence[str] = (),
    device: str | None = None,
    threads: int = 1,
    show: bool = True,
    file: str | os.PathLike[str] | None = None,
    **sbatch: Any,
) -> Results:
    """Run `fn(comm, *args)` on a cluster's nodes; see `helpers.run` for what comes back.

    timeout: seconds from when all ranks have begun. Waiting in the queue does not count, nor does
    start-up, which has start_timeout. folder: where the runs' folders are, on a disk that all nodes
    see. interface: the network interface between the nodes, where the one that leads to the first
    node is not it. hosts: for horovodrun, the machines' names. file: a launcher's file of yours,
    such as a copy of cluster/run.slurm, with its line `set -- "$@"`. sbatch: further options of
    SLURM's `sbatch`, by its names: partition="rtx", time="00:30:00", gpus=4 (a node), account=....

    Raises what helpers.run raises, NodeDied where a node has gone, JobCancelled where the job was
    cancelled.
    """
    if launcher != "slurm" and sbatch:
        raise TypeError(f"{sorted(sbatch)[0]} is an option of SLURM's; {launcher} has none such.")
    if launcher == "horovod" and hosts and len(hosts) != nodes:
        raise ValueError(f"hosts names {len(hosts)} machines, and nodes={nodes}.")
    parcel = pack_function(fn, args)
    try:
        plan = Plan(
            nodes * ranks_per_node, nodes, framework, launcher, device, threads, timeout,
            float(start_timeout), interface, [path or os.getcwd() for path in sys.path],
            os.getcwd(), f"{launcher}-{secrets.token_hex(3)}", cell_sources(),
        )  # fmt: skip
        made = laid_out(Path(folder) if folder is not None else None, plan, parcel)
    finally:
        parcel.close()
    text = Path(file).read_text(encoding="utf-8") if file else files.template(launcher)
    try:
        job, text = started(made, plan, text, ranks_per_node, hosts, sbatch)
    except BaseException as error:
        shutil.rmtree(made.path, ignore_errors=True)
        if isinstance(error, KeyboardInterrupt):
            raise RunInterrupted("The run was interrupted before its job was submitted.") from None
        raise
    if show:
        print(f"{job.begins}:\n\n{text}\n{'─' * 60}", flush=True)
    return Follower(made, job, show).results()


def attach(
    job: int | str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    show: bool = True,
) -> Results:
    """Take up a run of `helpers.run(engine="cluster")` again, from this or a new kernel.

    job: SLURM's number of it, the name that another launcher's run was given, or the run's folder.
    folder: what the run was given as folder=, where it was. Returns what the run would have
    returned, and raises what it would have raised; also where it has ended meanwhile.

    Raises ValueError where no such run is known.
    """
    found = found_run(str(os.fspath(job) if isinstance(job, os.PathLike) else job), folder)
    if found is None:
        raise ValueError(
            f"There is no run {job} in {runs_folder(folder)}. Give the job's number as SLURM or "
            "the cell told it, or the run's folder; and folder=, if the run had one."
        )
    noted = found.noted()
    if show:
        print(f"Attached to {noted['launcher']}'s {noted['job']}, in {found.path}.", flush=True)
    return Follower(found, job_of(noted), show).results()


def found_run(job: str, folder: str | os.PathLike[str] | None) -> RunFolder | None:
    """The run of a number or name; None where there is none."""
    paths = [Path(job).expanduser()]
    if not (paths[0] / "plan").exists():
        with contextlib.suppress(OSError):
            paths = sorted(runs_folder(folder).iterdir(), key=lambda p: p.stat().st_mtime)
    for made in map(RunFolder, reversed(paths)):
        noted = made.noted()
        if noted and job in (str(noted["job"]), made.path.name, str(made.path)):
            return made
    return None


def runs_folder(folder: str | os.PathLike[str] | None) -> Path:
    """Where runs have their folders: in the user's cache, which nodes see as they see the home."""
    return (Path(folder).expanduser() if folder is not None else cache() / "runs").absolute()


def laid_out(folder: Path | None, plan: Plan, parcel: Parcel) -> RunFolder:
    """A new folder for a run; folders of runs long ended go."""
    parent = runs_folder(folder)
    try:
        parent.mkdir(parents=True, exist_ok=True)
        forget_old(parent)
        return RunFolder.new(parent / plan.name, plan, parcel)
    except OSError as error:
        raise RunError(
            f"The run needs a folder that all nodes see, and {parent} cannot be written: "
            f"{error.strerror}. Give folder=."
        ) from error


def forget_old(parent: Path) -> None:
    """Remove all but the last folders of runs."""
    runs = [path for path in parent.iterdir() if (path / "plan").exists()]
    runs.sort(key=lambda path: path.stat().st_mtime)
    for path in runs[:-KEPT]:
        if RunFolder(path).noted().get("ended"):
            shutil.rmtree(path, ignore_errors=True)


def started(
    made: RunFolder,
    plan: Plan,
    text: str,
    ranks_per_node: int,
    hosts: Sequence[str],
    sbatch: dict[str, Any],
) -> tuple[Job, str]:
    """Fill the launcher's file in, and start the job with it; returns what was filled in, too."""
    command = ["-m", "helpers.engine.cluster.rank", str(made.path)]
    paths = [str(ROOT), *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
    exports = {
        "PATH": f'{shlex.quote(str(Path(sys.executable).parent))}:"$PATH"',
        "PYTHONPATH": shlex.quote(os.pathsep.join(dict.fromkeys(paths))),
    }
    if plan.launcher == "slurm":
        options = slurm.sbatch_options(sbatch, plan.nodes, ranks_per_node, made.log)
        text = files.filled(text, command, options, exports)
        number = slurm.submit(made.path, text, plan.size)
        made.note(launcher="slurm", job=number, submitted=time.time())
        return SlurmRun(number), text
    if plan.launcher == "torchrun":
        first = first_address() if in_allocation() else "127.0.0.1"
        exports |= {"NODES": str(plan.nodes), "RANKS_PER_NODE": str(ranks_per_node)}
        exports |= {"ADDRESS": shlex.quote(first), "PORT": str(free_ports(1)[0])}
    else:
        names = list(hosts) or [*LOCAL_HOSTS, socket.gethostname()][: plan.nodes]
        if len(names) < plan.nodes:
            raise ValueError(
                f"horovodrun runs on {plan.nodes} machines: name them, hosts=[...]. It reaches "
                "them by ssh."
            )
        slots = ",".join(f"{host}:{ranks_per_node}" for host in names)
        exports |= {"RANKS": str(plan.size), "HOSTS": shlex.quote(slots)}
    text = files.filled(text, command, exports=exports)
    script = made.path / "run.sh"
    script.write_text(text, encoding="utf-8")
    run = start_local(made.path, script, plan.launcher, plan.nodes, plan.name)
    made.note(launcher=plan.launcher, job=plan.name, processes=run.processes, submitted=time.time())
    return run, text


def cell_sources() -> dict[str, list[str]]:
    """The lines of the notebook's cells, by the names that tracebacks give them."""
    return {
        name: list(entry[2])
        for name, entry in linecache.cache.items()
        if len(entry) == 4 and entry[1] is None
    }
