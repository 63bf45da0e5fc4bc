"""Shares of effective time with one thing wrong (17.2)."""

from __future__ import annotations

import math
from collections.abc import Callable

from helpers.algorithms.failures.effective import effective_share as reference

Formula = Callable[[float, float, float, float], float]


def _tries(length: float, mtbf: float) -> float:
    """Mean seconds until `length` seconds have passed without a failure, tried again at once."""
    return mtbf * math.expm1(length / mtbf)


def first_order(interval: float, save: float, restart: float, mtbf: float) -> float:
    return 1 - save / interval - interval / (2 * mtbf) - restart / mtbf


def of_costs(interval: float, save: float, restart: float, mtbf: float) -> float:
    return (1 - (restart + interval / 2) / mtbf) / (1 + save / interval)


def lost_once(interval: float, save: float, restart: float, mtbf: float) -> float:
    failures = (interval + save) / mtbf
    return interval / (interval + save + failures * (restart + interval / 2))


def no_restart(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / _tries(interval + save, mtbf)


def restart_each_time(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / _tries(restart + interval + save, mtbf)


def safe_restart(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / ((mtbf + restart) * math.expm1((interval + save) / mtbf))


def restart_once(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (restart + _tries(interval + save, mtbf))


def restart_wins(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (math.exp(-restart / mtbf) * _tries(interval + save, mtbf))


def safe_save(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (math.exp(restart / mtbf) * _tries(interval, mtbf) + save)


def no_save(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (math.exp(restart / mtbf) * _tries(interval, mtbf))


def saving_is_work(interval: float, save: float, restart: float, mtbf: float) -> float:
    return reference(interval, save, restart, mtbf) * (interval + save) / interval


def comes_through(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (interval + save) * math.exp(-(restart + interval + save) / mtbf)


def no_minus_one(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (mtbf * math.exp((restart + interval + save) / mtbf))


def one_in_exponent(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (mtbf * math.exp(restart / mtbf) * math.exp((interval + save) / mtbf - 1))


def no_brackets(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / mtbf * math.exp(restart / mtbf) * math.expm1((interval + save) / mtbf)


def no_exponential(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (mtbf * math.exp(restart / mtbf) * ((interval + save) / mtbf))


def one_off_no_exponential(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (mtbf * math.exp(restart / mtbf) * ((interval + save) / mtbf - 1))


def save_off(interval: float, save: float, restart: float, mtbf: float) -> float:
    return interval / (math.exp(restart / mtbf) * _tries(interval - save, mtbf))


def _of(turn: Callable[[float, float], float]) -> Formula:
    """The right share turned into something else; of the interval as well."""

    def effective_share(interval: float, save: float, restart: float, mtbf: float) -> float:
        return turn(reference(interval, save, restart, mtbf), interval)

    return effective_share


upside_down = _of(lambda share, interval: 1 / share)
lost = _of(lambda share, interval: 1 - share)
seconds = _of(lambda share, interval: interval / share)
percent = _of(lambda share, interval: 100 * share)
