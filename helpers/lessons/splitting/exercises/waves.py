"""Exercise 12.5, the wave: recurrent layers on several ranks at work at once.

`wave(comm, layer, inputs, chunks)`: layer(x, state) -> (out, state) is what this rank holds, x
(steps, rows, width), state None at the start, then what the layer gave, (h, c) as an LSTM's, or h
alone, as an RNN's. Rank 0 has the inputs, the last rank returns the outputs of all steps. The
claim: equal to one layer after the other on one device, and on the clock in (m + p − 1)/m of one
rank's time, with m messages a rank: one for each chunk. On 5 ranks a message takes nearly as long
as a chunk. The file is long because a wave may stand still, fail or come late in eleven ways, each
with a look of its own.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch

from helpers.checks.common import WORLDS, self_hint
from helpers.checks.compare import close, count, describe, is_array, listing, rounded, worlds
from helpers.checks.drives.requests import changed, not_waited
from helpers.checks.spec import Case, Exercise, Mistake, Observation, Size, rng
from helpers.checks.table import wrong_answers
from helpers.lessons.splitting.exercises.recurrent_layers import SECONDS, on_wave

_TOLERANCE = 1e-12
# Steps, and chunks that do not divide them. Pieces of ⌈steps/m⌉, as torch.chunk cuts, are fewer
# than m of 9.
_SIZES = {1: (9, 4), 2: (9, 4), 3: (22, 5), 5: (33, 6)}


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks with chunks that differ by a step; other seeds other sizes.

    On 2 ranks the layers are as an RNN's, elsewhere as an LSTM's.
    """
    random, made = rng(seed, "12.5"), []
    for ranks in WORLDS:
        steps, chunks = _SIZES[ranks]
        if seed:
            chunks = int(random.integers(4, 7))
            steps = chunks * int(random.integers(4, 7)) + int(random.integers(2, chunks))
            steps = 2 * chunks + 1 if ranks == 2 else steps
        inputs = random.standard_normal((steps, 2, 3))
        weights = random.uniform(0.4, 0.9, (ranks, 2)).tolist()
        plain = ranks == 2
        args = tuple((*w, plain, None if r else inputs, chunks) for r, w in enumerate(weights))
        facts = {"chunks": chunks, "steps": steps}
        name = f"On {count(ranks, 'rank')} with {steps} steps in {chunks} chunks"
        name += " and states of one tensor" if plain else ""
        clock = {"latency": 3 * SECONDS if ranks == 5 else 1e-6, "bandwidth": 1e9}
        made.append(Case(name, args, ranks, clock, facts))
    return made


def _outputs(case: Case) -> np.ndarray:
    """The outputs of the last layer."""
    x = case.args[0][3]
    for inward, onward, plain, *_ in case.args:
        hidden, cell, outputs = np.zeros_like(x[0]), np.zeros_like(x[0]), []
        for step in x:
            cell = inward * step + onward * (hidden if plain else (cell + hidden) / 2)
            hidden = np.tanh(cell)
            outputs.append(hidden)
        x = np.stack(outputs)
    return np.asarray(x)


def _wanted(case: Case) -> list[int]:
    """The steps of each chunk."""
    steps, m = case.facts["steps"], case.facts["chunks"]
    return [(k + 1) * steps // m - k * steps // m for k in range(m)]


def _sizes(seen: Observation) -> list[int]:
    """The steps of rank 0's turns, in order."""
    mine = [e for e in seen.events if e.rank == 0 and e.kind == "computing"]
    return [round((e.end - e.start) / SECONDS) for e in mine]


def _right(case: Case, seen: Observation) -> bool:
    return close(seen.values[-1], _outputs(case), _TOLERANCE)


def _late(case: Case, seen: Observation) -> str:
    """By how much right outputs come late; "" where they are in time, or wrong.

    A wave is m + p − 1 turns of the longest chunk, p − 1 messages, and something for bytes.
    """
    turns = (case.facts["chunks"] + case.ranks - 1) * max(_wanted(case)) * SECONDS
    needed = (turns + (case.ranks - 1) * case.options["latency"]) * 1.02
    if not _right(case, seen) or max(seen.seconds) <= needed:
        return ""
    took = max(seen.seconds) * 1e3
    return f"it took {took:.5g} ms and a wave takes {needed * 1e3:.5g} ms"


INPUTS = "rank 0's `inputs` are not what they were: you wrote into them. Work on a new tensor."


def claim(case: Case, seen: Observation) -> Iterator[str | None]:
    """The values on the last rank, in m + p − 1 turns, in m messages a rank, all waited for."""
    yield not_waited(case, seen)
    if changed(seen.values[0]) is not None:
        yield INPUTS
    got, want = seen.values[-1], _outputs(case)
    if not is_array(got, want.shape):
        yield (
            f"the last rank returned {describe(got)}; it should be the outputs of all steps, a "
            f"tensor of shape {want.shape}."
        )
    if not close(got, want, _TOLERANCE):
        why = rounded([got], [want])
        yield f"the outputs are not those of one layer after the other{why}."
    for rank, value in enumerate(seen.values[:-1]):
        if value is not None:
            yield f"rank {rank} returned {describe(value)}; only the last rank does."
    yield _uneven(case, seen)
    yield _held_up(case, seen)
    most = case.facts["chunks"]
    for rank, sent in enumerate(seen.messages):
        last = rank == case.ranks - 1
        if sent != (0 if last else most):
            asked = "nobody comes after it" if last else f"{most} were asked for, one a chunk"
            yield f"rank {rank} sent {count(sent, 'message')}; {asked}."


def _from_nobody(case: Case, seen: Observation) -> str | None:
    words = seen.waiting.get(0, "")
    if "receive" not in words or len(seen.waiting) < case.ranks:
        return None
    return (
        f"rank 0 {words}: the first rank has the inputs and receives from nobody. Cut them into "
        "chunks there."
    )


def _no_such_rank(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "but the ranks are 0 to" not in seen.text:
        return None
    who, what = "rank 0 asks for a rank before", "has the inputs and cuts"
    if f"rank {case.ranks}," in seen.text:
        who, what = f"rank {case.ranks - 1} asks for a rank after", "keeps its outputs and returns"
    return f"{who} it, and there is none: it {what} them itself."


def _no_state(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "as its state" not in seen.text:
        return None
    who = f"rank {seen.rank}"
    if "at its first call" in seen.text:
        return f"{who} made up a state for its first chunk: none is there yet: give `layer` None."
    return (
        f"{who} gave `layer` something else than its state. Keep the second value that it returns, "
        "as it is: it may be one tensor, as an RNN's, or a tuple of several, as an LSTM's."
    )


def _a_tuple_sent(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "sent, not tuple" not in seen.text:
        return None
    return (
        f"rank {seen.rank} sends a tuple, and `layer`'s state is one: it stays on its rank, for "
        "this rank's next chunk. Only the outputs go to the next rank."
    )


def _too_few_chunks(case: Case, seen: Observation) -> str | None:
    """Rank 0 has ended, and the next one still waits for a chunk."""
    if 0 in seen.waiting or "receive" not in seen.waiting.get(1, ""):
        return None
    steps, chunks = case.facts["steps"], case.facts["chunks"]
    why = "Send each chunk's outputs in the loop, as soon as `layer` has given them."
    if -(-steps // -(-steps // chunks)) < chunks:
        why = (
            "Cut at ⌊k · steps/m⌋: `torch.chunk` makes pieces of ⌈steps/m⌉ and `split(m)` pieces "
            "of m, and of those there may be fewer."
        )
    return (
        f"rank 1 {seen.waiting[1]}, which has sent all that it has: fewer than {chunks} chunks. "
        f"{why}"
    )


def _uneven(case: Case, seen: Observation) -> str | None:
    sizes, wanted = _sizes(seen), _wanted(case)
    if len(sizes) != len(wanted) or max(sizes) <= max(wanted):
        return None
    return (
        f"your chunks have {listing(sizes)} steps: the longest holds up every rank after it. None "
        f"needs more than {max(wanted)}: with cuts at ⌊k · steps/m⌋ they have {listing(wanted)}."
    )


def _one_after_the_other(case: Case, seen: Observation) -> str | None:
    took, alone = max(seen.seconds), case.facts["steps"] * SECONDS
    if case.ranks == 1 or not _right(case, seen) or took < 0.99 * case.ranks * alone:
        return None
    return (
        f"it took {took * 1e3:.5g} ms, {case.ranks} times one rank's work: each rank began when "
        "the one before had finished the whole sequence. Receive one chunk, run `layer` on it and "
        "send that on, before the next."
    )


def _own_message(case: Case, seen: Observation) -> str | None:
    """Rank 0 waits as long as a message takes between its turns: it needs nothing from anybody."""
    mine = [e for e in seen.events if e.rank == 0 and e.kind == "computing"]
    gaps, takes = [b.start - a.end for a, b in pairwise(mine)], case.options["latency"]
    late = _late(case, seen)
    if not late or not gaps or not all(takes <= gap < 2 * takes for gap in gaps):
        return None
    return (
        f"{late}: rank 0 waits until its chunk has arrived before it computes the "
        "next one. Start the message, `isend`, and wait for all of them at the end."
    )


def _held_up(case: Case, seen: Observation) -> str | None:
    late, steps = _late(case, seen), case.facts["steps"]
    if late and sum(_sizes(seen)) > steps:
        return f"{late}: rank 0's layer ran over {sum(_sizes(seen))} steps, and there are {steps}."
    chunks, turns = case.facts["chunks"], len(_sizes(seen))
    fewest = min(seen.messages[:-1], default=chunks)
    if late and fewest < chunks:
        rank = seen.messages.index(fewest)
        return (
            f"{late}: rank {rank} sent {count(fewest, 'message')} where {chunks} were asked for, "
            "one a chunk. The fewer they are, the longer the ranks after it wait."
        )
    if late and turns < chunks:
        return (
            f"{late}: rank 0 went through all steps in {count(turns, 'call')} of `layer` where "
            f"{chunks} were asked for, one a chunk: meanwhile the ranks after it wait."
        )
    return late and (
        f"{late}: a rank waits for something that it does not need. It needs the chunk from the "
        "rank before and its own state, nothing else."
    )


def numbers(case: Case, seen: Observation) -> dict[str, Any]:
    """What the hints name: how rank 0 went over the steps."""
    steps, lost = case.facts["steps"], case.facts["steps"] % case.facts["chunks"]
    over = {"turns": len(_sizes(seen)), "lost": count(lost, "step"), "messages": max(seen.messages)}
    return {"steps": steps, "chunks": case.facts["chunks"], **over}


def compared(case: Case, seen: Observation) -> Any:
    """The first thing that is wrong: rank 0's turns, then the outputs, then who returns them."""
    sizes = _sizes(seen)
    if sorted(sizes) != sorted(_wanted(case)):
        return sizes
    return seen.values[:-1] if _right(case, seen) else seen.values[-1]


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, took = cases[0], max(seen[0].seconds)
    alone = case.ranks * case.facts["steps"] * SECONDS
    return (
        f"Passed on {worlds(cases)}: {case.ranks} ranks with {case.facts['chunks']} chunks were "
        f"{alone / took:.1f} times as quick as one rank with all layers."
    )


def reference(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """A chunk goes on as soon as it is there."""
    state, outputs, sending = None, [], []
    for k in range(chunks):
        if comm.rank > 0:
            x = comm.recv(comm.rank - 1)
        else:
            x = inputs[k * len(inputs) // chunks : (k + 1) * len(inputs) // chunks]
        out, state = layer(x, state)
        outputs.append(out)
        if comm.rank < comm.size - 1:
            sending.append(comm.isend(out, comm.rank + 1))
    for request in sending:
        request.wait()
    return torch.cat(outputs) if comm.rank == comm.size - 1 else None


WRONG = """
to itself
    | comm.rank - 1 => comm.rank
    ? waits for a message from rank 1
first rank receives
    | if comm.rank > 0 => if comm.size > 1
    | comm.rank - 1 => (comm.rank - 1) % comm.size
    ? receives from nobody
asks for the next
    | comm.rank - 1 => comm.rank + 1
    ? asks for a rank after it
last output
    | outputs.append(out) => outputs.append(out); state = out[-1]
    ? something else than its state
zeros at the start
    | layer(x, state) => layer(x, x[0] * 0 if state is None else state)
    ? made up a state
sends the state
    | comm.isend(out, => comm.isend(state,
    ? it stays on its rank
sends them together
    | if comm.rank < comm.size - 1 => if comm.rank < comm.size - 1 and k == chunks - 1
    | comm.isend(out => comm.isend(torch.cat(outputs)
    ? as `layer` has given them
torch.chunk
    | range(chunks) => range(chunks if comm.rank > 0 else len(inputs.chunk(chunks)))
    | [k * len(inputs) // chunks : (k + 1) * len(inputs) // chunks] => .chunk(chunks)[k]
    ? makes pieces of ⌈steps/m⌉
never waits
    | request.wait() => pass
    ? returned without waiting for
rest in the last
    | len(inputs) // chunks *=> (len(inputs) // chunks)
    | (k + 1) * (len(inputs) // chunks)
        => (k + 1) * (len(inputs) // chunks) if k < chunks - 1 else None
    ? the longest holds up every rank
whole sequence
    | range(chunks) => range(chunks := 1)
    ? had finished the whole sequence
blocking sends
    | sending.append(comm.isend(out, comm.rank + 1)) => comm.send(out, comm.rank + 1)
    ? until its chunk has arrived
waits for a word
    | outputs.append(out) => outputs.append(out); comm.rank and comm.send(out[:1], comm.rank - 1)
    | comm.rank + 1)) => comm.rank + 1)); comm.recv(comm.rank + 1)
    ? something that it does not need
another dimension is cut
    | inputs[k * len(inputs) // chunks : (k + 1) * len(inputs) // chunks]
        => inputs[:, k * inputs.shape[1] // chunks : (k + 1) * inputs.shape[1] // chunks]
    | layer(x, state) => layer(x, None)
    | torch.cat(outputs) => torch.cat(outputs, 1)
    rank 0 went {turns} times over all {steps} steps. A chunk is some of the time steps, with all
    rows: cut the first dimension, and give `layer` a chunk alone.
the state is forgotten
    | layer(x, state) => layer(x, None)
    every chunk began without a state, as if the sequence started there. Keep what `layer` returns
    as its second value, and give it to the next chunk.
rest
    | len(inputs) // chunks *=> (len(inputs) // chunks)
    the last {lost} never ran: chunk k begins at ⌊k · steps/m⌋.
last
    | torch.cat(outputs) => out
    only the last chunk's outputs were returned: `torch.cat`.
a message for every step
    | state, outputs, sending = None, [], []
        => state, outputs, sending = None, [], []
        ; chunks = int(comm.recv(comm.rank - 1)) if comm.rank > 0 else len(inputs)
        ; comm.rank < comm.size - 1 and comm.send(torch.tensor(chunks), comm.rank + 1)
    a rank sent {messages} messages, one for each step, where {chunks} were asked for: each costs
    its latency. Send whole chunks.
writes into the inputs
    | return torch.cat => comm.rank or inputs.zero_(); return torch.cat
    ! INPUTS
every rank returns
    | if comm.rank == comm.size - 1 else None =>
    every rank returned its outputs: only the last rank has the network's. The others return None,
    and may forget a chunk that is sent.
"""

EXERCISE = Exercise(
    number="12.5",
    title="The wave",
    size=Size(stars=3, minutes=25, points=4),
    function="wave",
    asks=(
        "each rank runs its layer on one chunk after the other, passes a chunk's outputs on at "
        "once, and keeps the state for its next chunk; the last rank returns all outputs."
    ),
    cases=cases,
    drive=on_wave,
    claim=claim,
    mistakes=(
        Mistake("a rank sends to itself", self_hint, unfinished=True),
        Mistake("the first rank receives", _from_nobody, unfinished=True),
        Mistake("a rank that does not exist", _no_such_rank, unfinished=True),
        Mistake("something else than the state", _no_state, unfinished=True),
        Mistake("the state is sent along", _a_tuple_sent, unfinished=True),
        Mistake("fewer chunks", _too_few_chunks, unfinished=True),
        Mistake("messages not waited for", not_waited),
        Mistake("uneven chunks", _uneven),
        Mistake("one rank after the other", _one_after_the_other),
        Mistake("waits for its own message", _own_message),
        Mistake("a rank is held up", _held_up),
    ),
    numbers=numbers,
    compared=compared,
    praise=praise,
    reference=reference,
    wrong=wrong_answers("12.5", WRONG, reference, INPUTS=INPUTS),
    figure=0,
)
