"""Code under test for exercise 15.4: ranks that count their steps in memory that all of them see.

Each function is handed over as its text. `seconds[r][k]` is how long step k of rank r takes; what
comes back on every rank is how many steps all ranks have taken. Others come in between only where
`comm.compute` lets time pass, or where a rank waits.
"""

from __future__ import annotations

from typing import Any

HEAD = """\
import torch
from typing import Any

"""


# --- unlocked: somebody may come between reading and writing --------------------------------------


def around_the_step(comm: Any, seconds: Any) -> int:
    counter = comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        before = int(counter[0])
        comm.compute(each)
        counter[0] = before + 1
    comm.barrier()
    return int(counter[0])


def after_the_step(comm: Any, seconds: Any) -> int:
    counter = comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        comm.compute(each)
        before = int(counter[0])
        comm.compute(0.01)
        counter[0] = before + 1
    comm.barrier()
    return int(counter[0])


def lock_with_a_gap(comm: Any, seconds: Any) -> int:
    counter, lock = comm.shared((1,))[0], comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        comm.compute(each)
        while lock[0]:
            comm.compute(0.001)
        comm.compute(0.001)
        lock[0] = 1
        before = int(counter[0])
        comm.compute(0.01)
        counter[0] = before + 1
        lock[0] = 0
    comm.barrier()
    return int(counter[0])


def lock_of_its_own(comm: Any, seconds: Any) -> int:
    counter, locks = comm.shared((1,))[0], comm.shared((1,))
    mine = locks[comm.rank]
    for each in seconds[comm.rank]:
        comm.compute(each)
        while mine[0]:
            comm.compute(0.001)
        mine[0] = 1
        before = int(counter[0])
        comm.compute(0.01)
        counter[0] = before + 1
        mine[0] = 0
    comm.barrier()
    return int(counter[0])


def by_twos(comm: Any, seconds: Any) -> int:
    counter, own = comm.shared((1,))[0], 0
    for number, each in enumerate(seconds[comm.rank], 1):
        comm.compute(each)
        own += 1
        if own == 2 or number == len(seconds[comm.rank]):
            before = int(counter[0])
            comm.compute(0.01)
            counter[0] = before + own
            own = 0
    comm.barrier()
    return int(counter[0])


def never_reads_again(comm: Any, seconds: Any) -> int:
    counter = comm.shared((1,))[0]
    count = int(counter[0])
    for each in seconds[comm.rank]:
        comm.compute(each)
        count += 1
        counter[0] = count
    comm.barrier()
    return int(counter[0])


def lock_left_early(comm: Any, seconds: Any) -> int:
    counter, lock = comm.shared((1,))[0], comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        comm.compute(each)
        while lock[0]:
            comm.compute(0.001)
        lock[0] = 1
        before = int(counter[0])
        lock[0] = 0
        comm.compute(0.01)
        counter[0] = before + 1
    comm.barrier()
    return int(counter[0])


# --- sound ----------------------------------------------------------------------------------------


def at_once(comm: Any, seconds: Any) -> int:
    counter = comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        comm.compute(each)
        before = int(counter[0])
        counter[0] = before + 1
    comm.barrier()
    return int(counter[0])


def spin_lock(comm: Any, seconds: Any) -> int:
    counter, lock = comm.shared((1,))[0], comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        comm.compute(each)
        while lock[0]:
            comm.compute(0.001)
        lock[0] = 1
        before = int(counter[0])
        comm.compute(0.01)
        counter[0] = before + 1
        lock[0] = 0
    comm.barrier()
    return int(counter[0])


def own_counters(comm: Any, seconds: Any) -> int:
    counters = comm.shared((1,))
    for each in seconds[comm.rank]:
        before = int(counters[comm.rank][0])
        comm.compute(each)
        counters[comm.rank][0] = before + 1
    comm.barrier()
    return int(sum(int(counter[0]) for counter in counters))


def by_messages(comm: Any, seconds: Any) -> int:
    import torch

    taken = torch.zeros(1)
    for each in seconds[comm.rank]:
        comm.compute(each)
        taken += 1
    if comm.rank:
        comm.send(taken, 0)
        return int(comm.recv(0))
    for other in range(1, comm.size):
        taken += comm.recv(other)
    for other in range(1, comm.size):
        comm.send(taken, other)
    return int(taken)


def lock_for_all(comm: Any, seconds: Any) -> int:
    """Counts under a lock, and the step too: one rank at a time."""
    counter, lock = comm.shared((1,))[0], comm.shared((1,))[0]
    for each in seconds[comm.rank]:
        while lock[0]:
            comm.compute(each + 0.001)
        lock[0] = 1
        before = int(counter[0])
        comm.compute(each)
        counter[0] = before + 1
        lock[0] = 0
    comm.barrier()
    return int(counter[0])


def in_turns(comm: Any, seconds: Any) -> int:
    counter = comm.shared((1,))[0]
    for step in range(max(map(len, seconds))):
        mine = seconds[comm.rank][step : step + 1]
        comm.compute(sum(mine))
        for turn in range(comm.size):
            comm.barrier()
            if turn == comm.rank:
                before = int(counter[0])
                comm.compute(0.01)
                counter[0] = before + len(mine)
    comm.barrier()
    return int(counter[0])


def in_place(comm: Any, seconds: Any) -> int:
    counters = comm.shared((1,))
    for each in seconds[comm.rank]:
        comm.compute(each)
        counters[0].add_(1)
    comm.barrier()
    return int(counters[0][0])
