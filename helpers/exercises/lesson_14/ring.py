"""Exercise 14.7, attention over keys and values that go round a ring.

`ring_attention(comm, query, key, value, places) -> (mixed, log_sums)`: query, key and value
(heads, here, d) are those of this rank's positions, `places[rank]`; None for places that mask
nothing. The claim: the mixed values and the logarithm of each query's sum of exponentials are those
of attention in one piece to 1e-10, for scores of any size; a rank sends to its right neighbour
alone, every block but that neighbour's own, and waits for all that it began to receive; and in the
learner's process, where it can be seen, something is computed between one block and the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from helpers.exercises.common import rng
from helpers.exercises.compare import close, count, listing, rounded, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_sequence import on_sequence
from helpers.exercises.lesson_14 import ring_families as family
from helpers.exercises.lesson_14 import ring_wrong as wrong
from helpers.exercises.lesson_14.ring_families import dense_of, returned
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

HEADS, WIDTH = 2, 3


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 6 positions in parts, 2 ranks without a mask, then positions that are
    dealt out in turn, large scores, one rank alone, 5 ranks. Other seeds: other lengths and values,
    and in the last case positions that lie anywhere."""
    random, made = rng(seed, "14.7"), []
    settings = [(3, "parts", 0), (2, "all", 0), (3, "turns", 0), (3, "turns", 400), (1, "parts", 0)]
    for n, kind, offset in [*settings, (5, "anywhere" if seed else "turns", 0)]:
        more = int(random.integers(0, 6)) if seed else 0
        # Parts of one length first: another rank's mask then fits, and shows in the numbers.
        length = 6 + 3 * more if kind == "parts" and n == 3 else {1: 4, 2: 5, 3: 7, 5: 13}[n] + more
        query, key, value = (random.standard_normal((HEADS, length, WIDTH)) for _ in range(3))
        if offset:
            # One direction in which queries and keys are long: scores around 1150 and −1150 in
            # turn, and for the other head the other way round: some see nothing but −1150.
            query[..., 0] = offset * np.resize([1.0, -1.0], HEADS)[:, None]
            key[..., 0] = 5 * np.resize([1.0, -1.0], length) + key[..., 0] / 100
        places = _places(kind, length, n, random)
        args = tuple(
            (query[:, p], key[:, p], value[:, p], None if kind == "all" else places) for p in places
        )
        where = {"parts": "", "all": ", without a mask", "turns": " dealt out in turn"}
        name = f"On {count(n, 'rank')} with {length} positions{where.get(kind, ' in any order')}"
        name += ", large scores" if offset else ""
        held = [p.tolist() for p in places]
        made.append(Case(name, args, n, facts={"places": held, "large": bool(offset)}))
    return made


def _places(kind: str, length: int, n: int, random: np.random.Generator) -> list[np.ndarray]:
    """Each rank's positions, rising."""
    if kind == "turns":
        return [np.arange(length)[rank::n] for rank in range(n)]
    if kind == "anywhere":
        return [np.sort(each) for each in np.array_split(random.permutation(length), n)]
    return [np.arange(r * length // n, (r + 1) * length // n) for r in range(n)]


def claim(case: Case, seen: Observation) -> str | None:
    """Both results on every rank; to the right alone, and no more than it takes."""
    for which, what in enumerate(("mixed values", "logarithms of the sums")):
        for rank, gave in enumerate(seen.values):
            want = dense_of(case)[which][rank]
            if not close(returned(gave)[which], want, 1e-10):
                why = rounded([returned(gave)[which]], [want])
                return (
                    f"{case.name}, rank {rank}'s {what} are not those of attention in one piece"
                    f"{why}."
                )
    if any(value["changed"] for value in seen.values):
        return family.changed(case, seen)
    return (
        family.not_to_the_right(case, seen)
        or family.bytes_sent(case, seen)
        or family.gathers(case, seen)
        or family.left_open(case, seen)
        or not_waited(case, seen)
    )


def compared(case: Case, seen: Observation) -> Any:
    """The mixed values where one is wrong, else the logarithms."""
    want = dense_of(case)[0]
    gave = [returned(value) for value in seen.values]
    right = all(close(g[0], w, 1e-10) for g, w in zip(gave, want, strict=True))
    return [pair[1 if right else 0] for pair in gave]


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name."""
    places = case.facts["places"]
    last = case.ranks - 1
    return {
        "n": case.ranks,
        "root": f"√{WIDTH}",
        "first": listing(places[0][:3]),
        "source": (last - 1) % case.ranks,
        "last": last,
    }


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case = max(cases, key=lambda each: each.ranks)
    length = sum(map(len, case.facts["places"]))
    most = max(map(len, case.facts["places"]))
    return (
        f"Passed on {worlds(cases)}: attention in one piece, to 1e-10, for large scores too. On "
        f"{case.ranks} ranks a block has at most {most} × {most} scores a head, where the whole "
        f"table has {length} × {length}; each rank sent to its right neighbour alone."
    )


def reference(comm: Any, query: Any, key: Any, value: Any, places: Any) -> Any:
    """Partial results are put together by the logarithms of their sums, key and value travel as
    two messages."""
    import torch

    mixed = torch.zeros_like(query)
    log_sums = torch.full_like(query[..., 0], -torch.inf)
    for step in range(comm.size):
        source = (comm.rank - step) % comm.size
        sending = []
        if step + 1 < comm.size:
            sending = [comm.isend(t, (comm.rank + 1) % comm.size) for t in (key, value)]
        scores = torch.einsum("hqd,hkd->hqk", query, key) * query.shape[-1] ** -0.5
        if places is not None:
            scores[:, places[comm.rank][:, None] < places[source]] = -torch.inf
        part, sums = torch.nan_to_num(scores.softmax(-1)) @ value, scores.logsumexp(-1)
        both = torch.logaddexp(log_sums, sums)
        old, new = ((each - both).exp()[..., None] for each in (log_sums, sums))
        mixed, log_sums = mixed * old + part * new, both
        if sending:
            key, value = (comm.recv((comm.rank - 1) % comm.size) for _ in range(2))
            for request in sending:
                request.wait()
    return mixed, log_sums


EXERCISE = Exercise(
    number="14.7",
    title="Attention in a ring",
    stars=3,
    minutes=25,
    points=5,
    function="ring_attention",
    asks=(
        "softmax(q kᵀ / √d) v of this rank's queries over the keys of all ranks, none of which is "
        "later, and the logarithm of each query's sum of exponentials; blocks of keys and values "
        "go round the ring."
    ),
    cases=cases,
    drive=on_sequence,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("everybody sends first", family.all_send, unfinished=True),
        Mistake("returns no pair", family.no_pair),
        Mistake("another shape", family.shapes),
        Mistake("no keys, no number", family.not_a_number),
        Mistake("changes what it is given", family.changed),
        Mistake("not to the right alone", family.not_to_the_right),
        Mistake("more than it takes", family.bytes_sent),
        Mistake("gathers first", family.gathers),
        Mistake("a receive left open", family.left_open),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=numbers,
    praise=praise,
    reference=reference,
    unseen={"between": "whether something is computed between one block and the next"},
    wrong=(
        WrongAnswer(
            "old sums stay",
            wrong.old_sums,
            "a block brought a larger score, and the sums from before still stand under the old "
            "maximum: multiply both, of weights and of values, by exp(old maximum − new one).",
        ),
        WrongAnswer(
            "old values stay",
            wrong.old_values,
            "the sum of weights is right, but the sum of values still stands under the old "
            "maximum: it takes the same factor exp(old maximum − new one) as the sum of weights.",
        ),
        WrongAnswer(
            "old weights stay",
            wrong.old_weights,
            "the sum of values is right, but the sum of weights still stands under the old "
            "maximum: it takes the same factor exp(old maximum − new one) as the sum of values.",
        ),
        WrongAnswer(
            "the factor upside down",
            wrong.upside_down,
            "the old sums were multiplied by exp(new maximum − old one): they have to become "
            "smaller where the maximum rises, by exp(old − new).",
        ),
        WrongAnswer(
            "a softmax for each block",
            wrong.mean_of_blocks,
            "each block got a softmax of its own, and the results were averaged: a block with "
            "small scores then counts as much as one with large ones. Divide once, at the end, by "
            "the sum over all blocks.",
        ),
        WrongAnswer(
            "softmaxes added",
            wrong.sum_of_blocks,
            "each block got a softmax of its own, and the results were added: their weights sum to "
            "{n}. Keep the sum of exponentials running, and divide by it once, at the end.",
        ),
        WrongAnswer(
            "not divided",
            wrong.not_divided,
            "the mixed values were never divided by the sum of the weights.",
        ),
        WrongAnswer(
            "no mask",
            wrong.no_mask,
            "queries see later keys: a score is −∞ where `places[source]`, the key's position, is "
            "larger than the query's, in `places[comm.rank]`.",
        ),
        WrongAnswer(
            "mask on the own block only",
            wrong.own_mask,
            "only the own block is masked; of those that arrive every key is seen, later ones "
            "too. Mask each block, by the positions of the rank that it came from.",
        ),
        WrongAnswer(
            "mask by the place in the block",
            wrong.triangle,
            "each block is masked by a triangle, as if key 0 of a block stood at query 0's "
            "position. Compare positions: rank 0 has {first}, …, of the sequence.",
        ),
        WrongAnswer(
            "earlier keys masked",
            wrong.turned,
            "the mask is turned round: queries see their own position and later ones, and not the "
            "earlier ones. Later keys are those with a larger position.",
        ),
        WrongAnswer(
            "the block's rank the wrong way",
            wrong.other_way,
            "in step s the block is taken for rank r + s's, but it has come from the left: it is "
            "rank r − s's, modulo {n}.",
        ),
        WrongAnswer(
            "masked with 0",
            wrong.zero_mask,
            "later keys got the score 0, which is a score like any other: exp(0) is 1. Give them "
            "−∞, for instance with `masked_fill`.",
        ),
        WrongAnswer(
            "no root",
            wrong.no_root,
            "the scores are q kᵀ, not divided by √d, which is {root} here.",
        ),
        WrongAnswer(
            "divided by d",
            wrong.by_width,
            "the scores are divided by d, not by its square root, {root}.",
        ),
        WrongAnswer(
            "without the last block",
            wrong.one_short,
            "the block that arrived last was not used: {n} blocks are worked on, and all but one "
            "of them arrive.",
        ),
        WrongAnswer(
            "its own block alone",
            wrong.own_only,
            "a rank works on its own block in every step: work on what has just arrived.",
        ),
        WrongAnswer(
            "passes its own block on",
            wrong.passes_own,
            "every rank sends its own block in every step, so that only neighbours' blocks arrive: "
            "pass on what arrived.",
        ),
        WrongAnswer(
            "keys for values",
            wrong.swapped,
            "the weights multiply keys where they should multiply values.",
        ),
        WrongAnswer(
            "the sum without the maximum",
            wrong.log_alone,
            "the mixed values are right, but the logarithms are those of sums under the maximum: "
            "log Σ exp(s) = maximum + log Σ exp(s − maximum).",
        ),
        WrongAnswer(
            "no logarithm",
            wrong.no_log,
            "the mixed values are right; of the sums their logarithm is asked, and not the sum "
            "under the maximum itself.",
        ),
        WrongAnswer(
            "the maximum for the logarithm",
            wrong.top_alone,
            "the mixed values are right, but the second result is the largest score: "
            "log Σ exp(s) = maximum + log Σ exp(s − maximum).",
        ),
        WrongAnswer("no maximum", wrong.no_maximum, hint="exp of a large score is infinite"),
        WrongAnswer("strictly earlier", wrong.strict, hint="not even its own"),
        WrongAnswer("the own block last", wrong.own_last, hint="Begin with the own block"),
        WrongAnswer("values alone", wrong.values_alone, hint="return the pair"),
        WrongAnswer("one more dimension", wrong.kept_dimension, hint="has the shape"),
        WrongAnswer("sums in place", wrong.in_place, hint="were written into"),
        WrongAnswer("to everybody", wrong.to_everybody, hint="to its right neighbour alone"),
        WrongAnswer("once round", wrong.all_round, hint="came back to the rank"),
        WrongAnswer("queries travel too", wrong.with_queries, hint="is longer than keys"),
        WrongAnswer(
            "gathers, then attends", wrong.gathers_first, hint="computed nothing in between"
        ),
        WrongAnswer("a receive too many", wrong.receives_more, hint="is left open"),
        WrongAnswer("no wait", wrong.no_wait, hint="without waiting for"),
        WrongAnswer("send before receive", wrong.blocking, hint="Nobody comes to receive"),
    ),
    figure=2,
)
