"""Exercise 09.4, an all-reduce of two levels, in place, for ranks that share hosts.

The claim: the sum everywhere; over each host's link go 2(H − 1)/H of the tensor each way at most,
padded to whole chunks; where every host has several ranks, it takes less time than a ring over all
of them; every message is waited for. A ring of one leader a host meets that as well.
The file is long for the eleven families of mistakes, which links, hosts and times tell apart.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from helpers.checks.common import after, compared_in_place, self_hint
from helpers.checks.compare import close, count, listing, times, told_apart, worlds
from helpers.checks.drives.ranks import in_place
from helpers.checks.drives.requests import not_waited
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.bandwidth.algorithms.two_level import all_reduce_two_level as reference
from helpers.lessons.messages.algorithms.collectives import all_reduce_naive

_ITEM, _LATENCY, _BANDWIDTH = 4, 200e-6, 1e6  # bytes of a float32; seconds; bytes a second
_HOSTS = [[2, 2], [1], [3], [1, 1], [1, 1, 1], [2, 2, 2], [2, 2], [4, 4], [2, 1], [1, 3, 1]]
_HOSTS += [[3, 2], [2, 4]]
_LENGTHS = [24, 7, 10, 9, 12, 24, 13, 40, 24, 45, 36, 24]


def cases(seed: int) -> list[Case]:
    """Seed 0: hosts of one size, then of several, which are last in hidden cases too."""
    random, made = rng(seed, "09.4"), []
    shapes = list(zip(_HOSTS, _LENGTHS, strict=True))
    if seed:
        even = [[2, 2], [1], [2], [1, 1, 1], [3, 3], [2, 2, 2], [2] * int(random.integers(3, 5))]
        uneven = [[1, 2], [3, 1, 2], [1, int(random.integers(2, 5)), 1], [2, 3], [4, 2, 3]]
        shapes = [(each, 12 * int(random.integers(2, 6))) for each in even + uneven]
        shapes[3:3] = [([2, 2], 12 * int(random.integers(2, 6)) + int(random.choice([1, 3])))]
    for each, length in shapes:
        hosts, ranks = len(each), sum(each)
        # Whole numbers, so that every order of additions gives the same sum; 16 bits are too few.
        held = random.integers(-50_000, 50_000, (ranks, length)).astype(np.float32)
        name = f"On {'a host' if hosts == 1 else 'hosts'} with {listing(each)} "
        name += f"{'rank' if each[-1] == 1 else 'ranks'} and {count(length, 'element')}"
        options = {"latency": _LATENCY, "bandwidth": _BANDWIDTH, "ranks_per_host": each}
        # Bytes over a host's link each way, in chunks of one length for each owner.
        padded = max(-(-length // m) * m for m in (max(each) * hosts, ranks, hosts))
        most = 2 * (hosts - 1) * padded // hosts * _ITEM
        # Seconds of a ring over all ranks: in each step a chunk goes over every link.
        ring = 2 * (ranks - 1) * (_LATENCY + length * _ITEM / ranks / _BANDWIDTH)
        facts = {"each": each, "length": length, "most": most, "ring": ring}
        facts |= {"held": held, "sum": held.sum(axis=0)}
        made.append(Case(name, tuple((row,) for row in held), ranks, options, facts))
    return made


def right_on(case: Case, seen: Observation) -> list[int]:
    """The ranks that hold the sum."""
    return [rank for rank, got in enumerate(after(seen)) if close(got, case.facts["sum"], 1e-6)]


def busiest(seen: Observation) -> tuple[int, int, str]:
    """The host whose link carried most in one direction, the bytes and the direction."""
    host, (out, into) = max(enumerate(seen.links), key=lambda way: max(way[1]))
    return (host, out, "out") if out >= into else (host, into, "in")


def _crossing(case: Case, seen: Observation) -> list[int]:
    """How many ranks of each host sent to other hosts."""
    host_of = [host for host, each in enumerate(case.facts["each"]) for _ in range(each)]
    found = [0] * len(case.facts["each"])
    for rank, to in enumerate(seen.sent):
        found[host_of[rank]] += any(host_of[other] != host_of[rank] for other in to)
    return found


def _too_many(case: Case, seen: Observation) -> int:
    """Bytes over the busiest link, where the sum is right and they are too many; 0 elsewhere."""
    nbytes = busiest(seen)[1]
    return nbytes if nbytes > case.facts["most"] and len(right_on(case, seen)) == case.ranks else 0


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The sum everywhere, few bytes over the links, and quicker than one ring over all ranks."""
    for rank in sorted({*range(case.ranks)} - {*right_on(case, seen)}):
        yield f"rank {rank}'s tensor is not the sum over all ranks."
    host, nbytes, way = busiest(seen)
    if nbytes > case.facts["most"]:
        yield (
            f"the sum is right, but host {host}'s link carried {nbytes} B {way}, and 2(H − 1)/H of "
            f"the tensor are {case.facts['most']} B: one ring over the hosts, with each host's "
            "sum, is all that has to cross a link. The rest stays inside the hosts."
        )
    yield not_waited(case, seen)
    yield from slower(case, seen)


def flat_ring(case: Case, seen: Observation) -> Iterator[str]:
    """Right, and over each link as in a ring over all ranks."""
    nbytes, n, hosts = _too_many(case, seen), case.ranks, len(case.facts["each"])
    around = 2 * (n - 1) * -(-case.facts["length"] // n) * _ITEM
    least = 2 * (n - 1) * case.facts["length"] * _ITEM / n - 2 * _ITEM
    alike = max(_crossing(case, seen)) == 1 and min(map(min, seen.links)) >= least
    if alike and 0 < nbytes <= around:
        yield (
            f"the sum is right, but {nbytes} B went over a link each way, as in one ring over all "
            f"{n} ranks: 2(N − 1)/N of the tensor. 2(H − 1)/H are {case.facts['most']} B: sum "
            f"inside each host first, so that the ring between hosts has {hosts} members."
        )


def whole_tensors(case: Case, seen: Observation) -> Iterator[str]:
    """Right, and over each link L times as much: each of a host's L ranks sends everything."""
    nbytes, each = _too_many(case, seen), case.facts["each"]
    everybody = len(set(each)) == 1 and set(_crossing(case, seen)) == {each[0]}
    least = each[0] * 2 * (len(each) - 1) * case.facts["length"] * _ITEM / len(each)
    if everybody and 0.9 * least <= nbytes <= each[0] * case.facts["most"]:
        yield (
            f"the sum is right, but {nbytes} B went over a link each way where "
            f"{case.facts['most']} B are enough, as where each of a host's {each[0]} ranks "
            "exchanges all elements with its counterparts. They share the link, so let each send "
            "its own part of the host's sum, in the tensor's own type."
        )


def leaders_alone(case: Case, seen: Observation) -> Iterator[str]:
    """The sum on the first rank of each host, and on none of its others."""
    each = case.facts["each"]
    firsts = [sum(each[:host]) for host in range(len(each))]
    if max(each) > 1 and right_on(case, seen) == firsts:
        yield (
            "one rank of each host has the sum, and the others do not: it has to tell them, inside "
            "the host, where it costs next to nothing."
        )


def only_named(case: Case, seen: Observation) -> Iterator[str]:
    """Some ranks hold the sum, and the tensor of one is as it was, though it was sent to."""
    held, right, got = case.facts["held"], right_on(case, seen), after(seen)
    told = {to for each in seen.sent for to in each}
    for rank in sorted(told - {*right}) if right else ():
        if close(got[rank], held[rank], 0.0):
            yield (
                f"rank {right[0]} holds the sum, and rank {rank}'s tensor is as it was, though "
                f"rank {rank} was sent to: `tensor = …` binds a name anew and changes no tensor. "
                "Write into it: `comm.recv(…, into=tensor)` or `tensor.copy_(…)`."
            )


def not_gathered(case: Case, seen: Observation) -> Iterator[str]:
    """On hosts of one size: each rank has its own part of the sum."""
    each, total = case.facts["each"], case.facts["sum"]
    if len(set(each)) > 1 or each[0] == 1 or case.facts["length"] < each[0] or right_on(case, seen):
        return
    bounds = [place * case.facts["length"] // each[0] for place in range(each[0] + 1)]
    own = [slice(*bounds[rank % each[0] :][:2]) for rank in range(case.ranks)]
    if all(close(got[o], total[o], 1e-6) for o, got in zip(own, after(seen), strict=True)):
        yield (
            "each rank's own part of the sum is right, and its other parts are not: behind the "
            "ring between hosts, the ranks of each host gather all parts."
        )


def divided(case: Case, seen: Observation) -> Iterator[str]:
    """The sum, divided by a number of ranks or hosts."""
    for number in (case.ranks, len(case.facts["each"]), case.facts["each"][0]):
        if number > 1 and all(close(got, case.facts["sum"] / number, 1e-6) for got in after(seen)):
            yield (
                f"every value is {number} times too small: an all-reduce sums, and whoever wants "
                "an average divides afterwards."
            )


def several_times(case: Case, seen: Observation) -> Iterator[str]:
    """The sum, times a number of ranks or hosts."""
    for number in (case.ranks, len(case.facts["each"]), *case.facts["each"]):
        if number > 1 and all(close(got, case.facts["sum"] * number, 1e-6) for got in after(seen)):
            yield (
                f"every value is {number} times too large: what a rank holds is added {number} "
                "times, as where ranks of one host all bring the host's whole sum into another."
            )


def slower(case: Case, seen: Observation) -> Iterator[str]:
    """Right in all but the time, where every host has several ranks."""
    took, ring, each = max(seen.seconds), case.facts["ring"], case.facts["each"]
    if len(each) == 1 or min(each) == 1 or len(right_on(case, seen)) < case.ranks:
        return
    if took >= ring and not _too_many(case, seen):
        mine, whole = told_apart(took * 1e3, ring * 1e3)
        yield (
            f"the sum is right and the links carry no more than they have to, but it took {mine} "
            f"ms, and one ring over all {case.ranks} ranks takes {whole} ms. Latencies add up "
            "where one thing waits for another, a turn, a barrier or one more message: let the "
            "owners of all parts sum at the same time, or one rank a host do it all."
        )


def uneven(case: Case, seen: Observation) -> Iterator[str]:
    """Hosts of several sizes, where it went right on hosts of one: these cases come last."""
    few, many = min(case.facts["each"]), max(case.facts["each"])
    # Where it is right, more bytes than needed are told elsewhere.
    if few < many and (seen.trouble or len(right_on(case, seen)) < case.ranks):
        yield (
            f"hosts differ in size: a host with {count(many, 'rank')} has ranks without a "
            f"counterpart on one with {count(few, 'rank')}, and parts of other lengths. Let "
            f"{count(few, 'rank')} of each host sum for it: the others of a host hand their "
            "tensors over first, and get the sum back at the end."
        )


def not_given_back(case: Case, seen: Observation) -> Iterator[str]:
    """On hosts of several sizes: who handed a tensor over and was sent nothing has no sum."""
    held, right, got = case.facts["held"], right_on(case, seen), after(seen)
    told = {to for each in seen.sent for to in each}
    without = [rank for rank in range(case.ranks) if rank not in right]
    kept = all(seen.sent[r] and r not in told and close(got[r], held[r], 0.0) for r in without)
    if len(set(case.facts["each"])) > 1 and without and kept:
        yield (
            f"rank {without[0]} handed its tensor to rank {seen.sent[without[0]][0]} and never got "
            "the sum back: at the end, whoever sums for it sends it the sum, and it receives that "
            "into its tensor."
        )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What went over a link, and who is where."""
    each = case.facts["each"]
    host, nbytes, _ = busiest(seen) if seen.links else (0, 0, "")
    many = times(nbytes, case.facts["most"] or 1)
    named = {"hosts": len(each), "inside": each[0], "host": host, "least": min(each)}
    return {**named, "carried": nbytes, "times": many}


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    at = max(range(len(cases)), key=lambda i: min(cases[i].facts["each"]) * len(seen[i].links))
    case, (_, nbytes, _) = cases[at], busiest(seen[at])
    ring = 2 * (case.ranks - 1) * case.facts["length"] * _ITEM // case.ranks
    by_bytes, by_time = nbytes / ring, max(seen[at].seconds) / case.facts["ring"]
    why = (
        f" By bytes alone it would be {by_bytes:.0%}: on a tensor as small as this most of the "
        "time is α, and fewer steps cross a link."
    )
    return (
        f"Passed on {worlds(cases)}; on hosts with {listing(case.facts['each'])} ranks each link "
        f"carried {nbytes} B each way, where one ring over all ranks sends {ring} B, and it took "
        f"{by_time:.0%} of that ring's time.{why if by_time < by_bytes else ''}"
    )


WRONG = """
returns a new tensor
    | flat = flat_view(tensor) => tensor = flat = flat_view(tensor).clone()
    the right tensor was returned, but the one that was given stayed as it was. Write into it, as
    `tensor.copy_(…)` does.
sums a copy
    | flat_view(tensor) => flat_view(tensor).clone()
    all tensors are what they were before: nothing was summed, or a copy was. Work on the one that
    was given, or copy into it at the end.
inside the hosts alone
    | all_reduce_ring(across, part) =>
    each host's ranks hold the sum of their own host: what is missing is the second level, in which
    the {hosts} hosts add their sums.
between counterparts alone
    | reduce_scatter_ring(inside, flat) => flat
    | all_gather_ring(inside, flat) =>
    ranks hold the sum of their counterparts on other hosts. Before that each host's ranks add
    theirs, so that its whole sum is what crosses the link.
parts not summed inside
    | reduce_scatter_ring(inside, flat)
        => flat[mine * len(flat) // width : (mine + 1) * len(flat) // width]
    counterparts on all hosts summed a part each, but of their own tensors: the part of a rank's
    neighbours never reached it. Reduce-scatter inside the host comes first.
parts cut in two ways
    | reduce_scatter_ring(inside, flat) => all_reduce_ring(inside, flat).chunk(width)[mine]
    parts are cut in two ways: `torch.chunk` makes the first ones ⌈n/L⌉ long, and the ring cuts at
    ⌊r·n/L⌋. Use the part that `reduce_scatter_ring` returns.
with the next host alone
    | all_reduce_ring(across, part) => came = part.clone(); width < comm.size and (
        across.isend(came, (across.rank + 1) % across.size),
        part.add_(across.recv((across.rank - 1) % across.size)))[0].wait()
    each host added the sum of the host before it, and there are {hosts}: that is enough for two
    hosts alone. A ring takes H − 1 steps, and then as many again.
leaders that sum only their own
    | min(Counter(comm.hosts).values()) => 1
    | comm.send(flat, beside[mine % width]) =>
    | flat += comm.recv(other) => pass
    what is summed is one rank's tensor of each host: the others' never reached it. Sum inside each
    host first.
summed inside a second time
    | min(Counter(comm.hosts).values()) => 1
    | return tensor *=> return all_reduce_ring(Group(comm, beside), flat)
    every value is {inside} times too large: behind the ring between hosts all ranks of a host have
    the sum already, and adding inside counts it once for each.
through the first host
    | min(Counter(comm.hosts).values()) => 1
    | all_reduce_ring(across, part) => all_reduce_naive(across, part)
    the sum is right, but host {host}'s link carried {carried} B each way, {times} what is enough:
    all leaders send their whole sum to one, which sends it back. Let the leaders sum round a ring,
    each a part.
through rank 0
    | flat = flat_view(tensor) => return all_reduce_naive(comm, tensor)
    the sum is right, but all ranks send to rank 0 and get it back from there: host {host}'s link
    carried {carried} B each way, {times} what is enough. Sum inside each host first.
averages
    | return tensor *=> return tensor.div_(comm.size)
    ? 4 times too small
averages over hosts
    | return tensor *=> return tensor.div_(len(set(comm.hosts)))
    ? 2 times too small
no gather inside
    | all_gather_ring(inside, flat) =>
    ? the ranks of each host gather
leaders alone
    | min(Counter(comm.hosts).values()) => 1
    | comm.recv(beside[mine % width], into=flat) =>
    | in helped] => in []]
    ? and the others do not
one ring
    | flat = flat_view(tensor) => return all_reduce_ring(comm, tensor)
    ? as in one ring over all 4 ranks
one ring on uneven hosts
    | mine >= width => len({*Counter(comm.hosts).values()}) > 1
    | comm.send(flat, beside[mine % width]) => return all_reduce_ring(comm, flat)
    ? one ring over all 3 ranks
a name bound anew
    | min(Counter(comm.hosts).values()) => 1
    | , into=flat) => )
    ? binds a name anew
whole tensors
    | reduce_scatter_ring(inside, flat) => all_reduce_ring(inside, flat)
    | all_gather_ring(inside, flat) =>
    ? exchanges all elements
in turns
    | all_reduce_ring(across, part) => for turn in range(width):
        turn == mine and all_reduce_ring(across, part); comm.barrier()
    ? a turn, a barrier
never waits
    | min(Counter(comm.hosts).values()) => 1
    | request.wait() => pass
    ? returned without waiting for
to itself
    | min(Counter(comm.hosts).values()) => 1
    | in helped] => in beside]
    ? which nobody will receive
a ring inside and one over all
    | flat = flat_view(tensor) => all_reduce_ring(Group(comm, comm.host_ranks), tensor);
        return all_reduce_ring(comm, tensor)
    ? bring the host's whole sum
handed to all that remain
    | comm.send(flat, beside[mine % width]) => [comm.send(flat, other) for other in beside[:width]]
    | helped = beside[width + mine :: width] => helped = beside[width:]
    | in helped] => in beside[width + mine :: width]]
    the tensor of a rank without a counterpart counts {least} times: it was handed to all {least} of
    its host that go on, and they add up what they have. Hand it to one of them.
keeps the sum
    | comm.recv(beside[mine % width], into=flat) =>
    | in helped] => in []]
    ? never got the sum back
as many ranks as here
    | min(Counter(comm.hosts).values()) => len(comm.host_ranks)
    | counterparts(comm.hosts, mine) => range(comm.rank % width, comm.size, width)
    ? hosts differ in size
"""

EXERCISE = Exercise(
    number="09.4",
    title="Two levels",
    size=Size(stars=3, minutes=25, points=4),
    function="all_reduce_two_level",
    asks=(
        "every rank's `tensor`, in place, is the sum over all ranks; each host's link carries at "
        "most 2(H − 1)/H of the tensor in each direction, in whole elements a chunk, on H hosts of "
        "any sizes; and it is quicker than one ring over all ranks where every host has several."
    ),
    cases=cases,
    drive=in_place,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("a name bound anew", only_named),
        Mistake("the sum not given back", not_given_back),
        Mistake("hosts of several sizes", uneven, unfinished=True),
        Mistake("a mean", divided),
        Mistake("a sum that counts several times", several_times),
        Mistake("no gather inside", not_gathered),
        Mistake("the leaders alone get the sum", leaders_alone),
        Mistake("one ring over all ranks", flat_ring),
        Mistake("whole tensors between counterparts", whole_tensors),
        Mistake("messages not waited for", not_waited),
        Mistake("slower than one ring", slower),
    ),
    numbers=numbers,
    compared=compared_in_place,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("09.4", WRONG, (reference, all_reduce_naive)),
    figure=0,
)
