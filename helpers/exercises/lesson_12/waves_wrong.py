"""The wave of exercise 12.5, waves with one thing wrong, and how such waves stand still or fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from helpers.exercises.spec import Case, Observation


def _nth(inputs: Any, k: int, chunks: int) -> Any:
    return inputs[k * len(inputs) // chunks : (k + 1) * len(inputs) // chunks]


def _cat(comm: Any, outputs: list[Any]) -> Any:
    return torch.cat(outputs) if comm.rank == comm.size - 1 else None


def wave(
    comm: Any,
    layer: Any,
    inputs: Any,
    chunks: int,
    cut: Callable[[Any, int, int], Any] = _nth,
    keep: Callable[[Any, Any], Any] = lambda out, state: state,
    put: Callable[[Any, list[Any]], Any] = _cat,
    waits: bool = True,
    word: bool = False,
    at_once: bool = False,
    back: int = 1,
) -> Any:
    """A chunk goes on as soon as it is there.

    cut: the n-th chunk. keep: the state, of a chunk's outputs and the layer's. put: what is
    returned, of all outputs. waits: for the sends. word: wait for an answer. at_once: wait for
    each send. back: how many ranks before this one a chunk comes from.
    """
    state, outputs, sending = None, [], []
    for chunk in range(chunks):
        x = cut(inputs, chunk, chunks) if comm.rank == 0 else comm.recv(comm.rank - back)
        out, state = layer(x, state)
        state = keep(out, state)
        outputs.append(out)
        if word and comm.rank > 0:
            comm.send(out[:1], comm.rank - 1)
        if comm.rank < comm.size - 1:
            sending.append(comm.isend(out, comm.rank + 1))
            if at_once:
                sending.pop().wait()
            if word:
                comm.recv(comm.rank + 1)
    for request in sending if waits else []:
        request.wait()
    return put(comm, outputs)


def _with(**options: Any) -> Callable[..., Any]:
    """The wave with other options."""

    def other(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
        return wave(comm, layer, inputs, chunks, **options)

    return other


def _floored(inputs: Any, k: int, chunks: int) -> Any:
    size = len(inputs) // chunks
    return inputs[k * size : (k + 1) * size]


def _rest_in_last(inputs: Any, k: int, chunks: int) -> Any:
    size = len(inputs) // chunks
    return inputs[k * size : (k + 1) * size if k < chunks - 1 else None]


to_itself = _with(back=0)
asks_for_next = _with(back=-1)
last_output = _with(keep=lambda out, state: out[-1])
never_waits = _with(waits=False)
blocking = _with(at_once=True)
waits_for_a_word = _with(word=True)
rest_in_last = _with(cut=_rest_in_last)
cuts_rows = _with(
    cut=lambda inputs, k, chunks: _nth(inputs.transpose(0, 1), k, chunks).transpose(0, 1),
    keep=lambda out, state: None,
    put=lambda comm, outputs: torch.cat(outputs, 1) if comm.rank == comm.size - 1 else None,
)
forgets = _with(keep=lambda out, state: None)
loses_rest = _with(cut=_floored)
last_chunk = _with(put=lambda comm, outputs: outputs[-1] if comm.rank == comm.size - 1 else None)
everybody = _with(put=lambda comm, outputs: torch.cat(outputs))


def first_receives(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    if comm.size > 1:
        inputs = comm.recv((comm.rank - 1) % comm.size)
    return wave(comm, layer, inputs, chunks)


def zeros_first(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    def begun(x: Any, state: Any) -> Any:
        return layer(x, x[0] * 0 if state is None else state)

    return wave(comm, begun, inputs, chunks)


def whole_sequence(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    return wave(comm, layer, inputs, 1)


def every_step(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """The others learn first how many there are."""
    steps = torch.tensor(len(inputs)) if comm.rank == 0 else comm.recv(comm.rank - 1)
    if comm.rank < comm.size - 1:
        comm.send(steps, comm.rank + 1)
    return wave(comm, layer, inputs, int(steps))


def by_torch(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Rank 0 goes over what torch.chunk makes, which may be fewer pieces."""
    if comm.rank > 0:
        return wave(comm, layer, inputs, chunks)
    pieces = inputs.chunk(chunks)
    return wave(comm, layer, inputs, len(pieces), cut=lambda inputs, k, chunks: pieces[k])


def together(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Sends all outputs in one message, after the loop."""
    state, outputs = None, []
    for chunk in range(chunks):
        x = _nth(inputs, chunk, chunks) if comm.rank == 0 else comm.recv(comm.rank - 1)
        out, state = layer(x, state)
        outputs.append(out)
    if comm.rank < comm.size - 1:
        comm.send(torch.cat(outputs), comm.rank + 1)
    return _cat(comm, outputs)


def sends_state(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Sends the state along with a chunk."""

    def sent(out: Any, state: Any) -> Any:
        if comm.rank < comm.size - 1:
            comm.isend(state, comm.rank + 1)
        return state

    return wave(comm, layer, inputs, chunks, keep=sent)


# --- families: waves that do not come to their end -----------------------------------------------


def from_nobody(case: Case, seen: Observation) -> str | None:
    words = seen.waiting.get(0, "")
    if "receive" not in words or len(seen.waiting) < case.ranks:
        return None
    return (
        f"{case.name}, rank 0 {words}: the first rank has the inputs and receives from nobody. "
        "Cut them into chunks there."
    )


def no_such_rank(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "but the ranks are 0 to" not in seen.text:
        return None
    who, what = "rank 0 asks for a rank before", "has the inputs and cuts"
    if f"rank {case.ranks}," in seen.text:
        who, what = f"rank {case.ranks - 1} asks for a rank after", "keeps its outputs and returns"
    return f"{case.name}, {who} it, and there is none: it {what} them itself."


def no_state(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "`layer` was given a" not in seen.text:
        return None
    who = f"{case.name}, rank {seen.rank}"
    if "at its first call" in seen.text:
        return f"{who} made up a state for its first chunk: none is there yet: give `layer` None."
    return (
        f"{who} gave `layer` something else than its state. Keep the second value that it returns, "
        "as it is: a state may be more than the last output, as an LSTM's."
    )


def a_tuple_sent(case: Case, seen: Observation) -> str | None:
    if seen.trouble != "failed" or "sent, not tuple" not in seen.text:
        return None
    return (
        f"{case.name}, rank {seen.rank} sends a tuple, and `layer`'s state is one: it stays on its "
        "rank, for this rank's next chunk. Only the outputs go to the next rank."
    )


def too_few_chunks(case: Case, seen: Observation) -> str | None:
    """Rank 0 has ended, and the next one still waits for a chunk."""
    if 0 in seen.waiting or "receive" not in seen.waiting.get(1, ""):
        return None
    steps, chunks = case.facts["steps"], case.facts["chunks"]
    why = "Send each chunk's outputs in the loop, as soon as `layer` has given them."
    if -(-steps // -(-steps // chunks)) < chunks:
        why = (
            "`torch.chunk` makes pieces of ⌈steps/m⌉, and then there may be fewer of them; cut at "
            "⌊k · steps/m⌋."
        )
    return (
        f"{case.name}, rank 1 {seen.waiting[1]}, which has sent all that it has: fewer than "
        f"{chunks} chunks. {why}"
    )
