"""Intervals between checkpoints with one thing wrong (17.1)."""

from __future__ import annotations

import math
from collections.abc import Callable

from helpers.algorithms.failures.interval import checkpoint_interval as reference

Term = Callable[[float, float], float]  # of save and mtbf


def _daly(
    mtbf: Callable[[float, int], float] = lambda hours, gpus: 3600 * hours / gpus,
    x: Term = lambda save, mtbf: save / (2 * mtbf),
    root: Term = lambda save, mtbf: math.sqrt(2 * save * mtbf),
    factor: Callable[[float], float] = lambda x: 1 + math.sqrt(x) / 3 + x / 9,
    less: Term = lambda save, mtbf: save,
    limit: float = 2.0,
    at_limit: float = 1.0,
    gives: Callable[[float], float] = lambda seconds: seconds,
) -> Callable[..., float]:
    """The reference with a part exchanged. limit: from how many mtbf on a save gives at_limit."""

    def checkpoint_interval(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
        m = mtbf(gpu_hours, gpus)
        if save >= limit * m:
            return gives(at_limit * m)
        return gives(root(save, m) * factor(x(save, m)) - less(save, m))

    return checkpoint_interval


def restart_too(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    mtbf = 3600 * gpu_hours / gpus
    return math.sqrt(2 * save * (mtbf + restart)) - save


def restart_in_mtbf(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    return reference(save, restart, gpu_hours + restart * gpus / 3600, gpus)


def restart_under_root(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    return reference(save + restart, restart, gpu_hours, gpus) + restart


def restart_as_save(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    return reference(save + restart, restart, gpu_hours, gpus)


def restart_off(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    return reference(save, restart, gpu_hours, gpus) - restart


young = _daly(factor=lambda x: 1, less=lambda save, mtbf: 0, limit=math.inf)
young_less_save = _daly(factor=lambda x: 1, limit=math.inf)
start_to_start = _daly(less=lambda save, mtbf: 0)
hours = _daly(mtbf=lambda hours, gpus: hours / gpus)
in_minutes = _daly(mtbf=lambda hours, gpus: 60 * hours / gpus)
one_gpu = _daly(mtbf=lambda hours, gpus: 3600 * hours)
times_gpus = _daly(mtbf=lambda hours, gpus: 3600 * hours * gpus)
root_gpus = _daly(mtbf=lambda hours, gpus: 3600 * hours / math.sqrt(gpus))
no_two = _daly(root=lambda save, mtbf: math.sqrt(save * mtbf))
x_of_mtbf = _daly(x=lambda save, mtbf: save / mtbf)
no_root_of_x = _daly(factor=lambda x: 1 + x / 3 + x / 9)
two_terms = _daly(factor=lambda x: 1 + math.sqrt(x) / 3)
no_limit = _daly(limit=math.inf)
limit_at_mtbf = _daly(limit=1.0)
gives_minutes = _daly(gives=lambda seconds: seconds / 60)
whole_mtbf = _daly(mtbf=lambda hours, gpus: 3600 * hours // gpus)
rounded = _daly(gives=round)
cut_off = _daly(gives=math.floor)
x_times_mtbf = _daly(x=lambda save, mtbf: save / 2 * mtbf)
third_in_root = _daly(factor=lambda x: 1 + math.sqrt(x / 3) + x / 9)
twice_mtbf = _daly(at_limit=2.0)


def no_bracket(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    mtbf = 3600 * gpu_hours / gpus
    x = save / (2 * mtbf)
    if x >= 1:
        return mtbf
    return math.sqrt(2 * save * mtbf) * 1 + math.sqrt(x) / 3 + x / 9 - save


def root_of_all(save: float, restart: float, gpu_hours: float, gpus: int) -> float:
    mtbf = 3600 * gpu_hours / gpus
    x = save / (2 * mtbf)
    if x >= 1:
        return mtbf
    return math.sqrt(2 * save * mtbf * (1 + math.sqrt(x) / 3 + x / 9)) - save
