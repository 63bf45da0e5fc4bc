"""The driver of exercise 14.8, what its experts make on one rank, forward and backward, and
gradients that are not the same."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import close
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Observation
from helpers.lessons.sharding.exercises.shared import first_changed, go_back, watched


def kept_of(choice: np.ndarray, capacity: int, ranks: int) -> np.ndarray:
    """Which tokens go: for each expert the first `capacity` that chose it."""
    kept = np.zeros(len(choice), dtype=bool)
    for rank in range(ranks):
        kept[np.flatnonzero(choice == rank)[:capacity]] = True
    return kept


def dense_of(case: Case) -> Any:
    """Each rank's results, the gradients of its tokens, and of its expert's weight."""
    xs, weights = ([tensors(args[at]).requires_grad_() for args in case.args] for at in (0, 3))
    results = []
    for x, (_, choice, capacity, _, above) in zip(xs, case.args, strict=True):
        with torch.enable_grad():
            every = torch.stack([torch.tanh(x @ weight + BIAS) for weight in weights])
            kept = tensors(kept_of(choice, capacity, case.ranks))[:, None]
            results.append(every[tensors(choice), torch.arange(len(x))] * kept)
            results[-1].backward(tensors(above))
    return plain((results, [x.grad for x in xs], [weight.grad for weight in weights]))


def no_way_back(case: Case, seen: Observation) -> Iterator[str]:
    """Gradients that do not come to every token and expert."""
    _, of_x, of_weight = dense_of(case)
    for rank, value in enumerate(seen.values):
        for gave, want in ((value["x"], of_x[rank]), (value["weights"], of_weight[rank])):
            if gave is None and not np.any(want):
                continue
            got = np.zeros_like(want) if gave is None else gave
            off = ~np.isclose(got, want, 1e-9, 1e-12).all(-1)
            if not value["reached"] or (off.any() and not got[off].any()):
                yield (
                    f"the results are right, but not all gradients come back to rank {rank}'s "
                    "tokens or expert: messages by themselves are outside of autograd, and so is "
                    "what was detached. Let `all_to_all` carry them, which brings gradients back "
                    "the same way."
                )


def right_gradient(gave: Any, want: Any) -> bool:
    """Whether a gradient is right; where it is 0 there need be none."""
    return close(gave, want, 1e-10) or (gave is None and not np.any(want))


BIAS = 0.3  # an expert makes something of a row of zeros as well


@partial(Ranked, arguments=5)
def on_tokens(
    fn: Function, comm: Any, x: Tensor, choice: Tensor, capacity: int, weight: Tensor, above: Tensor
) -> Any:
    """`fn(comm, x, choice, capacity, expert)`, and backward of its sum times `above`.

    The expert makes tanh(rows · weight + `BIAS`) of rows. `values[rank]`: out; reached, whether
    there is a way back from it; x and weights, the gradients of both; rows, how many the expert was
    given, in each call; forward and backward, the bytes sent in each; changed, whether x or choice
    was written into; open, the messages that nobody waited for.
    """
    before, rows = (x.clone(), choice.clone()), list[int]()
    x.requires_grad_()
    weight.requires_grad_()

    def expert(given: Tensor) -> Tensor:
        # Not without end: who calls it may be a stranger.
        if len(rows) == 50:
            raise RuntimeError("The expert ran 50 times already.")
        if given.dim() != 2 or given.shape[1] != len(weight):
            shape = tuple(given.shape)
            raise ValueError(f"An expert takes (tokens, {len(weight)}), not {shape}.")
        rows.append(len(given))
        return torch.tanh(given @ weight + BIAS)

    out, forward, still = watched(comm, lambda: fn(comm, x, choice, capacity, expert))
    reached, backward, more = go_back(comm, out, above)
    return {
        "out": out,
        "reached": reached,
        "x": x.grad,
        "weights": weight.grad,
        "rows": rows,
        "forward": forward,
        "backward": backward,
        "changed": first_changed((x, choice), before),
        OPEN: still + more,
    }
