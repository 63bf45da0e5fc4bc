"""Exercise 12.5, the wave: recurrent layers on several ranks at work at once.

`wave(comm, layer, inputs, chunks)`: layer(x, state) -> (out, state) is what this rank holds, x
(steps, rows, width), state None at the start, then what the layer gave, (h, c) as an LSTM's. Rank 0
has the inputs, the last rank returns the outputs of all steps. The claim: equal to one layer after
the other on one device, and on the clock in (m + p − 1)/m of one rank's time, with m messages a
rank: one for each chunk.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from helpers.exercises.common import WORLDS, rng, self_hint
from helpers.exercises.compare import close, count, describe, is_array, listing, short, worlds
from helpers.exercises.drives_requests import not_waited
from helpers.exercises.drives_split import on_wave
from helpers.exercises.lesson_12 import waves_wrong as wrong
from helpers.exercises.spec import Case, Exercise, Mistake, Observation, WrongAnswer

_TOLERANCE = 1e-12
_SECONDS = 1e-3  # of a layer for one time step
# Which the chunks do not divide. Pieces of ⌈steps/m⌉, as torch.chunk cuts, are fewer than m of 9.
_STEPS = {1: 9, 2: 9, 3: 22, 5: 33}
_CHUNKS = {1: 4, 2: 4, 3: 5, 5: 6}


def cases(seed: int) -> list[Case]:
    """Seed 0: 3, 1, 2 and 5 ranks with chunks that differ by a step; other seeds other sizes."""
    random, made = rng(seed, "12.5"), []
    for ranks in WORLDS:
        steps, chunks = _STEPS[ranks], _CHUNKS[ranks]
        if seed:
            chunks = int(random.integers(4, 7))
            steps = chunks * int(random.integers(4, 7)) + int(random.integers(2, chunks))
            steps = 2 * chunks + 1 if ranks == 2 else steps
        inputs = random.standard_normal((steps, 2, 3))
        weights = [(float(a), float(b)) for a, b in random.uniform(0.4, 0.9, (ranks, 2))]
        args = tuple(
            (a, b, _SECONDS, inputs if r == 0 else None, chunks) for r, (a, b) in enumerate(weights)
        )
        facts = {"inputs": inputs, "weights": weights, "chunks": chunks, "steps": steps}
        name = f"On {count(ranks, 'rank')} with {steps} steps in {chunks} chunks"
        made.append(Case(name, args, ranks, {"latency": 1e-6, "bandwidth": 1e9}, facts))
    return made


def bounds(length: int, parts: int) -> list[tuple[int, int]]:
    """First and last step (exclusive) of each chunk."""
    return [(k * length // parts, (k + 1) * length // parts) for k in range(parts)]


def run(case: Case, fresh: bool = False, upto: int | None = None) -> np.ndarray:
    """The outputs of the last layer. fresh: each chunk begins without a state."""
    x = case.facts["inputs"][:upto]
    starts = {a for a, _ in bounds(case.facts["steps"], case.facts["chunks"])} if fresh else {0}
    for inward, onward in case.facts["weights"]:
        cell, outputs = np.zeros_like(x[0]), []
        for step, values in enumerate(x):
            cell = inward * values + onward * (0 if step in starts else cell)
            outputs.append(np.tanh(cell))
        x = np.stack(outputs)
    return x


def _turns(case: Case) -> float:
    """Seconds of m + p − 1 turns of the longest chunk, and something for the messages."""
    chunks = case.facts["chunks"]
    longest = max(b - a for a, b in bounds(case.facts["steps"], chunks))
    return (chunks + case.ranks - 1) * longest * _SECONDS * 1.02


def _right(case: Case, seen: Observation) -> bool:
    return not seen.trouble and close(seen.values[-1], run(case), _TOLERANCE)


def claim(case: Case, seen: Observation) -> str | None:
    """The values on the last rank, in m + p − 1 turns, in m messages a rank, all waited for."""
    if not_waited(case, seen):
        return not_waited(case, seen)
    got, want = seen.values[-1], run(case)
    if not is_array(got, want.shape):
        return (
            f"{case.name}, the last rank returned {describe(got)}; it should be the outputs of all "
            f"steps, a tensor of shape {want.shape}."
        )
    if not close(got, want, _TOLERANCE):
        return f"{case.name}, the outputs are not those of one layer after the other."
    for rank, value in enumerate(seen.values[:-1]):
        if value is not None:
            return f"{case.name}, rank {rank} returned {describe(value)}; only the last rank does."
    if max(seen.seconds) > _turns(case):
        return (
            f"{case.name}, it took {short(max(seen.seconds) * 1e3)} ms; a wave takes "
            f"{short(_turns(case) * 1e3)} ms at most."
        )
    for rank in range(case.ranks):
        work = sum(e.end - e.start for e in seen.events if e.rank == rank and e.kind == "computing")
        if abs(work - case.facts["steps"] * _SECONDS) > 0.01 * _SECONDS:
            return f"{case.name}, rank {rank}'s layer did not run once for every step."
    most = case.facts["chunks"]
    if max(seen.messages) > most:
        return f"{case.name}, a rank sent {max(seen.messages)} messages; {most} chunks are {most}."
    return None


def _from_nobody(case: Case, seen: Observation) -> str | None:
    words = seen.waiting.get(0, "")
    if "receive" not in words or len(seen.waiting) < case.ranks:
        return None
    return (
        f"{case.name}, rank 0 {words}: the first rank has the inputs and receives from nobody. "
        "Cut them into chunks there."
    )


def _beyond(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "but the ranks are 0 to" not in seen.text:
        return None
    if f"rank {case.ranks}," in seen.text:
        who, what = f"rank {case.ranks - 1} asks for a rank after", "keeps its outputs and returns"
    else:
        who, what = "rank 0 asks for a rank before", "has the inputs and cuts"
    return f"{case.name}, {who} it, and there is none: it {what} them itself."


def _not_a_state(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "`layer` was given a" not in seen.text:
        return None
    who = f"{case.name}, rank {seen.rank}"
    if "at its first call" in seen.text:
        return (
            f"{who} made up a state for its first chunk: there is none yet, so give `layer` None."
        )
    return (
        f"{who} gave `layer` something else than its state. Keep the second value that it returns, "
        "as it is: a state may be more than the last output, as an LSTM's."
    )


def _sends_state(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "sent, not tuple" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} sends a tuple, and `layer`'s state is one: it stays on its "
        "rank, for this rank's next chunk. Only the outputs go to the next rank."
    )


def _sizes(case: Case, seen: Observation) -> list[int]:
    """The steps of rank 0's turns, in order."""
    mine = [e for e in seen.events if e.rank == 0 and e.kind == "computing"]
    return [round((e.end - e.start) / _SECONDS) for e in mine]


def _fewer_pieces(case: Case, seen: Observation) -> str | None:
    """Rank 0 has ended, and the next one still waits for a chunk."""
    if 0 in seen.waiting or "receive" not in seen.waiting.get(1, ""):
        return None
    steps, chunks = case.facts["steps"], case.facts["chunks"]
    if -(-steps // -(-steps // chunks)) < chunks:
        why = (
            "`torch.chunk` makes pieces of ⌈steps/m⌉, and then there may be fewer of them; cut at "
            "⌊k · steps/m⌋."
        )
    else:
        why = "Send each chunk's outputs in the loop, as soon as `layer` has given them."
    return (
        f"{case.name}, rank 1 {seen.waiting[1]}, which has sent all that it has: fewer than "
        f"{chunks} chunks. {why}"
    )


def _cut_rows(case: Case, seen: Observation) -> str | None:
    steps, sizes = case.facts["steps"], _sizes(case, seen)
    if len(sizes) < 2 or set(sizes) != {steps}:
        return None
    return (
        f"{case.name}, rank 0 went {len(sizes)} times over all {steps} steps: you cut another "
        "dimension than the first. A chunk is some of the time steps, with all rows."
    )


def _uneven(case: Case, seen: Observation) -> str | None:
    sizes = _sizes(case, seen)
    wanted = [b - a for a, b in bounds(case.facts["steps"], case.facts["chunks"])]
    if not _right(case, seen) or max(seen.seconds) <= _turns(case):
        return None
    if len(sizes) != len(wanted) or max(sizes) <= max(wanted):
        return None
    return (
        f"{case.name}, your chunks have {listing(sizes)} steps: the longest holds up every rank "
        f"after it. With cuts at ⌊k · steps/m⌋ they have {listing(wanted)}."
    )


def _forgets(case: Case, seen: Observation) -> str | None:
    if not close(seen.values[-1], run(case, fresh=True), 1e-9):
        return None
    return (
        f"{case.name}, every chunk began without a state, as if the sequence started there. Keep "
        "what `layer` returns as its second value, and give it to the next chunk."
    )


def _loses_rest(case: Case, seen: Observation) -> str | None:
    steps, chunks = case.facts["steps"], case.facts["chunks"]
    kept = chunks * (steps // chunks)
    if kept == steps or not close(seen.values[-1], run(case, upto=kept), 1e-9):
        return None
    return (
        f"{case.name}, the last {count(steps - kept, 'step')} never ran: `steps // chunks` loses "
        "the remainder. Chunk k begins at step ⌊k · steps/m⌋."
    )


def _last_chunk(case: Case, seen: Observation) -> str | None:
    start, _ = bounds(case.facts["steps"], case.facts["chunks"])[-1]
    if not close(seen.values[-1], run(case)[start:], 1e-9):
        return None
    return (
        f"{case.name}, only the last chunk's outputs were returned: collect them all and put them "
        "together, `torch.cat`."
    )


def _one_after_the_other(case: Case, seen: Observation) -> str | None:
    took, alone = max(seen.seconds), case.facts["steps"] * _SECONDS
    if case.ranks == 1 or not _right(case, seen) or took < 0.99 * case.ranks * alone:
        return None
    return (
        f"{case.name}, it took {short(took * 1e3)} ms, {case.ranks} times one rank's work: each "
        "rank began when the one before had finished the whole sequence. Send each chunk as soon "
        "as it is there."
    )


def _held_up(case: Case, seen: Observation) -> str | None:
    if not _right(case, seen) or max(seen.seconds) <= _turns(case):
        return None
    return (
        f"{case.name}, it took {short(max(seen.seconds) * 1e3)} ms and a wave takes "
        f"{short(_turns(case) * 1e3)} ms: a rank waits before it goes on to its next chunk, for "
        "something that it does not need. It needs the chunk below and its own state, nothing else."
    )


def _every_step(case: Case, seen: Observation) -> str | None:
    steps = case.facts["steps"]
    if case.ranks == 1 or not _right(case, seen) or max(seen.messages) < steps:
        return None
    return (
        f"{case.name}, a rank sent {max(seen.messages)} messages, one for each step, where "
        f"{case.facts['chunks']} were asked for: each costs its latency. Send whole chunks."
    )


def _everybody_returns(case: Case, seen: Observation) -> str | None:
    if case.ranks == 1 or not _right(case, seen) or all(v is None for v in seen.values[:-1]):
        return None
    return (
        f"{case.name}, every rank returned its outputs: only the last rank has the network's. The "
        "others return None, and may forget a chunk that is sent."
    )


def praise(cases: Sequence[Case], seen: Sequence[Observation]) -> str:
    """What a right answer is told."""
    case, took = cases[0], max(seen[0].seconds)
    alone = case.ranks * case.facts["steps"] * _SECONDS
    return (
        f"Passed on {worlds(cases)}: {case.ranks} ranks with {case.facts['chunks']} chunks were "
        f"{alone / took:.1f} times as quick as one rank with all layers."
    )


EXERCISE = Exercise(
    number="12.5",
    title="The wave",
    stars=3,
    minutes=25,
    points=4,
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
        Mistake("a rank that does not exist", _beyond, unfinished=True),
        Mistake("something else than the state", _not_a_state, unfinished=True),
        Mistake("the state is sent along", _sends_state, unfinished=True),
        Mistake("fewer chunks", _fewer_pieces, unfinished=True),
        Mistake("messages not waited for", not_waited),
        Mistake("another dimension is cut", _cut_rows),
        Mistake("the state is forgotten", _forgets),
        Mistake("loses the remainder", _loses_rest),
        Mistake("only the last chunk", _last_chunk),
        Mistake("uneven chunks", _uneven),
        Mistake("one rank after the other", _one_after_the_other),
        Mistake("a message for every step", _every_step),
        Mistake("a rank is held up", _held_up),
        Mistake("every rank returns", _everybody_returns),
    ),
    praise=praise,
    reference=wrong.reference,
    wrong=(
        WrongAnswer("first rank receives", wrong.first_receives, hint="receives from nobody"),
        WrongAnswer("asks for the next", wrong.asks_for_next, hint="asks for a rank after it"),
        WrongAnswer("last output", wrong.last_output, hint="something else than its state"),
        WrongAnswer("zeros at the start", wrong.zeros_first, hint="made up a state"),
        WrongAnswer("sends the state", wrong.sends_state, hint="it stays on its rank"),
        WrongAnswer(
            "sends them together", wrong.together, hint="as soon as `layer` has given them"
        ),
        WrongAnswer("torch.chunk", wrong.by_torch, hint="makes pieces of ⌈steps/m⌉"),
        WrongAnswer("never waits", wrong.never_waits, hint="returned without waiting for"),
        WrongAnswer("cuts the rows", wrong.cuts_rows, hint="another dimension than the first"),
        WrongAnswer("rest in the last", wrong.rest_in_last, hint="the longest holds up every rank"),
        WrongAnswer("forgets the state", wrong.forgets, hint="every chunk began without a state"),
        WrongAnswer("loses the rest", wrong.loses_rest, hint="loses the remainder"),
        WrongAnswer("last chunk only", wrong.last_chunk, hint="only the last chunk's outputs"),
        WrongAnswer("whole sequence", wrong.whole_sequence, hint="had finished the whole sequence"),
        WrongAnswer("every step", wrong.every_step, hint="one for each step"),
        WrongAnswer(
            "waits for a word", wrong.waits_for_a_word, hint="before it goes on to its next"
        ),
    ),
    figure=0,
)
