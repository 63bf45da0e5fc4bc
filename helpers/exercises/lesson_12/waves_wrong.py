"""The reference of exercise 12.5, and waves with one thing wrong."""

from __future__ import annotations

from typing import Any


def _run(
    comm: Any,
    layer: Any,
    inputs: Any,
    chunks: int,
    keep: bool = True,
    cut: Any = None,
    word: bool = False,
    carried: Any = None,
) -> list[Any]:
    """The outputs of each chunk on the last rank.

    keep: the state. cut: the part of the inputs that is a chunk. word: wait for an answer.
    carried: what to keep for a state, of a chunk's outputs.
    """
    cut = cut or (lambda k: slice(k * len(inputs) // chunks, (k + 1) * len(inputs) // chunks))
    state, outputs, sending = None, [], []
    for chunk in range(chunks):
        x = inputs[cut(chunk)] if comm.rank == 0 else comm.recv(comm.rank - 1)
        out, state = layer(x, state if keep else None)
        state = carried(out) if carried else state
        if word and comm.rank > 0:
            comm.send(out[:1], comm.rank - 1)
        if comm.rank < comm.size - 1:
            sending.append(comm.isend(out, comm.rank + 1))
            if word:
                comm.recv(comm.rank + 1)
        else:
            outputs.append(out)
    for request in sending:
        request.wait()
    return outputs


def reference(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """A chunk goes on as soon as it is there."""
    import torch

    outputs = _run(comm, layer, inputs, chunks)
    return torch.cat(outputs) if outputs else None


def first_receives(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Rank 0 waits for the last rank."""
    if comm.size > 1:
        inputs = comm.recv((comm.rank - 1) % comm.size)
    return reference(comm, layer, inputs, chunks)


def forgets(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Every chunk begins anew."""
    import torch

    outputs = _run(comm, layer, inputs, chunks, keep=False)
    return torch.cat(outputs) if outputs else None


def loses_rest(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Chunks of `steps // chunks`."""
    import torch

    size = len(inputs) // chunks if inputs is not None else 0
    outputs = _run(comm, layer, inputs, chunks, cut=lambda k: slice(k * size, (k + 1) * size))
    return torch.cat(outputs) if outputs else None


def by_torch(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Rank 0 goes over what torch.chunk makes, which may be fewer pieces."""
    import torch

    state, outputs, sending = None, [], []
    for x in inputs.chunk(chunks) if comm.rank == 0 else range(chunks):
        out, state = layer(x if comm.rank == 0 else comm.recv(comm.rank - 1), state)
        if comm.rank < comm.size - 1:
            sending.append(comm.isend(out, comm.rank + 1))
        else:
            outputs.append(out)
    for request in sending:
        request.wait()
    return torch.cat(outputs) if outputs else None


def together(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Sends all outputs in one message, after the loop."""
    import torch

    state, outputs = None, []
    for chunk in range(chunks):
        if comm.rank == 0:
            x = inputs[chunk * len(inputs) // chunks : (chunk + 1) * len(inputs) // chunks]
        else:
            x = comm.recv(comm.rank - 1)
        out, state = layer(x, state)
        outputs.append(out)
    if comm.rank < comm.size - 1:
        comm.send(torch.cat(outputs), comm.rank + 1)
        return None
    return torch.cat(outputs)


def last_chunk(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Returns what came out last."""
    outputs = _run(comm, layer, inputs, chunks)
    return outputs[-1] if outputs else None


def whole_sequence(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """One chunk."""
    return reference(comm, layer, inputs, 1)


def every_step(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """A message a step; the others learn first how many there are."""
    import torch

    steps = torch.tensor(len(inputs) if inputs is not None else 0)
    if comm.rank > 0:
        steps = comm.recv(comm.rank - 1)
    if comm.rank < comm.size - 1:
        comm.send(steps, comm.rank + 1)
    return reference(comm, layer, inputs, int(steps))


def waits_for_a_word(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Goes on only when the next rank has finished the chunk."""
    import torch

    outputs = _run(comm, layer, inputs, chunks, word=True)
    return torch.cat(outputs) if outputs else None


def last_output(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Takes the last output for the state."""
    import torch

    outputs = _run(comm, layer, inputs, chunks, carried=lambda out: out[-1])
    return torch.cat(outputs) if outputs else None


def zeros_first(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Makes up a state for the start."""

    def begun(x: Any, state: Any) -> Any:
        return layer(x, x[0] * 0 if state is None else state)

    return reference(comm, begun, inputs, chunks)


def asks_for_next(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Takes the rank after it for the one below."""
    if comm.rank > 0:
        inputs = comm.recv(comm.rank + 1)
    return reference(comm, layer, inputs, chunks)


def sends_state(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Sends the state along with a chunk."""
    import torch

    state, outputs = None, []
    for chunk in range(chunks):
        if comm.rank == 0:
            x = inputs[chunk * len(inputs) // chunks : (chunk + 1) * len(inputs) // chunks]
        else:
            x, state = comm.recv(comm.rank - 1), comm.recv(comm.rank - 1)
        out, state = layer(x, state)
        if comm.rank < comm.size - 1:
            comm.isend(out, comm.rank + 1)
            comm.isend(state, comm.rank + 1)
        else:
            outputs.append(out)
    return torch.cat(outputs) if outputs else None


def never_waits(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Starts its sends and forgets them."""
    import torch

    state, outputs = None, []
    for chunk in range(chunks):
        if comm.rank == 0:
            x = inputs[chunk * len(inputs) // chunks : (chunk + 1) * len(inputs) // chunks]
        else:
            x = comm.recv(comm.rank - 1)
        out, state = layer(x, state)
        if comm.rank < comm.size - 1:
            comm.isend(out, comm.rank + 1)
        else:
            outputs.append(out)
    return torch.cat(outputs) if outputs else None


def cuts_rows(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Cuts the batch and not the time."""
    import torch

    def part(k: int) -> Any:
        rows = inputs.shape[1]
        return slice(None), slice(k * rows // chunks, (k + 1) * rows // chunks)

    outputs = _run(comm, layer, inputs, chunks, keep=False, cut=part)
    return torch.cat(outputs, 1) if outputs else None


def rest_in_last(comm: Any, layer: Any, inputs: Any, chunks: int) -> Any:
    """Chunks of `steps // chunks`; the last one has the rest too."""
    import torch

    size = len(inputs) // chunks if inputs is not None else 0

    def part(k: int) -> slice:
        return slice(k * size, (k + 1) * size if k < chunks - 1 else None)

    outputs = _run(comm, layer, inputs, chunks, cut=part)
    return torch.cat(outputs) if outputs else None
