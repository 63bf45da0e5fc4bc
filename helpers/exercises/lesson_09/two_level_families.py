"""What is asked of any answer to exercise 09.4, and hints for families of wrong ones."""

from __future__ import annotations

import numpy as np

from helpers.exercises.common import after
from helpers.exercises.compare import close, count, told_apart
from helpers.exercises.spec import Case, Observation

ITEM = 4  # bytes of a float32
LATENCY, BANDWIDTH = 200e-6, 1e6


def sum_of(case: Case) -> np.ndarray:
    """What each rank's tensor becomes."""
    total: np.ndarray = case.facts["held"].sum(axis=0)
    return total


def length(case: Case) -> int:
    """Elements of a tensor."""
    return int(case.facts["held"].shape[1])


def most(case: Case) -> int:
    """Bytes that may go over a host's link each way, in chunks of one length for each owner."""
    hosts, owners = len(case.facts["each"]), max(case.facts["each"])
    padded = max(-(-length(case) // m) * m for m in (owners * hosts, case.ranks, hosts))
    return 2 * (hosts - 1) * padded // hosts * ITEM


def flat_seconds(case: Case) -> float:
    """Seconds of a ring over all ranks: in each step a chunk goes over every link."""
    n = case.ranks
    return 2 * (n - 1) * (LATENCY + length(case) * ITEM / n / BANDWIDTH)


def _right_values(case: Case, seen: Observation) -> bool:
    return all(close(got, sum_of(case), 1e-6) for got in after(seen))


def busiest(seen: Observation) -> tuple[int, int, str]:
    """The host whose link carried most in one direction, the bytes and the direction."""
    ways = [(way, host, word) for host, link in enumerate(seen.links) for way, word in _named(link)]
    nbytes, host, word = max(ways, key=lambda way: way[0])
    return host, nbytes, word


def _named(link: tuple[int, int]) -> zip[tuple[int, str]]:
    return zip(link, ("out", "in"), strict=True)


def _crossing(case: Case, seen: Observation) -> list[int]:
    """How many ranks of each host sent to other hosts."""
    host_of = [host for host, each in enumerate(case.facts["each"]) for _ in range(each)]
    found = [0] * len(case.facts["each"])
    for rank, to in enumerate(seen.sent):
        found[host_of[rank]] += any(host_of[other] != host_of[rank] for other in to)
    return found


def _too_many(case: Case, seen: Observation) -> int:
    """Bytes over the busiest link, where the sum is right and they are too many; 0 elsewhere."""
    _, nbytes, _ = busiest(seen)
    return nbytes if nbytes > most(case) and _right_values(case, seen) else 0


def flat_ring(case: Case, seen: Observation) -> str | None:
    """Right, and over each link as in a ring over all ranks."""
    nbytes, n, hosts = _too_many(case, seen), case.ranks, len(case.facts["each"])
    around = 2 * (n - 1) * -(-length(case) // n) * ITEM
    once = max(_crossing(case, seen)) == 1
    least = 2 * (n - 1) * length(case) * ITEM / n - 2 * ITEM
    if not (once and min(map(min, seen.links)) >= least and nbytes <= around):
        return None
    return (
        f"{case.name}, the sum is right, but {nbytes} B went over a link each way, as in one ring "
        f"over all {n} ranks: 2(N − 1)/N of the tensor. 2(H − 1)/H are {most(case)} B: sum inside "
        f"each host first, so that the ring between hosts has {hosts} members."
    )


def whole_tensors(case: Case, seen: Observation) -> str | None:
    """Right, and over each link L times as much: each of a host's L ranks sends everything."""
    nbytes, each = _too_many(case, seen), case.facts["each"]
    if len(set(each)) > 1 or set(_crossing(case, seen)) != {each[0]}:
        return None
    least = each[0] * 2 * (len(each) - 1) * length(case) * ITEM / len(each)
    if not 0.9 * least <= nbytes <= each[0] * most(case):
        return None
    return (
        f"{case.name}, the sum is right, but {nbytes} B went over a link each way where "
        f"{most(case)} B are enough: each of a host's {each[0]} ranks exchanges all elements with "
        "its counterparts. They share the link, so let each send its own part of the host's sum."
    )


def leaders_alone(case: Case, seen: Observation) -> str | None:
    """The sum on the first rank of each host, and on none of its others."""
    each, right_on = case.facts["each"], [close(got, sum_of(case), 1e-6) for got in after(seen)]
    firsts = {sum(each[:host]) for host in range(len(each))}
    if max(each) == 1 or right_on != [rank in firsts for rank in range(case.ranks)]:
        return None
    return (
        f"{case.name}, one rank of each host has the sum, and the others do not: it has to tell "
        "them, inside the host, where it costs next to nothing."
    )


def only_named(case: Case, seen: Observation) -> str | None:
    """Some ranks hold the sum, and the tensor of one is as it was, though it was sent to."""
    held, total, got = case.facts["held"], sum_of(case), after(seen)
    right_on = [rank for rank in range(case.ranks) if close(got[rank], total, 1e-6)]
    told = {to for each in seen.sent for to in each}
    same = [r for r in range(case.ranks) if r in told and close(got[r], held[r], 0.0)]
    if not right_on or not set(same) - set(right_on):
        return None
    rank = min(set(same) - set(right_on))
    return (
        f"{case.name}, rank {right_on[0]} holds the sum, and rank {rank}'s tensor is as it was, "
        f"though rank {rank} was sent to: `tensor = …` binds a name anew and changes no tensor. "
        "Write into it: `comm.recv(…, into=tensor)` or `tensor.copy_(…)`."
    )


def not_gathered(case: Case, seen: Observation) -> str | None:
    """On hosts of one size: each rank has its own part of the sum."""
    each, total = case.facts["each"], sum_of(case)
    if len(set(each)) > 1 or each[0] == 1 or length(case) < each[0]:
        return None
    for rank, got in enumerate(after(seen)):
        place = rank % each[0]
        mine = slice(place * length(case) // each[0], (place + 1) * length(case) // each[0])
        if close(got, total, 1e-6) or not close(got[mine], total[mine], 1e-6):
            return None
    return (
        f"{case.name}, each rank's own part of the sum is right, and its other parts are not: "
        "behind the ring between hosts, the ranks of each host gather all parts."
    )


def divided(case: Case, seen: Observation) -> str | None:
    """The sum, divided by a number of ranks or hosts."""
    for number in (case.ranks, len(case.facts["each"]), case.facts["each"][0]):
        if number > 1 and all(close(got, sum_of(case) / number, 1e-6) for got in after(seen)):
            return (
                f"{case.name}, every value is {number} times too small: an all-reduce sums, and "
                "whoever wants an average divides afterwards."
            )
    return None


def slower(case: Case, seen: Observation) -> str | None:
    """Right in all but the time, where every host has several ranks."""
    took, each = max(seen.seconds), case.facts["each"]
    if (
        len(each) == 1
        or min(each) == 1
        or took < flat_seconds(case)
        or not _right_values(case, seen)
    ):
        return None
    if _too_many(case, seen):
        return None
    mine, ring = told_apart(took * 1e3, flat_seconds(case) * 1e3)
    return (
        f"{case.name}, the sum is right and the links carry no more than they have to, but it took "
        f"{mine} ms, and one ring over all {case.ranks} ranks takes "
        f"{ring} ms. Latencies add up where one thing waits for another, a "
        "turn, a barrier or one more message: let the owners of all parts sum at the same time, or "
        "one rank a host do it all."
    )


def uneven(case: Case, seen: Observation) -> str | None:
    """Hosts of several sizes, where it went right on hosts of one: these cases come last."""
    each = case.facts["each"]
    fine = not seen.trouble and _right_values(case, seen)  # more bytes than needed: told elsewhere
    if len(set(each)) == 1 or fine:
        return None
    few, many = min(each), max(each)
    return (
        f"{case.name}, hosts differ in size: a host with {count(many, 'rank')} has ranks without a "
        f"counterpart on one with {count(few, 'rank')}, and parts of other lengths. Let "
        f"{count(few, 'rank')} of each host sum for it: the others of a host hand their tensors "
        "over first, and get the sum back at the end."
    )


def not_given_back(case: Case, seen: Observation) -> str | None:
    """On hosts of several sizes: who handed a tensor over and was sent nothing has no sum."""
    held, total, got = case.facts["held"], sum_of(case), after(seen)
    told = {to for each in seen.sent for to in each}
    without = [rank for rank in range(case.ranks) if not close(got[rank], total, 1e-6)]
    if len(set(case.facts["each"])) == 1 or not without:
        return None
    if any(r in told or not seen.sent[r] or not close(got[r], held[r], 0.0) for r in without):
        return None
    rank = without[0]
    return (
        f"{case.name}, rank {rank} handed its tensor to rank {seen.sent[rank][0]} and never got "
        "the sum back: at the end, whoever sums for it sends it the sum, and it receives that "
        "into its tensor."
    )
