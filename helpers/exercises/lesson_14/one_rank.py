"""The driver of exercise 14.8, what its experts make on one rank, forward and backward, and
gradients that are not the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.exercises.compare import all_close, close, is_array
from helpers.exercises.drives.calling import Function
from helpers.exercises.drives.ranks import Ranked
from helpers.exercises.drives.requests import OPEN
from helpers.exercises.lesson_14.shared import Watch
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


def no_way_back(case: Case, seen: Observation) -> Iterator[str]:
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
                yield (
                    f"the results are right, but not all gradients come back to rank {rank}'s "
                    "tokens or expert: messages by themselves are outside of autograd, and so is "
                    "what was detached. Let `all_to_all` carry them, which brings gradients back "
                    "the same way."
                )


def _partly(gave: Any, want: Any) -> bool:
    """Whether some rows' gradients are right and the others' are missing."""
    off = ~np.isclose(gave, want, 1e-9, 1e-12).all(-1)
    return bool(off.any() and not gave[off].any())


def _right(gave: Any, want: Any) -> bool:
    """Whether a gradient is right; where it is 0 there need be none."""
    return close(gave, want, 1e-10) or (gave is None and not np.any(want))


def wrong_gradients(case: Case, seen: Observation) -> Iterator[str]:
    """Gradients that are not those of one rank."""
    _, of_x, of_weight = dense_of(case)
    for rank, value in enumerate(seen.values):
        if not _right(value["x"], of_x[rank]):
            yield f"the gradient of rank {rank}'s tokens is not that of one rank."
        if not _right(value["weights"], of_weight[rank]):
            yield (
                f"the gradient of rank {rank}'s expert is not that of one rank, whose expert sees "
                "every token that chose it."
            )


_CALLS = 50
BIAS = 0.3  # an expert makes something of a row of zeros as well


def _same(now: Tensor, then: Tensor) -> bool:
    return now.shape == then.shape and torch.equal(now, then)


def _on_tokens(
    fn: Function,
    comm: Any,
    x: Tensor,
    choice: Tensor,
    capacity: int,
    weight: Tensor,
    above: Tensor,
) -> Any:
    """`fn(comm, x, choice, capacity, expert)`, and backward of its sum times `above`.

    The expert makes tanh(rows · weight + `BIAS`) of rows. `values[rank]`: out; reached, whether
    there is a way back from it; x and weights, the gradients of both; rows, how many the expert was
    given, in each call; forward and backward, the bytes sent in each; changed, whether x or choice
    was written into; open, the messages that nobody waited for.
    """
    watch, before, rows = Watch(comm), (x.clone(), choice.clone()), list[int]()
    x.requires_grad_()
    weight.requires_grad_()

    def expert(given: Tensor) -> Tensor:
        # Not without end: who calls it may be a stranger.
        if len(rows) == _CALLS:
            raise RuntimeError(f"The expert ran {_CALLS} times already.")
        if given.dim() != 2 or given.shape[1] != len(weight):
            shape = tuple(given.shape)
            raise ValueError(f"An expert takes (tokens, {len(weight)}), not {shape}.")
        rows.append(len(given))
        return torch.tanh(given @ weight + BIAS)

    out = fn(comm, x, choice, capacity, expert)
    forward = watch.take()
    reached = isinstance(out, Tensor) and out.requires_grad and out.shape == above.shape
    if reached:
        torch.autograd.backward(out, above.to(out.dtype))
    backward = watch.take()
    comm.isend = watch.isend
    now = x.detach(), choice
    return {
        "out": out,
        "reached": reached,
        "x": x.grad,
        "weights": weight.grad,
        "rows": rows,
        "forward": forward,
        "backward": backward,
        "changed": not all(map(_same, now, before)),
        OPEN: watch.open,
    }


on_tokens = Ranked(_on_tokens, arguments=5)
