"""Exercise 14.8, tokens that go to experts on other ranks and come back to their places.

`to_experts(comm, x, choice, capacity, expert) -> rows`: x (tokens, width) are this rank's tokens,
choice (tokens) the rank of each token's expert, capacity how many a rank may send to one expert,
expert this rank's own: (rows, width) to (rows, width). The claim: the result is what the chosen
experts make of the tokens, each in its place, and 0 for those over the capacity, the last in order;
the gradients of x and of the experts' weights are those of one rank; float32 stays float32;
nothing but kept tokens that chose another rank travels, and back; nothing that was handed in is
written into. 23 wrong answers make this file long.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from helpers.checks.compare import all_close, close, count, describe, is_array, rounded, worlds
from helpers.checks.drives.calling import Function
from helpers.checks.drives.ranks import Ranked
from helpers.checks.drives.requests import OPEN, not_waited
from helpers.checks.drives.values import plain, tensors
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.sharding.algorithms.all_to_all import all_to_all, all_to_all_direct
from helpers.lessons.sharding.exercises.shared import (
    fails,
    first_changed,
    go_back,
    stay_away,
    told_by_all,
    watched,
    wrote_into,
)

WIDTH = 4


def kept_of(choice: np.ndarray, capacity: int, ranks: int) -> np.ndarray:
    """Which tokens go: for each expert the first `capacity` that chose it."""
    kept = np.zeros(len(choice), dtype=bool)
    for rank in range(ranks):
        kept[np.flatnonzero(choice == rank)[:capacity]] = True
    return kept


def dense_of(case: Case) -> Any:
    """Each rank's results, the gradients of its tokens, and of its expert's weight."""
    xs, weights = ([tensors(args[at]).requires_grad_() for args in case.args] for at in (0, 3))
    results = []
    for x, (_, choice, capacity, _, above) in zip(xs, case.args, strict=True):
        with torch.enable_grad():
            every = torch.stack([torch.tanh(x @ weight + BIAS) for weight in weights])
            kept = tensors(kept_of(choice, capacity, case.ranks))[:, None]
            results.append(every[tensors(choice), torch.arange(len(x))] * kept)
            results[-1].backward(tensors(above))
    return plain((results, [x.grad for x in xs], [weight.grad for weight in weights]))


def no_way_back(case: Case, seen: Observation) -> Iterator[str]:
    """Gradients that do not come to every token and expert, where the results are right."""
    _, of_x, of_weight = dense_of(case)
    if not right_results(case, seen):
        return
    for rank, value in enumerate(seen.values):
        for gave, want in ((value["x"], of_x[rank]), (value["weights"], of_weight[rank])):
            if gave is None and not np.any(want):
                continue
            got = np.zeros_like(want) if gave is None else gave
            off = ~np.isclose(got, want, 10 * near(case), near(case) / 100).all(-1)
            if not value["reached"] or (off.any() and not got[off].any()):
                yield (
                    f"the results are right, but not all gradients come back to rank {rank}'s "
                    "tokens or expert: messages by themselves are outside of autograd, and so is "
                    "what was detached. Let `all_to_all` carry them, which brings gradients back "
                    "the same way."
                )


def right_gradient(case: Case, gave: Any, want: Any) -> bool:
    """Whether a gradient is right; where it is 0 there need be none."""
    return close(gave, want, near(case)) or (gave is None and not np.any(want))


def right_results(case: Case, seen: Observation) -> bool:
    """Whether every rank's result is right: only then what else it did is what is wrong."""
    return all_close([value["out"] for value in seen.values], dense_of(case)[0], near(case))


def near(case: Case) -> float:
    """How close results have to be."""
    return 1e-5 if case.args[0][0].dtype == np.float32 else 1e-10


BIAS = 0.3  # an expert makes something of a row of zeros as well


@partial(Ranked, arguments=5)
def on_tokens(
    fn: Function, comm: Any, x: Tensor, choice: Tensor, capacity: int, weight: Tensor, above: Tensor
) -> Any:
    """`fn(comm, x, choice, capacity, expert)`, and backward of its sum times `above`.

    The expert makes tanh(rows · weight + `BIAS`) of rows. `values[rank]`: out; reached, whether
    there is a way back from it; x and weights, the gradients of both; rows, how many the expert was
    given, in each call; forward and backward, the bytes sent in each; changed, whether x or choice
    was written into; open, the messages that nobody waited for.
    """
    before, rows = (x.clone(), choice.clone()), list[int]()
    x.requires_grad_()
    weight.requires_grad_()

    def expert(given: Tensor) -> Tensor:
        # Not without end: who calls it may be a stranger.
        if len(rows) == 50:
            raise RuntimeError("The expert ran 50 times already.")
        if given.dim() != 2 or given.shape[1] != len(weight):
            shape = tuple(given.shape)
            raise ValueError(f"An expert takes (tokens, {len(weight)}), not {shape}.")
        rows.append(len(given))
        return torch.tanh(given @ weight + BIAS)

    out, forward, still = watched(comm, lambda: fn(comm, x, choice, capacity, expert))
    reached, backward, more = go_back(comm, out, above)
    return {
        "out": out,
        "reached": reached,
        "x": x.grad,
        "weights": weight.grad,
        "rows": rows,
        "forward": forward,
        "backward": backward,
        "changed": first_changed((x, choice), before),
        OPEN: still + more,
    }


def cases(seed: int) -> list[Case]:
    """Seed 0: 3 ranks with 8, 7 and 9 tokens and a capacity of 2, one that nobody reaches on 2
    ranks, in float32, a rank without tokens, all for one, one rank alone, 5 ranks, no capacity."""
    random, made = rng(seed, "14.8"), []
    alone, one, single = ", one without tokens", ", all for one expert", " in float32"
    settings = [(3, (8, 7, 9), 2, ""), (2, (5, 4), 9, single), (3, (6, 0, 5), 2, alone)]
    settings += [(3, (4, 5, 3), 3, one), (1, (5,), 3, ""), (5, (4, 7, 5, 3, 6), 2, "")]
    for n, tokens, capacity, what in [*settings, (2, (3, 4), 0, "")]:
        more = int(random.integers(0, 4)) if seed else 0
        held = [t + more if t else 0 for t in tokens]
        args = []
        for rank, here in enumerate(held):
            # The own expert and the next one's are chosen by more than go, where there are tokens.
            others = np.resize((np.arange(n) + rank + 2) % n, max(here - 6, 0))
            crowded = np.repeat([rank, (rank + 1) % n], 3)[:here]
            choice = random.permutation(np.concatenate([crowded, others]))
            if "one expert" in what:
                choice[:] = n - 1
            sizes = [(here, WIDTH), (WIDTH, WIDTH), (here, WIDTH)]
            kind = np.float32 if what == single else np.float64
            x, weight, above = (random.standard_normal(size).astype(kind) for size in sizes)
            args.append((x, choice, capacity, weight, above))
        name = f"On {count(n, 'rank')} with a capacity of {capacity}{what}"
        made.append(Case(name, tuple(args), n))
    return made


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """Each token's result in its place, few bytes, gradients, nothing changed."""
    yield from shapes(case, seen)
    results, of_x, of_weight = dense_of(case)
    for rank, (value, want) in enumerate(zip(seen.values, results, strict=True)):
        if close(value["out"], want, near(case)):
            if value["out"].dtype != want.dtype:
                yield f"rank {rank} returned {value['out'].dtype} for tokens of {want.dtype}."
            continue
        _, choice, capacity, *_ = case.args[rank]
        few = 10 * near(case)
        off = np.flatnonzero(~np.isclose(value["out"], want, few, few).all(1))
        token = int(off[0]) if len(off) else 0
        kept = kept_of(choice, capacity, case.ranks)[token]
        told = f"what expert {choice[token]} makes of it" if kept else "0, for it is dropped"
        why = rounded([value["out"]], [want])
        yield f"rank {rank}'s token {token} has to become {told}, and does not{why}."
    for look in (changed, bytes_sent, no_way_back):
        yield from look(case, seen)
    for rank, value in enumerate(seen.values):
        if not right_gradient(case, value["x"], of_x[rank]):
            yield f"the gradient of rank {rank}'s tokens is not that of one rank."
        if not right_gradient(case, value["weights"], of_weight[rank]):
            yield (
                f"the gradient of rank {rank}'s expert is not that of one rank, whose expert sees "
                "every token that chose it."
            )
    yield from more_rows(case, seen)
    yield not_waited(case, seen)


def shapes(case: Case, seen: Observation) -> Iterator[str]:
    """Results of another shape."""
    for rank, (value, args) in enumerate(zip(seen.values, case.args, strict=True)):
        out, shape = value["out"], args[0].shape
        if not is_array(out, shape):
            got = f"of shape {out.shape}" if is_array(out) else describe(out)
            yield (
                f"rank {rank} returned a result {got} for tokens of shape {shape}: `to_experts` "
                "gives as many rows as it is given, 0 in those of dropped tokens."
            )


changed = wrote_into("`x` or `choice` was written into: put the answers into a new tensor.")
stays_away = stay_away(
    "the others wait for {away}, which did not come: an all-to-all takes every rank, also one that "
    "has nothing to send. Its parts have no rows then. So it is in backward: where a rank's result "
    "is not made of what came back, its gradients go nowhere, and the others wait for them."
)
sends_itself = fails(
    "rank {rank} sends to itself, and waits for ever: its own part does not travel, `all_to_all` "
    "leaves it where it is.",
    "itself",
)


def bytes_sent(case: Case, seen: Observation) -> Iterator[str]:
    """Other bytes in forward than those of the tokens that have to travel, there and back, where
    the results are right."""
    if not right_results(case, seen):
        return
    went = np.zeros((case.ranks, case.ranks), dtype=int)
    for rank, (x, choice, capacity, *_) in enumerate(case.args):
        kept = kept_of(choice, capacity, case.ranks)
        for to in range(case.ranks):
            went[rank, to] = np.sum(kept & (choice == to)) * x[:1].nbytes if to != rank else 0
    for rank, want in enumerate((went.sum(0) + went.sum(1)).tolist()):
        sent = seen.values[rank]["forward"]
        more = (
            "every kept token that chose another rank goes there as it is, and its answer comes "
            "back"
            if sent < want
            else "nothing else has to travel, neither dropped tokens nor rows that fill up, nor "
            "numbers of rows, which a message tells by its shape, nor wider numbers"
        )
        if sent != want:
            yield (
                f"rank {rank} sent {sent} B in forward, and its tokens for others and its answers "
                f"have {want} B: {more}."
            )
        if seen.bytes[rank] > 2 * want:
            yield f"rank {rank} sent {seen.bytes[rank]} B; {want} B there, and as many back, do."


def more_rows(case: Case, seen: Observation) -> Iterator[str]:
    """An expert that works on more rows than came for it, where the results are right."""
    if not right_results(case, seen):
        return
    kept = [args[1][kept_of(args[1], args[2], case.ranks)] for args in case.args]
    arrivals = np.bincount(np.concatenate(kept).astype(int), minlength=case.ranks).tolist()
    for rank, (value, want) in enumerate(zip(seen.values, arrivals, strict=True)):
        if sum(value["rows"]) != want:
            yield (
                f"rank {rank}'s expert worked on {sum(value['rows'])} rows, and "
                f"{count(want, 'token')} came for it: it has much to do, so give it no others."
            )


def compared(case: Case, seen: Observation) -> Any:
    """The results; where all are right, the gradients."""
    if not right_results(case, seen):
        return [value["out"] for value in seen.values]
    return [(value["x"], value["weights"], value["forward"]) for value in seen.values]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, most = max(zip(cases, seen, strict=True), key=lambda pair: pair[0].ranks)
    tokens = sum(len(args[0]) for args in case.args)
    kept = sum(int(kept_of(args[1], args[2], case.ranks).sum()) for args in case.args)
    return (
        f"Passed on {worlds(cases)}, gradients as well. On {case.ranks} ranks {kept} of {tokens} "
        f"tokens were kept, and {sum(v['forward'] for v in most.values)} B travelled in forward: "
        "the tokens that chose another rank, there and back."
    )


def reference(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    """Ranks' tokens by a mask and a running count; the expert sees each rank's rows apart."""
    chosen = choice[:, None] == torch.arange(comm.size)
    place = (chosen.cumsum(0) - 1)[torch.arange(len(x)), choice]
    rows = [
        torch.nonzero(chosen[:, rank] & (place < capacity)).flatten() for rank in range(comm.size)
    ]
    arrived = all_to_all(comm, [x.index_select(0, held) for held in rows], all_to_all_direct)
    answers = all_to_all(comm, [expert(part) for part in arrived], all_to_all_direct)
    result = torch.zeros_like(x)
    for held, answer in zip(rows, answers, strict=True):
        result = result.index_add(0, held, answer)
    return result


def returns_early(comm: Any, x: Any, choice: Any, capacity: int, expert: Any) -> Any:
    return reference(comm, x, choice, capacity, expert) if len(x) else x


def with_choices(comm: Any, parts: list[Any], exchange: Any) -> list[Any]:
    """An all-to-all in which a column with the chosen rank travels with each token."""
    wider = [torch.cat([part, 0 * part[:, :1] + rank], 1) for rank, part in enumerate(parts)]
    return [part[:, :-1] for part in all_to_all(comm, wider, exchange)]


WRONG = """
in the order of arrival
    | return result => made = torch.cat(answers);
        return torch.cat([made, made.new_zeros(len(x) - len(made), x.shape[1])])
    the results stand one behind the other, those of rank 0's expert first, and not in their tokens'
    places: keep which rows went where, and put each answer back there.
the last are kept
    | (chosen.cumsum(0) - 1) => (chosen.sum(0) - chosen.cumsum(0))
    of the tokens for one expert the last {capacity} went: the first in order go, and those that
    come later are dropped.
one too many
    | place < capacity => place <= capacity
    {capacity} tokens may go to one expert, and one more went.
one too few
    | (place < capacity)).flatten() => True).flatten()[: capacity - 1]
    {capacity} tokens may go to one expert, and only {capacity} − 1 went.
a capacity for all experts together
    | place < capacity => torch.arange(len(x)) < capacity
    a rank kept {capacity} tokens in all: the capacity holds for each expert by itself.
the expert drops
    | place < capacity => True
    | answers = => every = torch.cat(arrived);
        made = torch.cat([expert(every[:capacity]), 0 * every[capacity:]]); answers =
    | [expert(part) for part in arrived] => list(made.split([len(part) for part in arrived]))
    the capacity was kept where tokens arrive: it is how many this rank may send to an expert, each
    rank for itself, and the others stay at home.
no capacity
    | place < capacity => True
    no token was dropped: of those for one expert the first {capacity} go.
the dropped stay as they are
    | torch.zeros_like(x) => x.index_fill(0, torch.cat(rows), 0)
    dropped tokens came back as they were: their result is 0. A block adds its input anyway.
the own without its expert
    | expert(part) for part in arrived
        => expert(part) if rank != comm.rank else part for rank, part in enumerate(arrived)
    tokens that chose the rank that they are on were given back as they were: they do not travel,
    but the expert works on them too.
the own for free
    | (place < capacity) => ((place < capacity) | (rank == comm.rank))
    tokens that chose the rank that they are on were not counted: the capacity holds for the own
    expert as for any other.
nobody travels
    | arrived = all_to_all(comm, => arrived = (
    | answers = all_to_all(comm, => answers = (
    | , all_to_all_direct) *=> )
    every token was worked on by the expert of its own rank: send it to the rank that it chose.
no expert
    | expert(part) for => part for
    tokens went and came back, but no expert worked on them.
the expert twice
    | index_add(0, held, answer) => index_add(0, held, expert(answer))
    the expert worked on the answers once more when they were back, and it is another one: the
    chosen expert has done all there is to do.
kept tokens alone
    | return result => return result.index_select(0, torch.cat(rows).sort().values)
    ? gives as many rows as it is given
padded to the capacity
    | [x.index_select(0, held) for held in rows]
        => [torch.cat([x[held], x.new_zeros(capacity - len(held), x.shape[1])]) for held in rows]
    | index_add(0, held, answer) => index_add(0, held, answer[: len(held)])
    every part was filled up to {capacity} rows, and the filling travels too: send the tokens that
    there are, which may be none; a message tells how many.
everything to everybody
    | x.index_select(0, held) for held in rows => 1 * x for held in rows
    | index_add(0, held, answer) => index_add(0, held, answer[held])
    every token went to every rank, and back: send it to the one that it chose.
choices travel too
    | arrived = all_to_all( => arrived = with_choices(
    | answers = all_to_all( => answers = with_choices(
    a column more travels with the tokens: who gets one knows that it chose this rank, and who sent
    it knows its place.
by hand
    | arrived = all_to_all( => arrived = all_to_all_direct(
    | answers = all_to_all( => answers = all_to_all_direct(
    | , all_to_all_direct) *=> )
    the results are right, but gradients come back only from a rank's own expert: a message that you
    send yourself is unknown to autograd. Let `all_to_all` carry the tokens, which brings their
    gradients back the same way.
counts travel too
    | arrived = => all_to_all_direct(comm, list(chosen.sum(0).to(x)[:, None])); arrived =
    ? nothing else has to travel
detached
    | x.index_select => x.detach().index_select
    ? outside of autograd
filled up at the expert
    | expert(part) for => expert(torch.cat([part, x.new_zeros(capacity, x.shape[1])])[:capacity])[
        : len(part)] for
    ? give it no others
in place
    | return result => choice.zero_(); return result
    ? was written into
without tokens it returns
    = returns_early
    ? nothing to send
to itself as well
    | arrived = => comm.send(x.detach(), comm.rank); arrived =
    ? its own part
no wait
    | return result => told_by_all(comm, x[:0]); return result
    ? without waiting for
"""

EXERCISE = Exercise(
    number="14.8",
    title="To the experts and back",
    size=Size(stars=3, minutes=20, points=4),
    function="to_experts",
    asks=(
        "what the chosen expert makes of each token, in the token's place, and 0 for tokens over "
        "the capacity; nothing but tokens that chose another rank travels."
    ),
    cases=cases,
    drive=on_tokens,
    claim=claim,
    compared=compared,
    mistakes=(
        Mistake("stays away", stays_away, unfinished=True),
        Mistake("a part for itself", sends_itself, unfinished=True),
        Mistake("other rows", shapes),
        Mistake("changes what it is given", changed),
        Mistake("more than the tokens", bytes_sent),
        Mistake("no way back", no_way_back),
        Mistake("more rows", more_rows),
        Mistake("messages not waited for", not_waited),
    ),
    numbers=lambda case, seen: {"capacity": case.args[0][2]},
    praise=praise,
    reference=reference,
    wrong=wrong_answers("14.8", WRONG, (reference, told_by_all), returns_early),
    figure=0,
)
