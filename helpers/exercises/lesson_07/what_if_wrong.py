"""Replays of a run that have one thing wrong (07.6)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Table = Any
Usual = Callable[[Table, list[int]], Table]  # of computing and the fixed workers: (steps, 1)
Answer = Callable[[Table, Table, list[int]], Any]


def _sending(begun: Table, ready: Table) -> Table:
    return begun[1:] - ready.max(dim=1, keepdim=True).values


def _own_waiting(begun: Table, ready: Table) -> Table:
    return begun[1:] - ready


def _median(computing: Table, fixed: list[int]) -> Table:
    return computing.median(dim=1, keepdim=True).values


def _all_wait(begins: Table, took: Table, sends: Table, fixed: list[int]) -> tuple[Table, Table]:
    done = begins + took
    return done, done.max() + sends


def _replay(
    usual: Usual = _median,
    sending: Callable[[Table, Table], Table] = _sending,
    fixes: Callable[[list[int], int], list[int]] = lambda fixed, workers: fixed,
    put: Callable[[Table, Table], Table] = lambda own, usual: usual.expand_as(own),
    step: Callable[..., tuple[Table, Table]] = _all_wait,
    start: Callable[[Table], Table] = lambda begun: begun[0],
) -> Answer:
    """The replay in parts. put: of the computing of the fixed and the usual, what they take."""

    def what_if(begun: Table, ready: Table, fixed: list[int]) -> Any:
        computing = ready - begun[:-1]
        those = fixes(fixed, ready.shape[1])
        computing[:, those] = put(computing[:, those], usual(computing, those))
        sends = sending(begun, ready)
        begins, readies = [start(begun)], []
        for row in range(len(ready)):
            done, then = step(begins[-1], computing[row], sends[row], those)
            readies.append(done)
            begins.append(then)
        return torch.stack(begins), torch.stack(readies)

    return what_if


def _others(computing: Table, fixed: list[int]) -> Table:
    rest = [worker for worker in range(computing.shape[1]) if worker not in fixed]
    return _median(computing[:, rest or list(range(computing.shape[1]))], fixed)


def _not_waited_for(begins: Table, took: Table, sends: Table, fixed: list[int]) -> Any:
    done = begins + took
    return done, done[[w for w in range(len(done)) if w not in fixed]].max() + sends


def _whole(computing: Table, fixed: list[int]) -> Table:
    return computing.median().expand(len(computing), 1)


def _shares(computing: Table, fixed: list[int]) -> Table:
    return (computing.sum(dim=0).median() / len(computing)).expand(len(computing), 1)


def the_time_saved(begun: Table, ready: Table, fixed: list[int]) -> Any:
    computing = ready - begun[:-1]
    late = (computing - _median(computing, fixed)).clamp(min=0)[:, fixed]
    off = late.sum(dim=1, keepdim=True).cumsum(dim=0)
    return torch.cat([begun[:1], begun[1:] - off]), ready - off


def nothing_moves(begun: Table, ready: Table, fixed: list[int]) -> Any:
    computing = ready - begun[:-1]
    computing[:, fixed] = _median(computing, fixed)
    return begun.clone(), begun[:-1] + computing


def not_carried_on(begun: Table, ready: Table, fixed: list[int]) -> Any:
    """All steps at once, each from where it began in the run."""
    computing = ready - begun[:-1]
    computing[:, fixed] = _median(computing, fixed)
    done = begun[:-1] + computing
    then = done.max(dim=1, keepdim=True).values + _sending(begun, ready)
    return torch.cat([begun[:1], then]), done


def fixes_sending(begun: Table, ready: Table, fixed: list[int]) -> Any:
    def usual(begun: Table, ready: Table) -> Table:
        sends = _sending(begun, ready)
        sends[:, fixed] = _median(sends, fixed)
        return sends

    return _replay(sending=usual)(begun, ready, fixed)


def no_last_row(begun: Table, ready: Table, fixed: list[int]) -> Any:
    begins, readies = _right(begun, ready, fixed)
    return begins[:-1], readies


def exchanged(begun: Table, ready: Table, fixed: list[int]) -> Any:
    return _right(begun, ready, fixed)[::-1]


def one_table(begun: Table, ready: Table, fixed: list[int]) -> Any:
    return _right(begun, ready, fixed)[0]


def seconds(begun: Table, ready: Table, fixed: list[int]) -> Any:
    begins = _right(begun, ready, fixed)[0]
    return float(begins[-1].max() - begins[0].min())


def into_ready(begun: Table, ready: Table, fixed: list[int]) -> Any:
    made = _right(begun, ready, fixed)
    ready -= begun[:-1]
    return made


def into_begun(begun: Table, ready: Table, fixed: list[int]) -> Any:
    begins, readies = _right(begun, ready, fixed)
    begun.copy_(begins)
    return begun, readies


def returns_nothing(begun: Table, ready: Table, fixed: list[int]) -> None:
    return None


_right = _replay()
not_waited_for = _replay(step=_not_waited_for)
waiting_is_sent = _replay(sending=_own_waiting)
each_for_itself = _replay(
    sending=_own_waiting,
    step=lambda begins, took, sends, fixed: (begins + took, begins + took + sends),
)
all_begin_together = _replay(
    step=lambda begins, took, sends, fixed: (
        begins + took,
        (begins + took).max() + sends.max().expand_as(sends),
    )
)
no_sending = _replay(
    step=lambda begins, took, sends, fixed: (
        begins + took,
        (begins + took).max().expand_as(sends),
    )
)
the_quickest = _replay(usual=lambda computing, fixed: computing.min(dim=1, keepdim=True).values)
the_mean = _replay(usual=lambda computing, fixed: computing.mean(dim=1, keepdim=True))
between_two = _replay(usual=lambda computing, fixed: computing.quantile(0.5, dim=1, keepdim=True))
the_upper_one = _replay(
    usual=lambda computing, fixed: computing.sort(dim=1).values[:, computing.shape[1] // 2 :][:, :1]
)
the_others_median = _replay(usual=_others)
one_median_for_the_run = _replay(usual=_whole)
shares_of_the_totals = _replay(usual=_shares)
its_own_median = _replay(
    usual=lambda computing, fixed: computing[:, fixed],
    put=lambda own, usual: (
        own.median(dim=0, keepdim=True).values.expand_as(own) if own.numel() else own
    ),
)
only_where_it_was_late = _replay(put=torch.minimum)
fixes_the_others = _replay(
    fixes=lambda fixed, workers: [w for w in range(workers) if w not in fixed]
)
fixes_all = _replay(fixes=lambda fixed, workers: list(range(workers)))
fixes_nobody = _replay(fixes=lambda fixed, workers: [])
longest_computing = _replay(
    step=lambda begins, took, sends, fixed: (begins + took, begins + took.max() + sends)
)
fixes_the_first = _replay(fixes=lambda fixed, workers: fixed[:1])
from_0 = _replay(start=lambda begun: begun[0] * 0)
from_the_first_one = _replay(start=lambda begun: begun[0] - begun[0].min())
