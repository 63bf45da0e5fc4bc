"""Ways to the experts and back with one thing wrong, for exercise 14.8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def _first(rows: Any, capacity: int) -> Any:
    return rows[:capacity]


def _placed(x: Any, taken: list[Any], back: list[Any]) -> Any:
    """Each answer in its token's place, 0 elsewhere."""
    import torch

    return torch.zeros_like(x).index_copy(0, torch.cat(taken), torch.cat(back))


def _swapped(comm: Any, parts: list[Any]) -> list[Any]:
    from helpers.algorithms.messages.all_to_all import all_to_all

    return all_to_all(comm, parts)


def _taken(comm: Any, choice: Any, keep: Callable[[Any], Any]) -> list[Any]:
    """For each rank, the rows that go there."""
    return [keep((choice == rank).nonzero()[:, 0]) for rank in range(comm.size)]


def _way(
    *,
    keep: Callable[[Any, int], Any] = _first,
    place: Callable[[Any, list[Any], list[Any]], Any] = _placed,
    swap: Callable[[Any, list[Any]], list[Any]] = _swapped,
    work: Callable[[Any, Any], Any] = lambda expert, rows: expert(rows),
    after: Callable[[Any, Any], Any] = lambda expert, rows: rows,
) -> Callable[..., Any]:
    """The right one, with one thing exchanged.

    keep: which of the rows for one expert go, of (rows, capacity). place: the result, of x, the
    rows that went to each rank, and the answers. swap: the all-to-all. work, after: what is done to
    rows that arrive, and to answers that are back.
    """

    def to_experts(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
        import torch

        taken = _taken(comm, choice, lambda rows: keep(rows, capacity))
        arrived = swap(comm, [x[rows] for rows in taken])
        made = work(expert, torch.cat(arrived))
        back = swap(comm, list(made.split([len(rows) for rows in arrived])))
        return place(x, taken, [after(expert, rows) for rows in back])

    return to_experts


def _one_behind_the_other(x: Any, taken: list[Any], back: list[Any]) -> Any:
    import torch

    rows = torch.cat(back)
    return torch.cat([rows, x.new_zeros(len(x) - len(rows), x.shape[1])])


def _over_themselves(x: Any, taken: list[Any], back: list[Any]) -> Any:
    import torch

    return x.index_copy(0, torch.cat(taken), torch.cat(back))


def _only_kept(x: Any, taken: list[Any], back: list[Any]) -> Any:
    import torch

    rows = torch.cat(taken)
    return torch.cat(back)[rows.argsort()]


as_they_come = _way(place=_one_behind_the_other)
keeps_last = _way(keep=lambda rows, capacity: rows[max(len(rows) - capacity, 0) :])
one_too_many = _way(keep=lambda rows, capacity: rows[: capacity + 1])
one_too_few = _way(keep=lambda rows, capacity: rows[: capacity - 1])
no_capacity = _way(keep=lambda rows, capacity: rows)
dropped_stay = _way(place=_over_themselves)
no_expert = _way(work=lambda expert, rows: rows)
twice = _way(after=lambda expert, rows: expert(rows))
kept_alone = _way(place=_only_kept)


def detached(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    return _way()(comm, x.detach(), choice, capacity, expert)


def in_total(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    import torch

    out = torch.zeros_like(x)
    some = _way()(comm, x[:capacity], choice[:capacity], capacity, expert)
    return out.index_copy(0, torch.arange(len(some)), some)


def receiver_drops(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """Of all that arrive the first are worked on; the others come back as 0."""
    import torch

    def work(expert: Any, rows: Any) -> Any:
        made = expert(rows[:capacity])
        return torch.cat([made, made.new_zeros(len(rows) - len(made), rows.shape[1])])

    return _way(keep=lambda rows, capacity: rows, work=work)(comm, x, choice, capacity, expert)


def own_untouched(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """The expert works on what came from others."""
    import torch

    taken = _taken(comm, choice, lambda rows: rows[:capacity])
    arrived = _swapped(comm, [x[rows] for rows in taken])
    sizes = [len(rows) for rows in arrived]
    made = list(expert(torch.cat(arrived)).split(sizes))
    made[comm.rank] = arrived[comm.rank] + 0 * made[comm.rank]
    return _placed(x, taken, _swapped(comm, made))


def own_for_free(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    taken = _taken(comm, choice, lambda rows: rows)
    taken = [rows if rank == comm.rank else rows[:capacity] for rank, rows in enumerate(taken)]
    return _by_rows(comm, x, taken, expert)


def _by_rows(comm: Any, x: Any, taken: list[Any], expert: Any) -> Any:
    import torch

    arrived = _swapped(comm, [x[rows] for rows in taken])
    made = expert(torch.cat(arrived)).split([len(rows) for rows in arrived])
    return _placed(x, taken, _swapped(comm, list(made)))


def stays_home(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    import torch

    taken = torch.cat(_taken(comm, choice, lambda rows: rows[:capacity]))
    return torch.zeros_like(x).index_copy(0, taken, expert(x[taken]))


def padded(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """Every part has as many rows as may go, the last of them 0."""
    import torch

    taken = _taken(comm, choice, lambda rows: rows[:capacity])
    fill = [x.new_zeros(capacity - len(rows), x.shape[1]) for rows in taken]
    parts = [torch.cat([x[rows], more]) for rows, more in zip(taken, fill, strict=True)]
    made = expert(torch.cat(_swapped(comm, parts))).split([capacity] * comm.size)
    back = _swapped(comm, list(made))
    return _placed(x, taken, [each[: len(rows)] for each, rows in zip(back, taken, strict=True)])


def to_everybody(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """Each expert works on all tokens, and the chosen one's answer is taken."""
    import torch

    arrived = _swapped(comm, [x + 0 for _ in range(comm.size)])
    made = expert(torch.cat(arrived)).split([len(rows) for rows in arrived])
    back = _swapped(comm, list(made))
    taken = _taken(comm, choice, lambda rows: rows[:capacity])
    return _placed(x, taken, [back[rank][rows] for rank, rows in enumerate(taken)])


def with_choices(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """A column with the chosen rank travels with each token."""
    import torch

    def swap(comm: Any, parts: list[Any]) -> list[Any]:
        wider = [torch.cat([part, part[:, :1] * 0 + rank], 1) for rank, part in enumerate(parts)]
        return [part[:, :-1] for part in _swapped(comm, wider)]

    return _way(swap=swap)(comm, x, choice, capacity, expert)


def _by_messages(wait: bool, itself: bool = False) -> Callable[[Any, list[Any]], list[Any]]:
    """An all-to-all of plain messages."""

    def swap(comm: Any, parts: list[Any]) -> list[Any]:
        sending = []
        for rank, part in enumerate(parts):
            if itself:
                comm.send(part.detach(), rank)
            elif rank != comm.rank:
                sending.append(comm.isend(part.detach().clone(), rank))
        got = [parts[r] if r == comm.rank else comm.recv(r) for r in range(comm.size)]
        for request in sending if wait else []:
            request.wait()
        return got

    return swap


by_hand = _way(swap=_by_messages(wait=True))
to_itself = _way(swap=_by_messages(wait=True, itself=True))


def no_wait(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """All right, and a message beside it that takes no bytes and that nobody waits for."""
    result = _way()(comm, x, choice, capacity, expert)
    for other in range(comm.size):
        if other != comm.rank:
            comm.isend(x.detach()[:0].clone(), other)
    for other in range(comm.size):
        if other != comm.rank:
            comm.recv(other)
    return result


def filled_up(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """The expert gets as many rows as might come."""
    import torch

    def work(expert: Any, rows: Any) -> Any:
        more = rows.new_zeros(comm.size * capacity - len(rows), rows.shape[1])
        return expert(torch.cat([rows, more]))[: len(rows)]

    return _way(work=work)(comm, x, choice, capacity, expert)


def with_counts(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """First tells every rank how many tokens will come."""
    import torch

    counts = [torch.tensor([float((choice == rank).sum())]).to(x) for rank in range(comm.size)]
    _by_messages(wait=True)(comm, counts)
    return _way()(comm, x, choice, capacity, expert)


def in_place(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    result = _way()(comm, x, choice, capacity, expert)
    choice.zero_()
    return result


def returns_early(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    return _way()(comm, x, choice, capacity, expert) if len(x) else x
