"""Right answers of lesson 18 in another style than the course's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import mean, median
from typing import Any

import numpy as np

# --- 18.1: predictions ----------------------------------------------------------------------------


def always_the_same() -> dict[str, dict[str, str]]:
    """One way for all, and a word more."""
    one = {"first": "local steps", "best": "local steps", "why": "fewer messages"}
    return dict.fromkeys(("clock", "hosts", "processes"), one)


# --- 18.2: time to the target ---------------------------------------------------------------------


def by_arrays(train: Any, target: float) -> Any:
    """All looks at once; numpy's numbers."""
    began, looks = train()
    at, took, errors = np.array(looks).T
    three = np.convolve(errors, np.ones(3) / 3, "valid")
    trained = at - began - np.concatenate(([0.0], np.cumsum(took)[:-1]))
    there = np.flatnonzero(three <= target)
    return (trained[there[0] + 2] if len(there) else np.inf), three[-1]


# --- 18.3: a fair search --------------------------------------------------------------------------


def by_numpy(result_of: Any, rates: Any, seeds: Any, budget: int) -> Any:
    """A table with NaN for what was not tried."""
    rates = np.sort(np.array(rates))
    table = np.full((len(rates), len(seeds), 2), np.nan)
    table[:, 0] = [result_of(float(rate), seeds[0]) for rate in rates]
    left = budget - len(rates)
    for row in np.lexsort((table[:, 0, 1], table[:, 0, 0])):
        if left < len(seeds) - 1:
            break
        if len(seeds) > 1:
            table[row, 1:] = [result_of(float(rates[row]), seed) for seed in seeds[1:]]
        left -= len(seeds) - 1
    whole = np.flatnonzero(~np.isnan(table).any(axis=(1, 2)))
    seconds, ends = table[whole].mean(axis=1).T
    return rates[whole[np.lexsort((ends, seconds))[0]]]


# --- 18.4: on the same seeds ----------------------------------------------------------------------


def by_scipy(a: Any, b: Any) -> Any:
    """All of it from scipy."""
    from scipy import stats  # type: ignore[import-untyped]

    if len(a) != len(b) or len(a) < 2 or not np.isfinite([a, b]).all():
        raise ValueError("There are no pairs that could be compared.")
    if len(set(np.subtract(b, a))) == 1:
        same = float(np.subtract(b, a)[0])
        return same, same, same, float(same == 0)
    test = stats.ttest_rel(b, a)
    low, high = test.confidence_interval(0.95)
    return np.mean(np.subtract(b, a)), low, high, test.pvalue


# --- 18.5: what was found -------------------------------------------------------------------------


def in_other_words(times: Any, ends: Any) -> list[str]:
    """Other words, more digits, an interval in brackets, and signs the other way round."""
    runs = len(times[next(iter(times))])
    order = sorted(times, key=lambda way: median(times[way]))
    first, second = order[0], order[1]
    said = [
        f"{first.capitalize()} was quickest ({median(times[first]):.5f} s), ahead of {second} "
        f"({median(times[second]):.5f} s)."
    ]
    there = {way: runs - sum(map(math.isinf, times[way])) for way in times}
    if there[first] == there[second] == runs:
        less, low, high, p = by_scipy(times[second], times[first])
        said.append(
            f"It needed {-less:.4f} s less than {second} (95 % interval [{-high:.4f}, {-low:.4f}], "
            f"p={p:.4f}), {first}, that is."
        )
    else:
        said.append(f"There is no difference: {first} came {there[first]} times, {second} "
                    f"{there[second]} times.")  # fmt: skip
    best, other = sorted(ends, key=lambda way: mean(ends[way]))[:2]
    more, low, high, p = by_scipy(ends[best], ends[other])
    said.append(
        f"{best} has the lowest error, {mean(ends[best]):.3f} %. {other} has {more:.3f} points "
        f"more ({low:.3f} to {high:.3f}; p = {p:.3e})."
    )
    lost = [f"{way} ({there[way]} of {runs})" for way in times if there[way] < runs]
    return [*said, f"Not always there: {'; '.join(lost)}" if lost else "Everybody arrived."]


# --- 18.6: a figure -------------------------------------------------------------------------------


def boxes_and_areas(ax: Any, times: Any) -> None:
    """A bar from end to end, a point, and NaN where there is no mean."""
    from scipy import stats

    for y, seconds in enumerate(times.values()):
        arrived = sum(map(math.isfinite, seconds))
        if arrived < len(seconds):
            ax.plot([np.nan], [y], "o")
            note = "never arrived" if not arrived else f"{arrived} of {len(seconds)}"
            ax.text(0.02, y, note, transform=ax.get_yaxis_transform())
            continue
        m, r = mean(seconds), stats.sem(seconds) * stats.t.ppf(0.975, len(seconds) - 1)
        if y % 3 == 0:
            ax.broken_barh([(m - r, 2 * r)], (y - 0.1, 0.2))
        elif y % 3 == 1:
            ax.barh(y, 2 * r, left=m - r, height=0.2)
        else:
            ax.fill_betweenx([y - 0.1, y + 0.1], m - r, m + r)
            ax.fill_between([m - r, m + r], y - 0.1, y + 0.1)
        ax.plot([m - r, m, m + r], [y] * 3, "k|")
    ax.set_yticks(range(len(times)), labels=list(times))
    ax.set_xlabel("time to the target, s")


def with_a_half(times: Any, ends: Any) -> list[str]:
    """Intervals as a difference and a half, and a small p as below a bound."""

    def told(a: Any, b: Any, unit: str) -> str:
        more, low, _, p = by_scipy(a, b)
        shown = f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"
        return f"{more:.3f} ± {more - low:.3f} {unit} ({shown})"

    said = in_other_words(times, ends)
    first, second = sorted(times, key=lambda way: median(times[way]))[:2]
    if all(map(math.isfinite, [*times[first], *times[second]])):
        said[1] = f"{second} needed more: {told(times[first], times[second], 's')}."
    best, other = sorted(ends, key=lambda way: mean(ends[way]))[:2]
    said[2] = f"{best} ended at {mean(ends[best]):.3f} %, {other} higher by "
    said[2] += told(ends[best], ends[other], "points") + "."
    return said


RIGHT: list[tuple[str, Callable[..., Any]]] = [
    ("18.1", always_the_same),
    ("18.2", by_arrays),
    ("18.3", by_numpy),
    ("18.4", by_scipy),
    ("18.5", with_a_half),
    ("18.5", in_other_words),
    ("18.6", boxes_and_areas),
]
