"""What launchers leave in the environment of a process, and what they call it (17.5)."""

from __future__ import annotations

from typing import Any, NamedTuple

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


def _told(launcher: str, n: Numbers) -> dict[str, Any]:
    """All numbers, by a launcher's own names."""
    return {name: n[what] for what, name in NAMES[launcher]._asdict().items() if what in n}


def torchrun(n: Numbers) -> dict[str, Any]:
    """What torchrun gives a rank."""
    more = {"TORCHELASTIC_RESTART_COUNT": 0, "MASTER_ADDR": "c101-001", "MASTER_PORT": 29500}
    return _told("torchrun", n) | more


def horovodrun(n: Numbers) -> dict[str, Any]:
    """What horovodrun gives a rank."""
    return _told("horovodrun", n) | {"HOROVOD_HOSTNAME": f"c101-00{n['node'] + 1}"}


def srun(n: Numbers) -> dict[str, Any]:
    """What srun gives a rank: with `--preserve-env`, SLURM_NTASKS stays what the job asked for."""
    return batch(n) | {
        **{"SLURM_PROCID": n["rank"], "SLURM_LOCALID": n["local"], "SLURM_NODEID": n["node"]},
        **{"SLURM_STEP_ID": 0, "SLURM_STEP_NUM_TASKS": n["size"]},
        "SLURM_STEP_NUM_NODES": n["nodes"],
    }


def ibrun(n: Numbers) -> dict[str, Any]:
    """What ibrun gives a rank, beside what the batch script has."""
    return {
        **{"PMI_RANK": n["rank"], "PMI_SIZE": n["size"], "MPI_LOCALRANKID": n["local"]},
        "MPI_LOCALNRANKS": n["beside"],
    }


def batch(n: Numbers) -> dict[str, Any]:
    """What sbatch gives the script, and the script all that it starts."""
    return {
        **{"SLURM_JOB_ID": 4711, "SLURM_JOB_NUM_NODES": n["nodes"], "SLURM_NTASKS": n["asked"]},
        **{"SLURM_PROCID": 0, "SLURM_LOCALID": 0, "SLURM_NODEID": 0},
    }
