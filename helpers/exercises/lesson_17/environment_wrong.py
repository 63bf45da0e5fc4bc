"""Ways to find one's rank with one thing wrong, for exercise 17.5."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Environ = dict[str, str]


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
_ORDER = ("horovodrun", "torchrun", "ibrun", "srun")


def launcher(environ: Mapping[str, str], order: tuple[str, ...] = _ORDER) -> str:
    """The first of these launchers whose variables are there, "" for none."""
    return next((o for o in order if NAMES[o].rank in environ and NAMES[o].sure in environ), "")


def _local(environ: Environ, named: Named) -> str:
    return environ.get(named.local, "0")


def _three(environ: Environ, named: Named) -> tuple[int, ...]:
    return int(environ[named.rank]), int(environ[named.size]), int(_local(environ, named))


def _place(
    numbers: Callable[[Environ, Named], Any] = _three,
    order: tuple[str, ...] = _ORDER,
    sure: str = "SLURM_STEP_NUM_TASKS",
    size: str = "SLURM_STEP_NUM_TASKS",
    nobody: Any = None,
) -> Callable[[Environ], Any]:
    """The right one with a part exchanged. sure: what tells that srun started it. size: how many
    srun has started. nobody: the answer outside a job."""

    def rank_in(environ: Environ) -> Any:
        for each in order:
            named = NAMES[each]
            if each == "srun":
                named = named._replace(sure=sure, size=size if size in environ else "SLURM_NTASKS")
            if named.rank in environ and named.sure in environ:
                return numbers(environ, named)
        return nobody

    return rank_in


def _other(
    rank: Callable[[Environ, Named], Any] = lambda e, n: e[n.rank],
    size: Callable[[Environ, Named], Any] = lambda e, n: e[n.size],
    local: Callable[[Environ, Named], Any] = _local,
) -> Callable[[Environ], Any]:
    """With another of the numbers."""
    return _place(lambda e, n: (int(rank(e, n)), int(size(e, n)), int(local(e, n))))


texts = _place(lambda e, n: (e[n.rank], e[n.size], _local(e, n)))
in_floats = _place(lambda e, n: tuple(float(each) for each in _three(e, n)))
no_local = _place(lambda e, n: (int(e[n.rank]), int(e[n.size])))
local_for_rank = _other(rank=_local)
rank_for_local = _other(local=lambda e, n: e[n.rank])
node_for_local = _other(local=lambda e, n: e[n.node] if n.node else _local(e, n))
beside_for_local = _other(local=lambda e, n: e.get(n.beside, _local(e, n)))
beside_for_size = _other(size=lambda e, n: e.get(n.beside, e[n.size]))
nodes_for_size = _other(size=lambda e, n: e[n.nodes])
by_dividing = _other(local=lambda e, n: int(e[n.rank]) % int(e[n.beside]) if n.beside in e else 0)
by_four = _other(local=lambda e, n: int(e[n.rank]) % 4)
local_rank_alone = _other(local=lambda e, n: e.get("LOCAL_RANK", 0))
tasks_of_job = _place(size="SLURM_NTASKS")
slurm_before_ibrun = _place(order=("horovodrun", "torchrun", "srun", "ibrun"), sure="SLURM_PROCID")
srun_before_ibrun = _place(order=("horovodrun", "torchrun", "srun", "ibrun"))
no_ibrun = _place(order=("horovodrun", "torchrun", "srun"))
batch_is_rank = _place(sure="SLURM_PROCID")
alone = _place(nobody=(0, 1, 0))
srun_before_torchrun = _place(order=("horovodrun", "srun", "torchrun", "ibrun"))
srun_before_horovodrun = _place(order=("torchrun", "srun", "horovodrun", "ibrun"))
torchrun_before_horovodrun = _place(order=("torchrun", "horovodrun", "ibrun", "srun"))


def any_rank(environ: Environ) -> Any:
    """Torchrun by its RANK alone."""
    if "HOROVOD_RANK" not in environ and "RANK" in environ:
        return _three(environ, NAMES["torchrun"])
    return _right(environ)


def local_rank_asked_for(environ: Environ) -> Any:
    """As if there were always a local rank."""
    found = launcher(environ)
    return tuple(int(environ[name]) for name in NAMES[found][:3]) if found else None


def nobody_without_local(environ: Environ) -> Any:
    found = launcher(environ)
    return _three(environ, NAMES[found]) if found and NAMES[found].local in environ else None


def none_for_local(environ: Environ) -> Any:
    found = launcher(environ)
    if not found:
        return None
    rank, size, local = _three(environ, NAMES[found])
    return rank, size, local if NAMES[found].local in environ else None


def _right(environ: Environ) -> Any:
    return _place()(environ)


def its_own(environ: Environ) -> Any:
    """What it finds where the check runs it, which is as the only rank of a run."""
    return _right({"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "here"})


def an_empty_one(environ: Environ) -> Any:
    """What it finds elsewhere."""
    return _right({})


def own_by_name(environ: Environ) -> Any:
    return _right({name: os.environ[name] for name in environ if "RANK" in name})


def zero_is_none(environ: Environ) -> Any:
    found = _right(environ)
    return found if found and found[0] else None


def one_is_none(environ: Environ) -> Any:
    found = _right(environ)
    return found if found and found[1] > 1 else None


def torchrun_alone(environ: Environ) -> Any:
    return int(environ["RANK"]), int(environ["WORLD_SIZE"]), int(environ["LOCAL_RANK"])


def never_outside(environ: Environ) -> Any:
    found = launcher(environ) or "srun"
    return tuple(int(environ[name]) for name in NAMES[found][:3])


def takes_out(environ: Environ) -> Any:
    found = _right(environ)
    if found:
        environ.pop(NAMES[launcher(environ)].rank)
    return found


def sets_missing(environ: Environ) -> Any:
    found = _right(environ)
    if found:
        environ.setdefault("LOCAL_RANK", str(found[2]))
        environ.setdefault("RANK", str(found[0]))
    return found
