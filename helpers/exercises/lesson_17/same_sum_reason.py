"""What is not right about a sum of parts (17.6), in words."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from helpers.exercises.compare import describe, is_array, listing, told_apart
from helpers.exercises.drives_split import CHANGED, returned
from helpers.exercises.lesson_17.same_sum_cases import PLAIN
from helpers.exercises.spec import Case, Observation


def fault_of(got: Any, want: np.ndarray) -> str | None:
    """What is not so of one rank's sum."""
    if not is_array(got) or got.shape != want.shape:
        return f"returned {describe(got)}; a gradient has the shape ({len(want)},)"
    if got.dtype != want.dtype:
        return f"returned {got.dtype}; the gradients are {want.dtype}"
    if not (got != want).any():
        return None
    at = telling(got, want)
    has, should = told_apart(float(got[at]), float(want[at]))
    return (
        f"has {has} as element {at}; added one by one in the order of the parts, from zeros on, it "
        f"is {should}. {int((got != want).sum())} of {len(want)} elements have other bits"
    )


def telling(got: np.ndarray, want: np.ndarray) -> int:
    """The element that is furthest off, of those in which nothing large is left."""
    with np.errstate(all="ignore"):
        off = np.where(np.abs(got) < 1e6, np.abs(got - want), 0)
    return int(off.argmax()) if off.max() > 0 else int((got != want).argmax())


def _right(case: Case, seen: Observation) -> list[bool]:
    want = case.facts["want"]
    return [fault_of(returned(value), want) is None for value in seen.values]


def rank_0_alone(case: Case, seen: Observation) -> str | None:
    """Rank 0 has it, another has not."""
    right = _right(case, seen)
    if not right[0] or all(right):
        return None
    rank = right.index(False)
    return (
        f"{case.name}, rank 0 has the right sum, and rank {rank} returned "
        f"{describe(returned(seen.values[rank]))}: every rank takes the step, so every rank needs "
        "the sum."
    )


def other_type(case: Case, seen: Observation) -> str | None:
    """A sum of another type than the gradients'."""
    want = case.facts["want"].dtype
    for rank, value in enumerate(seen.values):
        got = returned(value)
        if is_array(got) and got.dtype != want:
            return (
                f"{case.name}, rank {rank} returned {got.dtype}, and the gradients are {want}. "
                "`torch.zeros(…)` is float32 where you give no type: `torch.zeros_like(like)` and "
                "`like.new_zeros(…)` take the type of `like`."
            )
    return None


def local_sums(case: Case, seen: Observation) -> str | None:
    """Each rank added its own first: elements that come out so, in whatever order that went."""
    table, owner, want = case.facts["table"], np.array(case.facts["owner"]), case.facts["want"]
    sure = np.arange(len(want)) >= PLAIN
    for rank in range(case.ranks):
        own = np.abs(table[owner == rank])
        sure &= (own < 1e6).all(axis=0) | ((own > 1e6).sum(axis=0) == (own > 0).sum(axis=0))
    exact = np.array([math.fsum(column) for column in table.T], want.dtype)
    told, got = sure & (exact != want), [returned(value) for value in seen.values]
    alike = all(np.array_equal(each[told], exact[told]) for each in got)
    if not told.any() or not alike or np.array_equal(got[0][PLAIN:], exact[PLAIN:]):
        return None  # who sums exactly has these elements as well
    at = int(np.where(told, np.abs(exact - want), 0).argmax())
    has, should = told_apart(float(exact[at]), float(want[at]))
    return (
        f"{case.name}, each rank added its own parts first, and then the ranks' sums were added: "
        f"element {at} is {has} instead of {should}. In which order numbers are added then depends "
        "on who has them. Send the parts themselves, and add them in order when all are there."
    )


def changes(case: Case, seen: Observation) -> str | None:
    """The gradients, the dictionary or `like` were written into."""
    for rank, value in enumerate(seen.values):
        if type(value) is not dict or CHANGED not in value:
            continue
        what = {
            0: "the gradients in `mine`: the total has to be a tensor of its own, which begins as "
            "zeros",
            1: "`mine` itself: put what comes from others into a dictionary of your own",
            2: "`like`, such as the weights: make zeros of your own, `torch.zeros_like(like)`",
        }[value[CHANGED]]
        return f"{case.name}, rank {rank} changed {what}."
    return None


def not_its_part(case: Case, seen: Observation) -> str | None:
    """A part was taken that is another rank's, or came from nowhere."""
    missing = re.fullmatch(r"\d+", seen.text)
    if seen.trouble != "failed" or seen.kind != "KeyError" or missing is None or seen.rank is None:
        return None
    part, owner = int(seen.text), case.facts["owner"]
    if part >= len(owner):
        return f"{case.name}, rank {seen.rank} looks for part {part}; there are {len(owner)}."
    if owner[part] == seen.rank:
        return None
    return (
        f"{case.name}, rank {seen.rank} looks for part {part}, which rank {owner[part]} has "
        "(KeyError). Who has which part is not the same for ever: after a failure it may be any "
        "rank. Go by what is in `mine`, and send the parts' numbers with them where you need them."
    )


def without_a_part(case: Case, seen: Observation) -> str | None:
    """An exception of a rank that has none."""
    if seen.trouble != "failed" or seen.rank is None or seen.rank in case.facts["owner"]:
        return None
    told = f"{seen.kind}: {seen.text}".rstrip(": .")
    return (
        f"{case.name}, rank {seen.rank} has no part, and raised {told}. Its `mine` is empty: take "
        "the shape and the type from `like`."
    )


def came_back_at_once(case: Case, seen: Observation) -> str | None:
    """Ranks without a part returned, and the others wait for them."""
    without = [rank for rank in range(case.ranks) if rank not in case.facts["owner"]]
    if seen.trouble != "deadlock" or not without or set(without) & set(seen.waiting):
        return None
    return (
        f"{case.name}, {listing(f'rank {rank}' for rank in without)} "
        f"{'has' if len(without) == 1 else 'have'} no part and returned at once, and the others "
        "wait for them: in an all-reduce every rank takes part, also with zeros alone."
    )
