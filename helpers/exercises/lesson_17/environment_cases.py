"""The cases of exercise 17.5: what launchers leave in a process's environment."""

from __future__ import annotations

from typing import Any

from helpers.algorithms.launching.environment import rank_in
from helpers.exercises.common import rng
from helpers.exercises.spec import Case

_SHELL = {"HOME": "/home/ada", "LANG": "C.UTF-8", "OMP_NUM_THREADS": "4", "SHLVL": "2"}
Numbers = dict[str, int]  # of a process: rank, size, local, node, beside, nodes, asked


def cases(seed: int) -> list[Case]:
    """Seed 0: each launcher, a batch script, a shell, launchers inside others, what somebody has
    exported, no local rank, on nodes of 2, 4 and 7 ranks; rank 0, and a job of one. Other seeds:
    nodes of other sizes."""
    random = rng(seed, "17.5")
    n, first = _some(random if seed else None)
    agent = n | {"rank": n["node"], "local": 0, "beside": 1, "size": n["nodes"]}
    one = {name: 0 for name in n} | {"size": 1, "nodes": 1, "beside": 1, "asked": 1}
    exported = {"RANK": n["rank"] + 1, "WORLD_SIZE": n["size"] + 1}
    no_local = {"PMI_RANK": n["rank"], "PMI_SIZE": n["size"]}
    step = f"Under srun, for {n['size']} of the job's {n['asked']} tasks"
    return [
        _case("Under torchrun", _torchrun(n), "torchrun"),
        _case("Under horovodrun", _horovodrun(n), "horovodrun"),
        _case(step, _srun(n)),
        _case("Under ibrun", _batch(n) | _ibrun(n), "ibrun"),
        _case("In a job's batch script", _batch(n)),
        _case("In a shell outside any job", {}),
        _case("Under torchrun inside srun", _srun(agent) | _torchrun(n), "torchrun"),
        _case("Under horovodrun inside srun --pty", _srun(one) | _horovodrun(n), "horovodrun"),
        _case("Under ibrun inside srun --pty", _srun(one) | _ibrun(n), "ibrun"),
        _case("Under horovodrun inside torchrun", _torchrun(agent) | _horovodrun(n), "horovodrun"),
        _case("Under srun, with a RANK that somebody has exported", _srun(n) | exported),
        _case("Under ibrun without MPI_LOCALRANKID", _batch(n) | no_local, "ibrun"),
        _case("As rank 0 under srun", _srun(first)),
        _case("As rank 0 under torchrun", _torchrun(first), "torchrun"),
        _case("As the only rank under srun", _srun(one)),
        _case("As the only rank under torchrun", _torchrun(one), "torchrun"),
    ]


def _some(random: Any) -> tuple[Numbers, Numbers]:
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


def _case(name: str, told: dict[str, Any], launcher: str = "srun") -> Case:
    environ = {**_SHELL, **{key: str(value) for key, value in told.items()}}
    ordered = dict(sorted(environ.items()))  # nothing can be read off from the order
    return Case(name, ((ordered,),), facts={"want": rank_in(ordered), "launcher": launcher})


def _torchrun(n: Numbers) -> dict[str, Any]:
    return {
        **{"RANK": n["rank"], "WORLD_SIZE": n["size"], "LOCAL_RANK": n["local"]},
        **{"LOCAL_WORLD_SIZE": n["beside"], "GROUP_RANK": n["node"]},
        **{"GROUP_WORLD_SIZE": n["nodes"], "TORCHELASTIC_RESTART_COUNT": 0},
        **{"MASTER_ADDR": "c101-001", "MASTER_PORT": 29500},
    }


def _horovodrun(n: Numbers) -> dict[str, Any]:
    return {
        **{"HOROVOD_RANK": n["rank"], "HOROVOD_SIZE": n["size"], "HOROVOD_LOCAL_RANK": n["local"]},
        **{"HOROVOD_LOCAL_SIZE": n["beside"], "HOROVOD_CROSS_RANK": n["node"]},
        **{"HOROVOD_CROSS_SIZE": n["nodes"], "HOROVOD_HOSTNAME": f"c101-00{n['node'] + 1}"},
    }


def _srun(n: Numbers) -> dict[str, Any]:
    """With `--preserve-env`, SLURM_NTASKS stays what the job asked for."""
    return _batch(n) | {
        **{"SLURM_PROCID": n["rank"], "SLURM_LOCALID": n["local"], "SLURM_NODEID": n["node"]},
        **{"SLURM_STEP_ID": 0, "SLURM_STEP_NUM_TASKS": n["size"]},
        "SLURM_STEP_NUM_NODES": n["nodes"],
    }


def _ibrun(n: Numbers) -> dict[str, Any]:
    return {
        **{"PMI_RANK": n["rank"], "PMI_SIZE": n["size"], "MPI_LOCALRANKID": n["local"]},
        "MPI_LOCALNRANKS": n["beside"],
    }


def _batch(n: Numbers) -> dict[str, Any]:
    """What sbatch gives the script, and the script all that it starts."""
    return {
        **{"SLURM_JOB_ID": 4711, "SLURM_JOB_NUM_NODES": n["nodes"], "SLURM_NTASKS": n["asked"]},
        **{"SLURM_PROCID": 0, "SLURM_LOCALID": 0, "SLURM_NODEID": 0},
    }
