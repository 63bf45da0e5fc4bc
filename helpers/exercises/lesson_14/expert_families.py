"""Families of wrong answers to exercise 14.8, and what its experts make on one rank."""

from __future__ import annotations

from typing import Any

import numpy as np

from helpers.exercises.compare import all_close, close, count, describe, is_array, rounded
from helpers.exercises.drives_sequence import BIAS
from helpers.exercises.lesson_14.shared import stayed_away
from helpers.exercises.spec import Case, Observation


def kept_of(choice: np.ndarray, capacity: int, ranks: int) -> np.ndarray:
    """Which tokens go: for each expert the first `capacity` that chose it."""
    kept = np.zeros(len(choice), dtype=bool)
    for rank in range(ranks):
        kept[np.flatnonzero(choice == rank)[:capacity]] = True
    return kept


def dense_of(case: Case) -> tuple[list[Any], list[Any], list[Any]]:
    """Each rank's results, the gradients of its tokens, and of its expert's weight."""
    weights = [args[3] for args in case.args]
    results, of_x, of_weight = [], [], [np.zeros_like(weight) for weight in weights]
    for x, choice, capacity, _, above in case.args:
        kept = kept_of(choice, capacity, case.ranks)
        result, gradient = np.zeros_like(x), np.zeros_like(x)
        for rank, weight in enumerate(weights):
            rows = kept & (choice == rank)
            result[rows] = np.tanh(x[rows] @ weight + BIAS)
            inner = above[rows] * (1 - result[rows] ** 2)
            gradient[rows] = inner @ weight.T
            of_weight[rank] += x[rows].T @ inner
        results.append(result)
        of_x.append(gradient)
    return results, of_x, of_weight


def right_results(case: Case, seen: Observation) -> bool:
    """Whether every rank's results are right."""
    return all_close([value["out"] for value in seen.values], dense_of(case)[0], 1e-10)


def routed(case: Case) -> list[int]:
    """The bytes that each rank sends in forward: its tokens for others, and others' answers."""
    went = np.zeros((case.ranks, case.ranks), dtype=int)
    for rank, (x, choice, capacity, *_) in enumerate(case.args):
        kept = kept_of(choice, capacity, case.ranks)
        for to in range(case.ranks):
            went[rank, to] = np.sum(kept & (choice == to)) * x[:1].nbytes if to != rank else 0
    return [int(each) for each in went.sum(0) + went.sum(1)]


def shapes(case: Case, seen: Observation) -> str | None:
    """Results of another shape."""
    for rank, (value, args) in enumerate(zip(seen.values, case.args, strict=True)):
        out, shape = value["out"], args[0].shape
        if not is_array(out) or out.shape != shape:
            got = f"of shape {out.shape}" if is_array(out) else describe(out)
            return (
                f"{case.name}, rank {rank} returned a result {got} for tokens of shape {shape}: "
                "`to_experts` gives as many rows as it is given, 0 in those of dropped tokens."
            )
    return None


def wrong_rows(case: Case, seen: Observation) -> str | None:
    """The first token whose result is not its expert's."""
    wrong_shape = shapes(case, seen)
    if wrong_shape:
        return wrong_shape
    for rank, (value, want) in enumerate(zip(seen.values, dense_of(case)[0], strict=True)):
        if close(value["out"], want, 1e-10):
            continue
        _, choice, capacity, *_ = case.args[rank]
        off = np.flatnonzero(~np.isclose(value["out"], want, 1e-9, 1e-9).all(1))
        token = int(off[0]) if len(off) else 0
        kept = kept_of(choice, capacity, case.ranks)[token]
        told = f"what expert {choice[token]} makes of it" if kept else "0, for it is dropped"
        why = rounded([value["out"]], [want])
        return f"{case.name}, rank {rank}'s token {token} has to become {told}, and does not{why}."
    return None


def changed(case: Case, seen: Observation) -> str | None:
    """Something that was handed in has changed."""
    if not any(value["changed"] for value in seen.values):
        return None
    return f"{case.name}, `x` or `choice` was written into: put the answers into a new tensor."


def bytes_sent(case: Case, seen: Observation) -> str | None:
    """Other bytes in forward than those of the tokens that have to travel."""
    for rank, (value, want) in enumerate(zip(seen.values, routed(case), strict=True)):
        if value["forward"] < want:
            return (
                f"{case.name}, rank {rank} sent {value['forward']} B in forward, and its tokens "
                f"for others and its answers have {want} B: every kept token that chose another "
                "rank goes there as it is, and its answer comes back."
            )
        if value["forward"] != want:
            return (
                f"{case.name}, rank {rank} sent {value['forward']} B in forward, and its tokens "
                f"for others and its answers have {want} B: nothing else has to travel, neither "
                "rows that fill up nor numbers of rows, which a message tells by its shape."
            )
    return None


def more_rows(case: Case, seen: Observation) -> str | None:
    """An expert that works on more rows than came for it."""
    arrivals = [0] * case.ranks
    for _, choice, capacity, *_ in case.args:
        for rank in choice[kept_of(choice, capacity, case.ranks)].tolist():
            arrivals[rank] += 1
    for rank, (value, want) in enumerate(zip(seen.values, arrivals, strict=True)):
        if sum(value["rows"]) != want:
            return (
                f"{case.name}, rank {rank}'s expert worked on {sum(value['rows'])} rows, and "
                f"{count(want, 'token')} came for it: it has much to do, so give it no others."
            )
    return None


def no_way_back(case: Case, seen: Observation) -> str | None:
    """Gradients that do not come to every token and expert."""
    _, of_x, of_weight = dense_of(case)
    for rank, value in enumerate(seen.values):
        for gave, want in ((value["x"], of_x[rank]), (value["weights"], of_weight[rank])):
            if gave is None and not np.any(want):
                continue
            missing = not is_array(gave) or (
                np.any(want) and not np.any(gave[np.abs(want) > 1e-12])
            )
            partly = is_array(gave) and gave.shape == want.shape and _partly(gave, want)
            if missing or partly or not value["reached"]:
                return (
                    f"{case.name}, the results are right, but not all gradients come back to rank "
                    f"{rank}'s tokens or expert: messages by themselves are outside of autograd, "
                    "and so is what was detached. Let `all_to_all` carry them, which "
                    "brings gradients back the same way."
                )
    return None


def _partly(gave: Any, want: Any) -> bool:
    """Whether some rows' gradients are right and the others' are missing."""
    off = ~np.isclose(gave, want, 1e-9, 1e-12).all(-1)
    return bool(off.any() and not gave[off].any())


def _right(gave: Any, want: Any) -> bool:
    """Whether a gradient is right; where it is 0 there need be none."""
    return close(gave, want, 1e-10) or (gave is None and not np.any(want))


def wrong_gradients(case: Case, seen: Observation) -> str | None:
    """Gradients that are not those of one rank."""
    _, of_x, of_weight = dense_of(case)
    for rank, value in enumerate(seen.values):
        if not _right(value["x"], of_x[rank]):
            return f"{case.name}, the gradient of rank {rank}'s tokens is not that of one rank."
        if not _right(value["weights"], of_weight[rank]):
            return (
                f"{case.name}, the gradient of rank {rank}'s expert is not that of one rank, whose "
                "expert sees every token that chose it."
            )
    return None


def stays_away(case: Case, seen: Observation) -> str | None:
    """A rank that does not come to the all-to-all."""
    away = stayed_away(case, seen)
    if seen.trouble != "deadlock" or not away:
        return None
    return (
        f"{case.name}, the others wait for {away}, which did not come: an all-to-all takes every "
        "rank, also one that has nothing to send. Its parts have no rows then. So it is in "
        "backward: where a rank's result is not made of what came back, its gradients go nowhere, "
        "and the others wait for them."
    )


def sends_itself(case: Case, seen: Observation) -> str | None:
    """A rank that sends to itself."""
    if seen.trouble != "failed" or "itself" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} sends to itself, and waits for ever: its own part does not "
        "travel, `all_to_all` leaves it where it is."
    )
