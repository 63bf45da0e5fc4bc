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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from helpers.course.setup.places import cache
from helpers.engine.cluster import files, jobs
from helpers.engine.cluster.folder import Plan, RunFolder
from helpers.engine.cluster.follow import Follower
from helpers.engine.cluster.jobs import Job, LocalRun, SlurmRun
from helpers.engine.cluster.place import first_address, free_ports
from helpers.engine.errors import RunError, RunInterrupted
from helpers.engine.trace import Results
from helpers.engine.wire import Parcel, pack_function

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
    parcel = pack_function(fn, args)
    try:
        plan = Plan(
            nodes * ranks_per_node, framework, launcher, device, threads, timeout,
            float(start_timeout), interface, [path or os.getcwd() for path in sys.path],
            os.getcwd(), f"{launcher}-{secrets.token_hex(3)}", cell_sources(),
        )  # fmt: skip
        made = laid_out(folder, plan, parcel)
    finally:
        parcel.close()
    text = Path(file).read_text(encoding="utf-8") if file else files.template(launcher)
    try:
        text = submitted(made, plan, text, nodes, ranks_per_node, hosts, sbatch)
    except BaseException as error:
        shutil.rmtree(made.path, ignore_errors=True)
        if isinstance(error, KeyboardInterrupt):
            raise RunInterrupted("The run was interrupted before its job was submitted.") from None
        raise
    if show:
        begins = "Submitted as job" if launcher == "slurm" else "Started as"
        print(f"{begins} {made.noted()['job']}:\n\n{text}\n{'─' * 60}", flush=True)
    return Follower(made, job_of(made), show).results()


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
    return Follower(found, job_of(found), show).results()


def submitted(
    made: RunFolder,
    plan: Plan,
    text: str,
    nodes: int,
    ranks_per_node: int,
    hosts: Sequence[str],
    sbatch: Mapping[str, Any],
) -> str:
    """Fill the launcher's file in, and start the job with it; returns what was filled in."""
    command = ["-m", "helpers.engine.cluster.rank", str(made.path)]
    exports = {
        "PATH": f'{shlex.quote(str(Path(sys.executable).parent))}:"$PATH"',
        "PYTHONPATH": shlex.quote(jobs.import_path()),
    }
    if plan.launcher == "slurm":
        given = {name.replace("_", "-"): value for name, value in sbatch.items()}
        if "gpus" in given:
            given["gpus-per-node"] = given.pop("gpus")
        log = str(made.path / "job.log")
        given |= {"nodes": nodes, "ntasks-per-node": ranks_per_node, "output": log}
        text = files.filled(text, command, {**given, "no-requeue": True}, exports)
        made.note(launcher="slurm", job=jobs.submit(made.path, text, plan.size))
        return text
    where = reached(plan.launcher, nodes, ranks_per_node, hosts)
    text = files.filled(text, command, exports={**exports, **where})
    script = made.path / "run.sh"
    script.write_text(text, encoding="utf-8")
    guard = jobs.start_local(made.path, script, plan.launcher, nodes)
    made.note(launcher=plan.launcher, job=plan.name, guard=guard)
    return text


def job_of(made: RunFolder) -> Job:
    """A run's job, from what its folder says."""
    noted = made.noted()
    if noted["launcher"] == "slurm":
        return SlurmRun(noted["job"])
    return LocalRun(noted["job"], noted["guard"], made.path)


def found_run(job: str, folder: str | os.PathLike[str] | None) -> RunFolder | None:
    """The run of a number, a name or a folder; None where there is none."""
    for path in (Path(job).expanduser(), *reversed(all_runs(runs_folder(folder)))):
        noted = RunFolder(path).noted()
        if noted and (job in (noted["job"], path.name) or path == Path(job).expanduser()):
            return RunFolder(path)
    return None


def runs_folder(folder: str | os.PathLike[str] | None) -> Path:
    """Where runs have their folders: in the user's cache, which nodes see as they see the home."""
    return (Path(folder).expanduser() if folder is not None else cache() / "runs").absolute()


def all_runs(parent: Path) -> list[Path]:
    """The folders of runs, the last one last."""
    with contextlib.suppress(OSError):
        return sorted((plan.parent for plan in parent.glob("*/plan")), key=os.path.getmtime)
    return []


def laid_out(folder: str | os.PathLike[str] | None, plan: Plan, parcel: Parcel) -> RunFolder:
    """A new folder for a run; folders of runs long ended go."""
    parent = runs_folder(folder)
    for path in all_runs(parent)[:-KEPT]:
        if RunFolder(path).noted().get("ended"):
            shutil.rmtree(path, ignore_errors=True)
    try:
        return RunFolder.new(parent / plan.name, plan, parcel)
    except OSError as error:
        raise RunError(
            f"The run needs a folder that all nodes see, and {parent} cannot be written: "
            f"{error.strerror}. Give folder=."
        ) from error


def reached(launcher: str, nodes: int, ranks_per_node: int, hosts: Sequence[str]) -> dict[str, str]:
    """What torchrun's or horovodrun's file is told: how many ranks there are, and where."""
    if launcher == "torchrun":
        return {
            "NODES": str(nodes), "RANKS_PER_NODE": str(ranks_per_node),
            "ADDRESS": first_address() if jobs.in_allocation() else "127.0.0.1",
            "PORT": str(free_ports(1)[0]),
        }  # fmt: skip
    names = list(hosts) or [*LOCAL_HOSTS, socket.gethostname()][:nodes]
    if len(names) != nodes:
        raise ValueError(
            f"horovodrun runs on {nodes} machines, and {len(names)} are named: give hosts=[...]. "
            "It reaches them by ssh."
        )
    slots = ",".join(f"{host}:{ranks_per_node}" for host in names)
    return {"RANKS": str(nodes * ranks_per_node), "HOSTS": shlex.quote(slots)}


def cell_sources() -> dict[str, list[str]]:
    """The lines of the notebook's cells, by the names that tracebacks give them."""
    return {
        name: list(entry[2])
        for name, entry in linecache.cache.items()
        if len(entry) == 4 and entry[1] is None
    }
