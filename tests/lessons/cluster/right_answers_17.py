"""Right answers of lesson 17 in another style than the course's own."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np
import torch

RIGHT: list[tuple[str, Callable[..., Any]]] = []  # each section adds its own


# --- 17.1: how often to save ----------------------------------------------------------------------


def interval_by_rates(save: float, restart: float, gpu_hours: float, gpus: int) -> Any:
    """Failures a second; numpy's numbers."""
    rate = np.float64(gpus) / (gpu_hours * 3600)
    x = save * rate / 2
    series = np.polynomial.polynomial.polyval(np.sqrt(x), [1, 1 / 3, 1 / 9])
    return np.where(x >= 1, 1 / rate, np.sqrt(2 * save / rate) * series - save)


def interval_by_bisection(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    """The best interval itself: where the share of time neither grows nor shrinks."""
    mtbf = 3600 * gpu_hours / gpus
    low, high = 0.0, 1.0
    for _ in range(80):
        middle = (low + high) / 2
        if math.log1p(-middle) + middle + save / mtbf > 0:
            low = middle
        else:
            high = middle
    return low * mtbf


RIGHT += [("17.1", interval_by_rates), ("17.1", interval_by_bisection)]


# --- 17.2: effective time -------------------------------------------------------------------------


def share_by_expm1(interval: float, save: float, restart: float, mtbf: float) -> Any:
    """As it is asked for, in torch's numbers."""
    length = torch.tensor((interval + save) / mtbf, dtype=torch.float64)
    return interval / (mtbf * math.exp(restart / mtbf) * torch.expm1(length))


def share_by_tries(interval: float, save: float, restart: float, mtbf: float) -> float:
    """The first try, and if it fails, as many as it takes with a restart before each."""
    fails = 1 - math.exp(-(interval + save) / mtbf)
    again = mtbf * (math.exp((restart + interval + save) / mtbf) - 1)
    return interval / (fails * mtbf + fails * again)


RIGHT += [("17.2", share_by_expm1), ("17.2", share_by_tries)]


# --- 17.3: a write that nothing spoils ------------------------------------------------------------


def write_under_a_name_before_it(folder: Any, name: str, data: bytes) -> Any:
    """A hidden file, its size looked at; gives it back."""
    hidden = Path("." + name)
    folder.write(hidden, memoryview(data))
    folder.sync(hidden)
    if folder.size(hidden) != len(data):
        raise OSError(f"{name} is not whole.")
    folder.rename(hidden, Path(name))
    folder.sync_names()
    return folder


def write_under_a_new_name(folder: Any, name: str, data: bytes) -> None:
    """A name that nobody has; what earlier calls have left of this file's goes first."""
    for each in folder.names():
        if each.startswith(f"{name}.new-"):
            folder.remove(each)
    mine = f"{name}.new-{uuid4().hex}"
    try:
        folder.write(mine, bytearray(data))
        folder.sync(mine)
        folder.rename(mine, name)
    except OSError:
        folder.remove(mine)
        raise
    folder.sync_names()


RIGHT += [("17.3", write_under_a_name_before_it), ("17.3", write_under_a_new_name)]


# --- 17.4: cut for other ranks --------------------------------------------------------------------


def pieces_by_elements(length: int, parts: int, rank: int, size: int) -> Any:
    """Each element's part and place, those of a part side by side; numpy's numbers."""
    old, new = -(-length // parts), -(-length // size)
    mine = np.arange(length)[rank * new : (rank + 1) * new]
    found = []
    for part in np.unique(mine // max(old, 1)):
        places = mine[mine // old == part] % old
        found.append((part, places.min(), places.max() + 1))
    return found


def pieces_in_a_tensor(length: int, parts: int, rank: int, size: int) -> Any:
    """All parts at once."""
    old, new = -(-length // parts), -(-length // size)
    first = torch.arange(parts) * old
    begin = first.clamp(min=rank * new) - first
    end = (first + old).clamp(max=min((rank + 1) * new, length)) - first
    rows = torch.stack([torch.arange(parts), begin, end], 1)
    return rows[begin < end]


RIGHT += [("17.4", pieces_by_elements), ("17.4", pieces_in_a_tensor)]


# --- 17.5: who am I? ------------------------------------------------------------------------------


def rank_by_matching(environ: Mapping[str, str]) -> Any:
    """From the last launcher of the table to the first: who comes later replaces who was before. A
    list."""
    found: list[int] | None = None
    for names, local in (
        ("SLURM_PROCID SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
        ("PMI_RANK PMI_SIZE", "MPI_LOCALRANKID"),
        ("RANK WORLD_SIZE MASTER_ADDR", "LOCAL_RANK"),
        ("HOROVOD_RANK HOROVOD_SIZE", "HOROVOD_LOCAL_RANK"),
    ):
        if all(name in environ for name in names.split()):
            found = [int(environ[name]) for name in names.split()[:2]]
            found.append(int(environ.get(local, "0")))
    return found


class Found(NamedTuple):
    """A place with names."""

    rank: int
    size: int
    local_rank: int


def rank_with_names(environ: Mapping[str, str]) -> Found | None:
    """By a copy of what is there, in a tuple with names; by what else each launcher leaves."""
    unsaid = ("LOCAL_RANK", "HOROVOD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID")
    e = dict.fromkeys(unsaid, "0") | dict(environ)
    if "HOROVOD_SIZE" in e:
        names = (f"HOROVOD_{name}" for name in ("RANK", "SIZE", "LOCAL_RANK"))
    elif "MASTER_ADDR" in e and "RANK" in e:
        names = iter(("RANK", "WORLD_SIZE", "LOCAL_RANK"))
    elif "PMI_RANK" in e:
        names = iter(("PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"))
    elif "SLURM_STEP_NUM_TASKS" in e:
        names = (f"SLURM_{name}" for name in ("PROCID", "STEP_NUM_TASKS", "LOCALID"))
    else:
        return None
    return Found(*(int(e.pop(name)) for name in names))


RIGHT += [("17.5", rank_by_matching), ("17.5", rank_with_names)]


# --- 17.6: the same sum on any number of ranks ----------------------------------------------------


def sum_passed_on(comm: Any, mine: Mapping[int, Any], parts: int, like: Any) -> Any:
    """All ranks tell each other who has what; the running sum goes to each part's rank in turn."""
    own = torch.tensor([part in mine for part in range(parts)])
    asked = [comm.isend(own, other) for other in range(comm.size) if other != comm.rank]
    has = [own if r == comm.rank else comm.recv(r) for r in range(comm.size)]
    for request in asked:
        request.wait()
    total, at = torch.zeros_like(like), int(torch.stack(has)[:, 0].int().argmax())
    for part in range(parts):
        owner = int(torch.stack(has)[:, part].int().argmax())
        if owner != at and comm.rank == at:
            comm.send(total, owner)
        if owner != at and comm.rank == owner:
            total = comm.recv(at)
        if comm.rank == owner:
            total = total + mine[part]
        at = owner
    if comm.rank != at:
        return comm.recv(at)
    for other in range(comm.size):
        if other != at:
            comm.send(total, other)
    return total


def sum_of_gathered_tables(comm: Any, mine: Mapping[int, Any], parts: int, like: Any) -> Any:
    """Every rank sends its rows to every other; numpy adds them, from the first on."""
    table = torch.full((parts, *like.shape), math.nan, dtype=like.dtype)
    for part, gradient in mine.items():
        table[part] = gradient
    requests = [comm.isend(table.clone(), r) for r in range(comm.size) if r != comm.rank]
    for other in range(comm.size):
        if other != comm.rank:
            theirs = comm.recv(other)
            table = torch.where(theirs.isnan(), table, theirs)
    for request in requests:
        request.wait()
    return torch.from_numpy(reduce(np.add, table.numpy()))


RIGHT += [("17.6", sum_passed_on), ("17.6", sum_of_gathered_tables)]
