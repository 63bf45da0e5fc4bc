"""What launchers leave in a process's environment, and what they call it; the driver (17.5)."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from helpers.checks.drives.calling import Function, failed, wrong_signature
from helpers.checks.drives.requests import CHANGED
from helpers.checks.drives.values import plain
from helpers.checks.spec import Case, Observation

Numbers = dict[str, int]  # of a process: rank, size, local, node, beside, nodes, asked


class Named(NamedTuple):
    """What a launcher calls its numbers. sure: what else is there. beside: ranks on this node."""

    rank: str
    size: str
    local: str
    node: str
    beside: str
    nodes: str
    sure: str


NAMES = {
    "torchrun": Named("RANK", "WORLD_SIZE", "LOCAL_RANK", "GROUP_RANK",
                      "LOCAL_WORLD_SIZE", "GROUP_WORLD_SIZE", "MASTER_ADDR"),
    "horovodrun": Named("HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_RANK", "HOROVOD_CROSS_RANK",
                        "HOROVOD_LOCAL_SIZE", "HOROVOD_CROSS_SIZE", "HOROVOD_RANK"),
    "ibrun": Named("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "",
                   "MPI_LOCALNRANKS", "SLURM_JOB_NUM_NODES", "PMI_RANK"),
    "srun": Named("SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "SLURM_NODEID",
                  "SLURM_NTASKS_PER_NODE", "SLURM_STEP_NUM_NODES", "SLURM_STEP_NUM_TASKS"),
}  # fmt: skip


def unlike_nodes(random: Any) -> tuple[Numbers, Numbers]:
    """A process on the last of three nodes with unlike numbers of ranks, and rank 0 of that job.

    What people mistake for its local rank is another number than that, each of them.
    """
    nodes, local = [2, 4, 7], 5
    while random is not None:
        nodes, local = sorted(random.permutation(7)[:3] + 2), int(random.integers(3, 8))
        rank = int(sum(nodes[:-1])) + local
        others = {local, 0, 2, rank % int(nodes[-1]), rank % 4, rank}
        if local < nodes[-1] and rank > 9 and len(others) == 6:
            break
    *before, last = map(int, nodes)
    size = sum(before) + last
    # The job was given room for more tasks than the step has.
    job = {"size": size, "nodes": len(nodes), "asked": size + 4}
    first = job | {"rank": 0, "local": 0, "node": 0, "beside": before[0]}
    return job | {"rank": sum(before) + local, "local": local, "node": 2, "beside": last}, first


def told_by(launcher: str, n: Numbers) -> dict[str, Any]:
    """What a launcher gives a rank; "batch": what sbatch gives the script, and it all it starts."""
    if launcher == "batch":
        return {
            **{"SLURM_JOB_ID": 4711, "SLURM_JOB_NUM_NODES": n["nodes"], "SLURM_NTASKS": n["asked"]},
            **{"SLURM_PROCID": 0, "SLURM_LOCALID": 0, "SLURM_NODEID": 0},
        }
    found: dict[str, Any] = {}
    if launcher == "srun":  # with `--preserve-env`, SLURM_NTASKS stays what the job asked for
        found = told_by("batch", n) | {"SLURM_STEP_ID": 0}
    elif launcher == "torchrun":
        found = {"TORCHELASTIC_RESTART_COUNT": 0, "MASTER_ADDR": "c101-001", "MASTER_PORT": 29500}
    elif launcher == "horovodrun":
        found = {"HOROVOD_HOSTNAME": f"c101-00{n['node'] + 1}"}
    named = {what: name for what, name in NAMES[launcher]._asdict().items() if what in n and name}
    named.pop({"srun": "beside", "ibrun": "nodes"}.get(launcher, ""), None)  # they do not say it
    return found | {name: n[what] for what, name in named.items()}


def in_environment(fn: Function, case: Case) -> Observation:
    """Call `fn(environ)` once: `values[0]` is what it gives.

    Where it changed variables, it is {"changed": 0, "names": theirs, "returned": what it gives}.
    """
    if trouble := wrong_signature(fn, 1):
        return trouble
    environ = case.args[0][0]
    try:
        held = dict(environ)
        value = plain(fn(held))
        after = variables_of(held)
    except Exception as error:
        return failed(error, fn)
    before = variables_of(environ)
    if after == before:
        return Observation(values=[value])
    names = sorted({one[0] for one in [*before, *after] if (one in before) != (one in after)})
    return Observation(values=[{CHANGED: 0, "names": names, "returned": value}])


def variables_of(environ: Mapping[str, str]) -> list[list[str]]:
    """Names and values as texts, in the order of the names."""
    return sorted([str(name), str(value)] for name, value in environ.items())
