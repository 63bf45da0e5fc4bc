"""What a comparison found, in sentences whose every number comes from the runs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import mean, median

from helpers.lessons.capstone.algorithms.paired import compare

Table = Mapping[str, Sequence[float]]  # of each way a number for each seed, in one order of seeds


def findings(times: Table, ends: Table) -> list[str]:
    """Four sentences: who was first, by how much, who ended best, and who did not always arrive.

    times: seconds to the target, infinity for never. ends: the test error at the end, in %. First
    is the smallest median, best the smallest mean. Differences are paired.
    """
    runs = len(next(iter(times.values())))
    arrived = {way: sum(map(math.isfinite, seconds)) for way, seconds in times.items()}
    middle = {way: median(seconds) for way, seconds in times.items()}
    first, second = sorted(middle, key=middle.__getitem__)[:2]
    said = [
        f"{first} reached the target first, after {middle[first]:.3g} s in the median of {runs} "
        f"seeds; then came {second}, after {middle[second]:.3g} s."
    ]
    if arrived[first] == arrived[second] == runs:
        more, low, high, p = compare(times[first], times[second])
        said.append(
            f"On the same seeds {second} took {more:.3g} s more than {first}, with a 95 % interval "
            f"from {low:.3g} to {high:.3g} s (p = {p:.2g})."
        )
    else:
        said.append(
            f"{first} arrived in {arrived[first]} of {runs} runs and {second} in "
            f"{arrived[second]}, so no difference of their times can be given."
        )
    end = {way: mean(errors) for way, errors in ends.items()}
    best, other = sorted(end, key=end.__getitem__)[:2]
    more, low, high, p = compare(ends[best], ends[other])
    said.append(
        f"{best} ended best, at a test error of {end[best]:.3g} %; {other} ended {more:.3g} points "
        f"higher, with a 95 % interval from {low:.3g} to {high:.3g} (p = {p:.2g})."
    )
    lost = [f"{way} in {runs - n} of {runs} runs" for way, n in arrived.items() if n < runs]
    said.append(
        f"Not arrived: {', '.join(lost)}." if lost else f"All ways arrived in all {runs} runs."
    )
    return said
