"""Exercise 14.7, attention over keys and values that go round a ring.

`ring_attention(comm, query, key, value, places) -> (mixed, log_sums)`: query, key and value (heads,
here, d) are those of this rank's positions, `places[rank]`; None for places that mask nothing. The
claim: the mixed values and the logarithm of each query's sum of exponentials are those of attention
in one piece to 1e-10 in float64, for scores of any size; a rank sends to its right neighbour alone,
every block but that neighbour's own, and waits for all that it began to receive; and in the
learner's process, where it can be seen, something is computed between one block and the next, the
first are let go before the last comes, and what is on its way stays as it is. 34 wrong answers make
this file long.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from helpers.checks.compare import (
    all_close,
    close,
    count,
    in_single_precision,
    is_array,
    listing,
    worlds,
)
from helpers.checks.drives.requests import not_waited
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.sharding.algorithms.ring_attention import _scores, _with_more, ring_attention
from helpers.lessons.sharding.exercises import ring_messages as messages
from helpers.lessons.sharding.exercises.shared import no_pair, returned, told_by_all, wrote_into

HEADS, WIDTH = 2, 3


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 6 positions in parts, 2 ranks without a mask, then positions that are
    dealt out in turn, large scores, one rank alone, 5 ranks with positions that lie anywhere, and
    wider, the last with a large value; ranks with one position, in float32. Other seeds: other
    lengths and values."""
    random, made = rng(seed, "14.7"), []
    settings = [(3, "parts", 0), (2, "all", 0), (3, "turns", 0), (3, "turns", 400), (1, "parts", 0)]
    for n, kind, offset in [*settings, (5, "anywhere", 0), (3, "few", 0)]:
        more = int(random.integers(0, 6)) if seed else 0
        # Parts of one length first: another rank's mask then fits, and shows in the numbers.
        length = 6 + 3 * more if kind == "parts" and n == 3 else {1: 4, 2: 5, 3: 7, 5: 13}[n] + more
        length, width = 4 if kind == "few" else length, WIDTH + (n == 5)
        query, key, value = (random.standard_normal((HEADS, length, width)) for _ in range(3))
        if kind == "anywhere":
            value[:, -1] *= 1e6  # a weight that is small where it should be 0 shows
        if offset:
            # One direction in which queries and keys are long: scores around 1150 and −1150 in
            # turn, and for the other head the other way round: some see nothing but −1150.
            query[..., 0] = offset * np.resize([1.0, -1.0], HEADS)[:, None]
            key[..., 0] = 5 * np.resize([1.0, -1.0], length) + key[..., 0] / 100
        places = [np.arange(length)[rank::n] for rank in range(n)]  # in turn
        if kind == "anywhere":
            places = [np.sort(each) for each in np.array_split(random.permutation(length), n)]
        elif kind != "turns":
            places = [np.arange(r * length // n, (r + 1) * length // n) for r in range(n)]
        single = np.float32 if kind == "few" else np.float64
        masked = None if kind == "all" else places
        args = tuple(
            (*(t[:, p].astype(single) for t in (query, key, value)), masked) for p in places
        )
        where = {"parts": "", "all": ", without a mask", "turns": " dealt out in turn"}
        where |= {"anywhere": " in any order", "few": ", in float32"}
        name = f"On {count(n, 'rank')} with {length} positions{where[kind]}"
        name += ", large scores" if offset else ""
        near = 1e-5 if kind == "few" else 1e-10
        facts = {"places": places, "large": bool(offset), "near": near}
        made.append(Case(name, args, n, facts=facts))
    return made


def dense_of(case: Case) -> tuple[list[Any], list[Any]]:
    """Each rank's mixed values and logarithms of sums, by attention in one piece."""
    every = zip(*(tensors(args[:3]) for args in case.args), strict=True)
    query, key, value = (torch.cat(parts, 1) for parts in every)
    order = torch.from_numpy(np.concatenate(case.facts["places"]))
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if case.args[0][3] is not None:
        scores[:, order > order[:, None]] = -torch.inf
    sizes = list(map(len, case.facts["places"]))
    mixed, log_sums = scores.softmax(-1) @ value, scores.logsumexp(-1)
    return plain(list(mixed.split(sizes, 1))), plain(list(log_sums.split(sizes, 1)))


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Both results on every rank; to the right alone, and no more than it takes."""
    for which, what in enumerate(("mixed values", "logarithms of the sums")):
        for rank, want in enumerate(dense_of(case)[which]):
            gave = returned(seen.values[rank])[which]
            if not close(gave, want, case.facts["near"]):
                why = " They agree to seven digits and no further: was something float32 on the "
                why += "way, as `torch.zeros(…)` is, or a small number added, or is the weight of "
                why += "a later key not quite 0?"
                why = why if in_single_precision([gave], [want]) else ""
                yield f"rank {rank}'s {what} are not those of attention in one piece.{why}"
            elif gave.dtype != want.dtype:
                yield f"rank {rank}'s {what} are {gave.dtype} where queries are {want.dtype}."
    yield from changed(case, seen)
    yield from messages.not_to_the_right(case, seen)
    yield from messages.bytes_sent(case, seen)
    yield from gathers(case, seen)
    yield from messages.flying(case, seen)
    yield from messages.left_open(case, seen)
    yield not_waited(case, seen)


def shapes(case: Case, seen: Observation) -> Iterator[str]:
    """Results of other shapes."""
    for rank, value in enumerate(seen.values):
        for at, (gave, want) in enumerate(zip(returned(value), dense_of(case), strict=True)):
            shape = want[rank].shape
            if is_array(gave) and gave.shape != shape:
                yield (
                    f"the {('first', 'second')[at]} result of rank {rank} has the shape "
                    f"{gave.shape}: a result for each head and query of this rank is {shape}."
                )


def not_a_number(case: Case, seen: Observation) -> Iterator[str]:
    """NaN or infinity: too large scores, queries without a key, or a block without a key first."""
    for rank, value in enumerate(seen.values):
        mixed, log_sums = returned(value)
        finite = np.isfinite(np.concatenate([mixed, log_sums[..., None]], -1)).all((0, 2))
        if finite.all():
            continue
        if case.facts["large"]:
            yield (
                f"rank {rank}'s results are not finite: exp of a large score is infinite, and of "
                "one far below what was subtracted it is 0. Subtract the largest score that this "
                "query of this head sees, from −∞ on, and when a block brings a larger one, make "
                "the old sums smaller."
            )
        bad = case.facts["places"][rank][~finite].tolist()
        if bad == [0]:
            yield (
                "the result at position 0 is not finite: that query sees no key at all, not even "
                "its own. Mask keys that are later (>), not those at the same place."
            )
        yield (
            f"rank {rank}'s results at positions {listing(bad[:4])} are not finite: where a query "
            "sees no key of a block, its largest score is −∞, and neither −∞ − (−∞) nor a softmax "
            "over nothing is a number. Begin with the own block, where every query sees itself, "
            "and keep the maximum running; and is the mask that of the rank from which the block "
            "has come?"
        )


changed = wrote_into(
    "queries, keys, values or places that were handed in were written into: work on new tensors."
)


def gathers(case: Case, seen: Observation) -> Iterator[str]:
    """As `messages.gathers`, where the results are right."""
    gave = zip(*map(returned, seen.values), strict=True)
    if all(all_close(g, w, case.facts["near"]) for g, w in zip(gave, dense_of(case), strict=True)):
        yield from messages.gathers(case, seen)


def compared(case: Case, seen: Observation) -> Any:
    """The mixed values where one is wrong, else the logarithms."""
    gave = [returned(value) for value in seen.values]
    right = all_close([mixed for mixed, _ in gave], dense_of(case)[0], case.facts["near"])
    return [pair[1 if right else 0] for pair in gave]


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


def all_blocks(comm: Any, block: Any) -> list[Any]:
    """Every rank's block, the own first, then those from the left."""
    blocks = [block]
    for _ in range(1, comm.size):
        sending = comm.isend(blocks[-1], (comm.rank + 1) % comm.size)
        blocks.append(comm.recv((comm.rank - 1) % comm.size))
        sending.wait()
    return blocks


# Patches are those of an answer that sends a block in one message.
WRONG = """
old sums stay
    | (top - higher).exp() => torch.ones_like(top)
    a block brought a larger score, and the sums from before still stand under the old maximum:
    multiply both, of weights and of values, by exp(old maximum − new one).
old values stay
    | mixed * shrunk[..., None] => mixed
    the sum of weights is right, but the sum of values still stands under the old maximum: it takes
    the same factor exp(old maximum − new one) as the sum of weights.
old weights stay
    | total * shrunk => total
    the sum of values is right, but the sum of weights still stands under the old maximum: it takes
    the same factor exp(old maximum − new one) as the sum of values.
the factor upside down
    | (top - higher).exp() => (higher - top).exp().where(top.isfinite(), 1)
    the old sums were multiplied by exp(new maximum − old one): they have to become smaller where
    the maximum rises, by exp(old − new).
a softmax for each block
    | mixed * shrunk[..., None] + weights @ value => mixed + scores.softmax(-1).nan_to_num() @ value
    | mixed / total[..., None] => mixed / comm.size
    each block got a softmax of its own, and the results were averaged: a block with small scores
    then counts as much as one with large ones. Divide once, at the end, by the sum over all blocks.
softmaxes added
    | mixed * shrunk[..., None] + weights @ value => mixed + scores.softmax(-1).nan_to_num() @ value
    | mixed / total[..., None] => mixed
    each block got a softmax of its own, and the results were added: their weights sum to {n}. Keep
    the sum of exponentials running, and divide by it once, at the end.
not divided
    | mixed / total[..., None] => mixed
    the mixed values were never divided by the sum of the weights.
no mask
    | if places is None: => if True:
    queries see later keys: a score is −∞ where `places[source]`, the key's position, is larger than
    the query's, in `places[comm.rank]`.
mask on the own block only
    | if places is None: => if places is None or source != rank:
    only the own block is masked; of those that arrive every key is seen, later ones too. Mask each
    block, by the positions of the rank that it came from.
mask by the place in the block
    | places[source][None, :] > places[rank][:, None] => torch.ones_like(scores).triu(1).bool()
    each block is masked by a triangle, as if key 0 of a block stood at query 0's position. Compare
    positions: rank 0 has {first}, …, of the sequence.
earlier keys masked
    | [None, :] > places => [None, :] < places
    the mask is turned round: queries see their own position and later ones, and not the earlier
    ones. Later keys are those with a larger position.
the block's rank the wrong way
    | (comm.rank - step) => (comm.rank + step)
    in step s the block is taken for rank r + s's, but it has come from the left: it is rank r −
    s's, modulo {n}.
masked with 0
    | scores.masked_fill(later.to(scores.device), -math.inf) => scores * ~later
    later keys got some number for a score, such as 0, which counts as any other does where the
    others are lower. Give them −∞, for instance with `masked_fill`.
no root
    | / math.sqrt(query.shape[-1]) =>
    the scores are q kᵀ, not divided by √d, which is √3 here.
divided by d
    | math.sqrt(query.shape[-1]) => query.shape[-1]
    the scores are divided by d, not by its square root, √3.
without the last block
    | step in range(comm.size) => step in range(comm.size - 1)
    the block that arrived last was not used: {n} blocks are worked on, and all but one of them
    arrive.
its own block alone
    | query, block[0] => query, key
    | scores, block[1] => scores, value
    a rank works on its own block in every step: work on what has just arrived.
passes its own block on
    | isend(block, right) => isend(torch.stack([key, value]), right)
    every rank sends its own block in every step, so that only neighbours' blocks arrive: pass on
    what arrived.
keys for values
    | scores, block[1] => scores, block[0]
    the weights multiply keys where they should multiply values.
the sum without the maximum
    | top + total.log() => total.log()
    the mixed values are right, but the logarithms are those of sums under the maximum:
    log Σ exp(s) = maximum + log Σ exp(s − maximum).
no logarithm
    | top + total.log() => total
    the mixed values are right; of the sums their logarithm is asked, and not the sum under the
    maximum itself.
the maximum for the logarithm
    | top + total.log() => top
    the mixed values are right, but the second result is the largest score: log Σ exp(s) = maximum +
    log Σ exp(s − maximum).
no maximum
    | torch.maximum(top, scores.amax(-1)) => torch.zeros_like(top)
    ? exp of a large score is infinite
strictly earlier
    | [None, :] > places => [None, :] >= places
    ? not even its own
the own block last
    | arrived = comm.recv(left) => arrived = block
    | comm.isend(block, right) => comm.isend(block, right);
        block = torch.stack([key, value]) if last else comm.recv(left)
    | (comm.rank - step) => (comm.rank - step - 1)
    ? Begin with the own block
values alone
    | , top + total.log() =>
    ? return the pair
one more dimension
    | top + total.log() => (top + total.log())[..., None]
    ? has the shape
sums in place
    | return mixed / => query *= query.shape[-1] ** -0.5; return mixed /
    ? were written into
to everybody
    | top, total = query => blocks = told_by_all(comm, block, waits=True); top, total = query
    | last = step == comm.size - 1 => block = blocks[(comm.rank - step) % comm.size]
    | None if last else comm.isend(block, right) => None
    ? to its right neighbour alone
once round
    | last = step == comm.size - 1 => last = comm.size == 1
    ? came back to the rank
queries travel too
    | torch.stack([key, value]) => torch.stack([key, value, query])
    ? is longer than keys
gathers, then attends
    | top, total = query => blocks = all_blocks(comm, block); top, total = query
    | last = step == comm.size - 1 => block = blocks[step]
    | None if last else comm.isend(block, right) => None
    ? computed nothing in between
keeps all blocks
    | top, total = query => seen = []; top, total = query
    | comm.isend(block, right) => comm.isend(block, right); seen.append(block)
    ? still held all
scales what is on its way
    | query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
        => query @ key.div_(math.sqrt(query.shape[-1])).transpose(-1, -2)
    ? what is on its way may change
a receive too many
    | top, total = query => coming = [comm.irecv(left) for _ in range(comm.size * (comm.size > 1))];
        top, total = query
    | comm.recv(left) => coming.pop(0).wait()
    ? is left open
no wait
    | comm.recv(left) sending.wait() => comm.recv(left)
    ? without waiting for
send before receive
    | comm.isend(block, right) => comm.send(block, right)
    ? Nobody comes to receive
"""

EXERCISE = Exercise(
    number="14.7",
    title="Attention in a ring",
    size=Size(stars=3, minutes=25, points=5),
    function="ring_attention",
    asks=(
        "softmax(q kᵀ / √d) v of this rank's queries over the keys of all ranks, none of which is "
        "later, and the logarithm of each query's sum of exponentials; blocks of keys and values "
        "go round the ring."
    ),
    cases=cases,
    drive=messages.on_sequence,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("everybody sends first", messages.all_send, unfinished=True),
        Mistake("returns no pair", no_pair("(mixed, log_sums)")),
        Mistake("another shape", shapes),
        Mistake("no keys, no number", not_a_number),
        Mistake("changes what it is given", changed),
        Mistake("not to the right alone", messages.not_to_the_right),
        Mistake("more than it takes", messages.bytes_sent),
        Mistake("gathers first", gathers),
        Mistake("changes what is on its way", messages.flying),
        Mistake("a receive left open", messages.left_open),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=lambda case, seen: {"n": case.ranks, "first": listing(case.facts["places"][0][:3])},
    praise=praise,
    reference=reference,
    wrong=wrong_answers(
        "14.7", WRONG, (ring_attention, _with_more, _scores, told_by_all, all_blocks)
    ),
    figure=2,
)
