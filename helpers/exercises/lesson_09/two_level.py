"""Exercise 09.4, an all-reduce of two levels, in place, for ranks that share hosts.

The claim: the sum everywhere; over each host's link go 2(H − 1)/H of the tensor each way at most,
padded to whole chunks; where every host has several ranks, it takes less time than a ring over all
of them; every message is waited for. A ring of one leader a host meets that as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.algorithms.messages.two_level import all_reduce_two_level as reference
from helpers.exercises.common import after, compared_in_place, rng, self_hint
from helpers.exercises.compare import close, count, listing, times, worlds
from helpers.exercises.drives import in_place
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.lesson_09 import two_level_families as families
from helpers.exercises.lesson_09 import two_level_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_SHOWN = [
    ([2, 2], 24),
    ([1], 7),
    ([3], 10),
    ([1, 1], 9),
    ([1, 1, 1], 12),
    ([2, 2, 2], 24),
    ([2, 2], 13),
    ([4, 4], 40),
    ([2, 1], 24),
    ([1, 3, 1], 45),
]


def cases(seed: int) -> list[Case]:
    """Seed 0: hosts of one size, then of several, which are last in hidden cases too."""
    random, made = rng(seed, "09.4"), []
    shapes = _SHOWN
    if seed:
        even = [[2, 2], [1], [2], [1, 1, 1], [3, 3], [2, 2, 2], [2] * int(random.integers(3, 5))]
        uneven = [[1, 2], [3, 1, 2], [1, int(random.integers(2, 5)), 1]]
        shapes = [(each, 12 * int(random.integers(2, 6))) for each in even + uneven]
        shapes[3:3] = [([2, 2], 12 * int(random.integers(2, 6)) + int(random.integers(1, 4)))]
    for each, length in shapes:
        # Whole numbers, so that every order of additions gives the same sum.
        held = random.integers(-50, 50, (sum(each), length)).astype(np.float32)
        hosts = "a host" if len(each) == 1 else "hosts"
        most = "rank" if each[-1] == 1 else "ranks"
        name = f"On {hosts} with {listing(each)} {most} and {count(length, 'element')}"
        args = tuple((row,) for row in held)
        options = {
            "latency": families.LATENCY,
            "bandwidth": families.BANDWIDTH,
            "ranks_per_host": each,
        }
        made.append(Case(name, args, sum(each), options, {"held": held, "each": each}))
    return made


def claim(case: Case, seen: Observation) -> str | None:
    """The sum everywhere, few bytes over the links, and quicker than one ring over all ranks."""
    for rank, got in enumerate(after(seen)):
        if not close(got, families.sum_of(case), 1e-6):
            return f"{case.name}, rank {rank}'s tensor is not the sum over all ranks."
    host, nbytes, way = families.busiest(seen)
    if nbytes > families.most(case):
        return (
            f"{case.name}, the sum is right, but host {host}'s link carried {nbytes} B {way}, and "
            f"2(H − 1)/H of the tensor are {families.most(case)} B: sum inside each host first, "
            "and let each element of a host's sum go round a ring over the hosts once."
        )
    return not_waited(case, seen) or families.slower(case, seen)


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What went over a link, and who is where."""
    each = case.facts["each"]
    host, nbytes, _ = families.busiest(seen) if seen.links else (0, 0, "")
    return {
        "n": case.ranks,
        "hosts": len(each),
        "inside": each[0],
        "host": host,
        "carried": nbytes,
        "times": times(nbytes, families.most(case)) if families.most(case) else "",
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    at = max(range(len(cases)), key=lambda i: min(cases[i].facts["each"]) * len(seen[i].links))
    case, (_, nbytes, _) = cases[at], families.busiest(seen[at])
    ring = 2 * (case.ranks - 1) * families.length(case) * families.ITEM // case.ranks
    by_bytes, by_time = nbytes / ring, max(seen[at].seconds) / families.flat_seconds(case)
    why = (
        f" By bytes alone it would be {by_bytes:.0%}: on a tensor as small as this most of the "
        "time is α, and fewer steps cross a link."
    )
    return (
        f"Passed on {worlds(cases)}; on hosts with {listing(case.facts['each'])} ranks each link "
        f"carried {nbytes} B each way, where one ring over all ranks sends {ring} B, and it took "
        f"{by_time:.0%} of that ring's time.{why if by_time < by_bytes else ''}"
    )


EXERCISE = Exercise(
    number="09.4",
    title="Two levels",
    stars=3,
    minutes=25,
    points=4,
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
        Mistake("a name bound anew", families.only_named),
        Mistake("the sum not given back", families.not_given_back),
        Mistake("hosts of several sizes", families.uneven, unfinished=True),
        Mistake("a mean", families.divided),
        Mistake("no gather inside", families.not_gathered),
        Mistake("the leaders alone get the sum", families.leaders_alone),
        Mistake("one ring over all ranks", families.flat_ring),
        Mistake("whole tensors between counterparts", families.whole_tensors),
        Mistake("messages not waited for", not_waited),
        Mistake("slower than one ring", families.slower),
    ),
    numbers=numbers,
    compared=compared_in_place,
    praise=praise,
    reference=reference,
    wrong=(
        WrongAnswer(
            "returns a new tensor",
            wrong.returns_new,
            "the right tensor was returned, but the one that was given stayed as it was. Write "
            "into it, as `tensor.copy_(…)` does.",
        ),
        WrongAnswer(
            "sums a copy",
            wrong.sums_a_copy,
            "all tensors are what they were before: nothing was summed, or a copy was. Work on the "
            "one that was given, or copy into it at the end.",
        ),
        WrongAnswer(
            "inside the hosts alone",
            wrong.inside_only,
            "each host's ranks hold the sum of their own host: what is missing is the second "
            "level, in which the {hosts} hosts add their sums.",
        ),
        WrongAnswer(
            "between counterparts alone",
            wrong.across_only,
            "ranks hold the sum of their counterparts on other hosts. Before that each host's "
            "ranks add theirs, so that its whole sum is what crosses the link.",
        ),
        WrongAnswer(
            "parts not summed inside",
            wrong.parts_alone,
            "counterparts on all hosts summed a part each, but of their own tensors: the part of a "
            "rank's neighbours never reached it. Reduce-scatter inside the host comes first.",
        ),
        WrongAnswer(
            "parts cut in two ways",
            wrong.cut_otherwise,
            "parts are cut in two ways: `torch.chunk` makes the first ones ⌈n/L⌉ long, and the "
            "ring cuts at ⌊r·n/L⌋. Use the part that `reduce_scatter_ring` returns.",
        ),
        WrongAnswer(
            "with the next host alone",
            wrong.next_host_only,
            "each host added the sum of the host before it, and there are {hosts}: that is enough "
            "for two hosts alone. A ring takes H − 1 steps, and then as many again.",
        ),
        WrongAnswer(
            "leaders that sum only their own",
            wrong.leaders_own,
            "what is summed is one rank's tensor of each host: the others' never reached it. Sum "
            "inside each host first.",
        ),
        WrongAnswer(
            "summed inside a second time",
            wrong.summed_twice,
            "every value is {inside} times too large: behind the ring between hosts all ranks of a "
            "host have the sum already, and adding inside counts it once for each.",
        ),
        WrongAnswer(
            "through the first host",
            wrong.first_leader,
            "the sum is right, but host {host}'s link carried {carried} B each way, {times} what "
            "is enough: all leaders send their whole sum to one, which sends it back. Let the "
            "leaders sum round a ring, each a part.",
        ),
        WrongAnswer(
            "through rank 0",
            wrong.through_rank_0,
            "the sum is right, but all ranks send to rank 0 and get it back from there: host "
            "{host}'s link carried {carried} B each way, {times} what is enough. Sum inside each "
            "host first.",
        ),
        WrongAnswer("averages", wrong.averages, hint="4 times too small"),
        WrongAnswer("averages over hosts", wrong.averages_hosts, hint="2 times too small"),
        WrongAnswer("no gather inside", wrong.no_gather, hint="the ranks of each host gather"),
        WrongAnswer("leaders alone", wrong.leaders_only, hint="and the others do not"),
        WrongAnswer("one ring", wrong.one_ring, hint="as in one ring over all 4 ranks"),
        WrongAnswer(
            "one ring on uneven hosts", wrong.uneven_ring, hint="one ring over all 3 ranks"
        ),
        WrongAnswer("a name bound anew", wrong.binds_a_name, hint="binds a name anew"),
        WrongAnswer("whole tensors", wrong.whole_across, hint="exchanges all elements"),
        WrongAnswer("in turns", wrong.in_turns, hint="a turn, a barrier"),
        WrongAnswer("never waits", wrong.never_waits, hint="returned without waiting for"),
        WrongAnswer("to itself", wrong.to_itself, hint="which nobody will receive"),
        WrongAnswer("keeps the sum", wrong.not_given_back, hint="never got the sum back"),
        WrongAnswer("as many ranks as here", wrong.as_many_as_here, hint="hosts differ in size"),
    ),
    figure=0,
)
