"""Cut MLPs with one thing wrong, for exercise 14.1, and hints for those that do not return."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from helpers.exercises.lesson_14.shared import bounds, in_vain, stayed_away, summed, told_by_all
from helpers.exercises.spec import Case, Observation


def _gelu(hidden: Any, **options: Any) -> Any:
    from torch.nn import functional

    return functional.gelu(hidden, **options)


def _mlp(
    cut: Callable[[Any, int], tuple[int, int]] = bounds,
    activate: Callable[[Any], Any] = _gelu,
    end: Callable[..., Any] = lambda comm, term, bias: summed(comm, term) + bias,
) -> Callable[..., Any]:
    """The right one, with another cut, activation, or end."""

    def parallel_mlp(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
        start, stop = cut(comm, len(up))
        hidden = activate(x @ up[start:stop].T + up_bias[start:stop])
        return end(comm, hidden @ down[:, start:stop].T, down_bias)

    return parallel_mlp


_right = _mlp()
bias_on_every_rank = _mlp(end=lambda comm, term, bias: summed(comm, term + bias))
no_bias = _mlp(end=lambda comm, term, bias: summed(comm, term))
own_term = _mlp(end=lambda comm, term, bias: in_vain(comm, term) + bias)
own_term_alone = _mlp(end=lambda comm, term, bias: in_vain(comm, term))
averages = _mlp(end=lambda comm, term, bias: summed(comm, term) / comm.size + bias)
averages_the_bias = _mlp(end=lambda comm, term, bias: (summed(comm, term) + bias) / comm.size)
no_wait = _mlp(end=lambda comm, term, bias: sum(told_by_all(comm, term)) + bias)
for_rank_0 = _mlp(end=lambda comm, term, b: (in_vain if comm.rank else summed)(comm, term) + b)
relu = _mlp(activate=lambda hidden: hidden.relu())
by_tanh = _mlp(activate=lambda hidden: _gelu(hidden, approximate="tanh"))
no_activation = _mlp(activate=lambda hidden: hidden)


def _remainder_lost(comm: Any, units: int) -> tuple[int, int]:
    each = units // comm.size
    return comm.rank * each, (comm.rank + 1) * each


def _rest_on_the_last(comm: Any, units: int) -> tuple[int, int]:
    start, stop = _remainder_lost(comm, units)
    return start, units if comm.rank == comm.size - 1 else stop


def _rest_on_the_first(comm: Any, units: int) -> tuple[int, int]:
    each, more = divmod(units, comm.size)
    start = comm.rank * each + min(comm.rank, more)
    return start, start + each + (comm.rank < more)


loses_the_remainder = _mlp(_remainder_lost)
rest_on_the_last = _mlp(_rest_on_the_last)
rest_on_the_first = _mlp(_rest_on_the_first)


def no_up_bias(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    return _right(comm, x, up, 0 * up_bias, down, down_bias)


def bias_with_unit_0(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    mine = down_bias * (bounds(comm, len(up))[0] == 0)
    return bias_on_every_rank(comm, x, up, up_bias, down, mine)


BIAS_WITH_UNIT_0 = (
    "`down_bias` is in the result more than once: with fewer hidden units than ranks, the units of "
    "ranks {firsts} all start at 0. Add it after the sum, or in rank 0's term alone."
)


def clears_the_bias(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    if comm.rank:
        down_bias.zero_()
    return bias_on_every_rank(comm, x, up, up_bias, down, down_bias)


def stays_away(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    start, stop = bounds(comm, len(up))
    if start == stop:
        return down_bias.expand(len(x), -1)
    return _right(comm, x, up, up_bias, down, down_bias)


def side_by_side(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    def end(comm: Any, term: Any, bias: Any) -> Any:
        places = term.new_zeros(len(x), comm.size, len(bias))
        places[:, comm.rank] = term + bias
        return summed(comm, places).reshape(len(x), -1)

    return _mlp(end=end)(comm, x, up, up_bias, down, down_bias)


def everything(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    return _gelu(x @ up.T + up_bias) @ down.T + down_bias


def wrong_side(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    start, stop = bounds(comm, len(up))
    hidden = _gelu(x @ up[:, start:stop].T + up_bias)
    return summed(comm, hidden @ down[start:stop].T) + down_bias


def rows_first(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    part = slice(*bounds(comm, x.shape[1]))
    return summed(comm, _gelu(x[:, part] @ up[:, part].T + up_bias) @ down.T) + down_bias


def cuts_the_inputs(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    part = slice(*bounds(comm, x.shape[1]))
    return _gelu(summed(comm, x[:, part] @ up[:, part].T) + up_bias) @ down.T + down_bias


def _units(comm: Any, x: Any, up: Any, up_bias: Any) -> Any:
    """All hidden units, put together by a sum."""
    start, stop = bounds(comm, len(up))
    units = x.new_zeros(len(x), len(up))
    units[:, start:stop] = _gelu(x @ up[start:stop].T + up_bias[start:stop])
    return summed(comm, units)


def gathers(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    return _units(comm, x, up, up_bias) @ down.T + down_bias


def two_sums(comm: Any, x: Any, up: Any, up_bias: Any, down: Any, down_bias: Any) -> Any:
    part = slice(*bounds(comm, len(up)))
    hidden = _units(comm, x, up, up_bias)[:, part]
    return summed(comm, hidden @ down[:, part].T) + down_bias


def no_fit(case: Case, seen: Observation) -> str | None:
    """Shapes that do not fit."""
    if seen.trouble != "failed" or not any(
        words in seen.text for words in ("cannot be multiplied", "must match", "size mismatch")
    ):
        return None
    return (
        f"{case.name}, the shapes do not fit ({seen.text.splitlines()[0]}): torch keeps a weight "
        "as (outputs, inputs), so this rank's hidden units are rows of `up` and of `up_bias`, "
        "`up[start:stop]`, and columns of `down`, `down[:, start:stop]`."
    )


def no_part(case: Case, seen: Observation) -> str | None:
    """A rank without hidden units that does not come."""
    away = stayed_away(case, seen)
    return away and (
        f"{case.name}, {away} did not come to the sum, and the others wait. A rank without hidden "
        "units has a term of zeros, and every rank takes part."
    )
