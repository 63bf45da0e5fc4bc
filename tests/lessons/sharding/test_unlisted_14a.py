"""Exercises 14.1 to 14.4: wrong answers that no table lists and right ones; what both are told."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
import torch
from torch.nn import functional

from helpers.checks import find
from helpers.lessons.messages.algorithms.collectives import all_reduce_ring, chunk_bounds
from helpers.lessons.sharding.algorithms.maximum import all_reduce_max
from tests.checks.table import is_told, verdict

Apart: dict[str, Any] = {"memory_format": torch.contiguous_format}


def mlp(total: Callable[..., Any]) -> Callable[..., Any]:
    """The answer to 14.1 whose terms `total(comm, term)` sums."""

    def answer(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
        start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
        hidden = functional.gelu(x @ up[start:stop].T + up_bias[start:stop])
        return total(comm, hidden @ down[:, start:stop].T) + down_bias

    return answer


def two_ranks_exchange(comm: Any, term: Any) -> Any:
    """Half of a butterfly: right on 2 ranks, and not on 4."""
    if comm.size & (comm.size - 1) or comm.size == 1:
        return all_reduce_ring(comm, term)
    sending = comm.isend(term, comm.rank ^ 1)
    total = term + comm.recv(comm.rank ^ 1)
    sending.wait()
    return total


def row_by_row(comm: Any, term: Any) -> Any:
    return torch.stack([all_reduce_ring(comm, row) for row in term])


def whole_terms_go_round(comm: Any, term: Any) -> Any:
    total = term
    for _ in range(comm.size - 1):
        sending = comm.isend(total, (comm.rank + 1) % comm.size)
        total = comm.recv((comm.rank - 1) % comm.size) + term
        sending.wait()
    return total


def in_float64(comm: Any, term: Any) -> Any:
    return all_reduce_ring(comm, term.double())


def all_of_up(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    hidden = functional.gelu(x @ up.T + up_bias)[:, start:stop]
    return all_reduce_ring(comm, hidden @ down[:, start:stop].T) + down_bias


def no_dimension_of_one(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    hidden = functional.gelu((x @ up[start:stop].T).squeeze() + up_bias[start:stop])
    return all_reduce_ring(comm, hidden @ down[:, start:stop].T) + down_bias


def units_in_turn(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    term = x.new_zeros(len(x), len(down))
    for unit in range(comm.rank, len(up), comm.size):
        term += functional.gelu((x * up[unit]).sum(1) + up_bias[unit])[:, None] * down[:, unit]
    return all_reduce_ring(comm, term) + down_bias


def without_products(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    start, stop = chunk_bounds(len(up), comm.size)[comm.rank]
    hidden = functional.gelu((x[:, None] * up[start:stop]).sum(-1) + up_bias[start:stop])
    return all_reduce_ring(comm, (hidden[:, None] * down[:, start:stop]).sum(-1)) + down_bias


def ring(comm: Any, x: Any) -> Any:
    return all_reduce_ring(comm, x.clone(**Apart))


def pair(summed: Callable[..., Any] = ring, f: Any = None, g: Any = None) -> Callable[..., Any]:
    """The answer to 14.2 that sums with `summed(comm, x)`; f, g: what stands in for one of the
    two, of the communicator and the right ones."""

    def make(comm: Any) -> Any:
        class F(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return x.view_as(x)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                return summed(comm, gradients[0])

        class G(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Any) -> Any:
                return summed(comm, x)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                return gradients[0]

        one, other = F.apply, G.apply
        return f(comm, one) if f else one, g(comm, other) if g else other

    return make


def one_buffer(comm: Any) -> Any:
    kept: dict[Any, Any] = {}

    def summed(comm: Any, x: Any) -> Any:
        buffer = kept.setdefault((tuple(x.shape), x.dtype), torch.empty(x.shape, dtype=x.dtype))
        return all_reduce_ring(comm, buffer.copy_(x))

    return pair(summed)(comm)


def hook(summed: Callable[..., Any], asked: bool = True) -> Callable[..., Any]:
    """f by a hook on a view. asked: whether it looks first if a gradient is needed."""

    def of(comm: Any, right: Any) -> Any:
        def f(x: Any) -> Any:
            seen = x.view_as(x)
            if seen.requires_grad or not asked:
                seen.register_hook(lambda gradient: summed(comm, gradient))
            return seen

        return f

    return of


def in_place(comm: Any, gradient: Any) -> Any:
    return all_reduce_ring(comm, gradient.contiguous())


def only_with_a_gradient(comm: Any, right: Any) -> Any:
    return lambda x: right(x) if x.requires_grad else x


def a_row_each(comm: Any, x: Any) -> Any:
    return torch.stack([ring(comm, row) for row in x])


def flat_rows(comm: Any, x: Any) -> Any:
    return all_reduce_ring(comm, x.reshape(-1, x.shape[-1]).clone()).view(x.shape)


def wide(comm: Any, x: Any) -> Any:
    return all_reduce_ring(comm, x.to(torch.float64, copy=True, **Apart))


def to_everybody(comm: Any, x: Any) -> Any:
    own = x.clone(**Apart)
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    requests = [comm.isend(own, other) for other in others]
    total = sum([comm.recv(other) for other in others], own.clone())
    for request in requests:
        request.wait()
    return total


def loss(
    largest: Callable[..., Any] = lambda comm, scores: all_reduce_max(comm, scores.amax(1)),
    made: Callable[..., Any] = lambda loss, gradient: (loss, gradient),
) -> Callable[..., Any]:
    """The answer to 14.3. largest: the maxima, of comm and scores. made: what it returns."""

    def answer(comm: Any, scores: Any, targets: Any, first: int) -> Any:
        top = largest(comm, scores)
        weights = (scores - top[:, None]).exp()
        total = all_reduce_ring(comm, weights.sum(1))
        rows = ((targets >= first) & (targets < first + scores.shape[1])).nonzero()[:, 0]
        columns = targets[rows] - first
        score = torch.zeros_like(top)
        score[rows] = scores[rows, columns] - top[rows]
        gradient = weights / total[:, None]
        gradient[rows, columns] -= 1
        mean = (total.log() - all_reduce_ring(comm, score)).mean()
        return made(mean, gradient / len(targets))

    return answer


def column_by_column(comm: Any, scores: Any) -> Any:
    top = scores[:, 0]
    for column in scores.T[1:]:
        top = torch.maximum(top, column)
    return all_reduce_max(comm, top)


def parts(*sizes: int) -> Callable[..., Any]:
    """The answer to 14.4 with these bytes for what stages 1, 2 and 3 shard."""

    def held(parameters: int, ranks: int, stage: int) -> float:
        return sum(size * parameters / (ranks if i < stage else 1) for i, size in enumerate(sizes))

    return held


def one_and_two_exchanged(parameters: int, ranks: int, stage: int) -> float:
    return float(find("14.4").reference(parameters, ranks, (0, 2, 1, 3)[stage]))


def a_fraction(parameters: int, ranks: int, stage: int) -> Any:
    shares = ((12, 1), (2, 2), (2, 3))
    return sum(Fraction(n * parameters, ranks if stage >= first else 1) for n, first in shares)


OWN = "took part in it"
CHANGED = "f's backward changed the gradient"
NEXT = "with the next call"
LOW = "or one that cannot fall so far"
WRONG = [
    ("14.1", mlp(two_ranks_exchange), "On 4 ranks"),
    ("14.1", mlp(row_by_row), "48 messages were sent in all"),
    ("14.1", mlp(whole_terms_go_round), "a rank's term is all that has to travel"),
    ("14.1", mlp(in_float64), "the result has x's type"),
    ("14.1", all_of_up, "more of `up` or `down` than its hidden units' part"),
    ("14.1", no_dimension_of_one, "one hidden unit or none"),
    ("14.1", units_in_turn, OWN),
    ("14.2", one_buffer, NEXT),
    ("14.2", pair(f=hook(in_place)), CHANGED),
    ("14.2", pair(f=hook(ring, asked=False)), "needs no gradient"),
    ("14.2", pair(g=only_with_a_gradient), "no gradient needed"),
    ("14.2", pair(a_row_each), "144 messages were sent where 48 are enough"),
    ("14.2", pair(flat_rows), "tensors of any shape"),
    ("14.2", pair(wide), "the type of what went in"),
    ("14.2", pair(to_everybody), "The other two make one all-reduce each"),
    ("14.3", loss(column_by_column), "which a column, `scores[:, 0]`, is"),
    ("14.3", loss(lambda comm, s: all_reduce_max(comm, s.amax(1).squeeze())), "1 position"),
    ("14.3", loss(lambda comm, s: all_reduce_max(comm, s.amax(1).clamp(min=0))), LOW),
    ("14.3", loss(made=lambda loss, gradient: (loss.double(), gradient)), "loss is float64"),
    ("14.3", loss(made=lambda loss, gradient: (loss, gradient.double())), "gradient is float64"),
    ("14.3", loss(made=lambda loss, gradient: (loss.item(), gradient)), "a Python float"),
    ("14.4", parts(8, 2, 6), "8 bytes a parameter for parameters and gradients"),
    ("14.4", one_and_two_exchanged, "1 the optimizer state"),
]
RIGHT = [
    ("14.1", mlp(all_reduce_ring), "120 of the 312 multiplications"),
    ("14.1", without_products, "than one all-reduce."),
    ("14.2", pair(), "all-reduces"),
    ("14.2", pair(f=hook(ring)), "all-reduces"),
    ("14.3", loss(), "dense loss"),
    ("14.4", parts(12, 2, 2), "31.4"),
    ("14.4", a_fraction, "31.4"),
]


@pytest.mark.parametrize(("number", "answer", "words"), WRONG)
def test_it_is_wrong_in_cases_that_are_seen_and_is_told_what_was_seen(
    number: str, answer: Any, words: str
) -> None:
    is_told(number, answer, words, (0, 1))


@pytest.mark.parametrize(("number", "answer", "words"), RIGHT)
def test_it_is_right_and_the_praise_says_no_more_than_was_seen(
    number: str, answer: Any, words: str
) -> None:
    for seed in (0, 1):
        found = verdict(find(number), answer, seed)
        assert found.status == "passed", found
        assert seed or words in found.hint, found
