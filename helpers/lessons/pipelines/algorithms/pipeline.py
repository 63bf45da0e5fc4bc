"""Pipeline parallelism: each rank holds a stage of the model, and microbatches flow through them.

`cut` makes stages of a model, `Pipeline` carries out a schedule (`schedules.py`) on every rank: it
receives what an instruction needs, computes, and sends on what it made. The same code runs on the
virtual clock and on real ranks. Sources: Huang et al., GPipe (2019), section 2.3; Narayanan et
al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021),
section 2.2.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor, nn

from helpers.lessons.pipelines.algorithms.deferred import Later, PutOff
from helpers.lessons.pipelines.algorithms.instructions import (
    Backward,
    BackwardInput,
    BackwardWeights,
    Forward,
    Instruction,
)
from helpers.lessons.pipelines.algorithms.recompute import RandomState
from helpers.lessons.pipelines.algorithms.schedules import Schedule, orders, validate
from helpers.lessons.pipelines.algorithms.timetable import Span
from helpers.lessons.splitting.algorithms.model_split import TiedSums
from helpers.lessons.splitting.algorithms.stages import cut, microbatches, works_in_place

if TYPE_CHECKING:
    from helpers.engine.comm import Comm, Request

__all__ = ["Pipeline", "cut", "microbatches"]

Key = tuple[type, int, int]  # (Forward or Backward, microbatch, the stage that it is sent to)


class Held(NamedTuple):
    """What a stage keeps of a microbatch until its backward.

    output: the stage's, with its graph; None where it is to be computed again, from `random`.
    """

    input: Tensor
    output: Tensor | None
    random: RandomState | None


class Pipeline:
    """A model in stages, one or several on each rank, trained by a schedule.

        pipeline = Pipeline(comm, cut(model, comm.size), one_forward_one_backward, token_loss)
        optimizer = torch.optim.SGD(pipeline.parameters(), lr=0.1)
        loss = pipeline.step(microbatches(tokens, 8), microbatches(targets, 8))
        optimizer.step()

    stages: all stages of the model in order, the same number for each rank, as `cut` makes them;
    this rank keeps its own (stage c · size + rank as its chunk c) and forgets the others. Each maps
    one tensor to one tensor, the first dimension the rows. Weights start as they are on the rank
    that holds them. A parameter that stages of several ranks share starts as on the first of these,
    and its gradients are summed over them, so that their optimizers keep it equal.
    schedule: (rank, ranks, microbatches) to this rank's instructions. All ranks pass the same.
    loss: (output of the last stage, targets) to the mean loss of a microbatch.
    seconds: an instruction to how long it takes on the virtual clock, where torch takes no time.
    recompute: keep only a stage's inputs, and run it forward a second time before its backward;
    while the gradient is on its way, so that a bubble may hide it. What is needed at once, as on
    the last stage of 1F1B, is kept. A backward's `seconds` are then those after this second
    forward, which takes as long as the first.

    Batch norm sees microbatches, not the batch, and so differs from the model in one piece; where
    forward runs a second time, its running averages take each microbatch in twice.
    """

    def __init__(
        self,
        comm: Comm,
        stages: Sequence[nn.Module],
        schedule: Schedule,
        loss: Callable[[Tensor, Tensor], Tensor],
        *,
        seconds: Callable[[Instruction], float] | None = None,
        recompute: bool = False,
    ) -> None:
        if not stages or len(stages) % comm.size:
            raise ValueError(
                f"{len(stages)} stages cannot be shared out to {comm.size} ranks, the same number "
                f"to each: cut the model into a multiple of {comm.size}."
            )
        self.comm, self.schedule, self.loss = comm, schedule, loss
        self.seconds, self.recompute = seconds, recompute
        self.last = len(stages) - 1
        self.chunks = nn.ModuleList(stages[comm.rank :: comm.size]).to(comm.device)
        self.spans: list[Span] = []  # of the last step, by this rank's clock
        self._streams: dict[int, list[list[Instruction]]] = {}
        self.put_off: PutOff | None = None  # made by the first schedule that cuts backward in two
        shares = [nn.ModuleList(stages[rank :: comm.size]) for rank in range(comm.size)]
        self._ties = TiedSums(comm, [share.parameters() for share in shares])
        self._ties.start_alike()

    def parameters(self) -> Iterator[nn.Parameter]:
        """This rank's parameters, each once: what its optimizer takes."""
        return self.chunks.parameters()

    def step(
        self,
        inputs: Sequence[Tensor] | None,
        targets: Sequence[Tensor] | None,
        count: int | None = None,
    ) -> float | None:
        """All microbatches forward and backward: gradients are added to `.grad`, as backward does.

        inputs: a tensor for each microbatch, used on the rank of the first stage. targets: the
        same on the rank of the last. Elsewhere they may be None; where both are, `count` says how
        many microbatches there are. They may differ in rows: each counts by its rows.
        Returns the mean loss over all rows on the rank of the last stage, None elsewhere: nobody
        else needs it, so no message is spent on it.
        Raises ValueError where the schedule does not fit the stages or cannot be carried out.
        """
        run = _Step(self, inputs, targets, self._count(inputs, targets, count))
        self._ties.set_aside()
        run.all()
        self._ties.sum()
        for request in run.sending:
            request.wait()
        self.spans = run.spans
        return None if run.loss is None else float(run.loss)

    def streams(self, count: int) -> list[list[Instruction]]:
        """Every rank's instructions for so many microbatches, checked once."""
        if count not in self._streams:
            streams = orders(self.schedule, self.comm.size, count)
            validate(streams, count, len(self.chunks))
            halves = any(isinstance(i, BackwardWeights) for i in streams[self.comm.rank])
            if halves and self.put_off is None:
                self.put_off = PutOff(self.chunks)
            self._streams[count] = streams
        return self._streams[count]

    def _count(
        self,
        inputs: Sequence[Tensor] | None,
        targets: Sequence[Tensor] | None,
        count: int | None,
    ) -> int:
        rank, size = self.comm.rank, self.comm.size
        for name, given, needed in (
            ("inputs", inputs, rank == 0),
            ("targets", targets, rank == size - 1),
        ):
            if given is None and needed:
                raise ValueError(f"Rank {rank} needs the {name}: a tensor for each microbatch.")
        counts = {n for n in (count, *(len(g) for g in (inputs, targets) if g is not None)) if n}
        if len(counts) != 1:
            raise ValueError(
                "Say how many microbatches there are: inputs and targets of the same length, or "
                f"count= on a rank that has neither. Rank {rank} was told {sorted(counts)}."
            )
        return counts.pop()


class _Step:
    """One step of a pipeline on one rank."""

    def __init__(
        self,
        pipeline: Pipeline,
        inputs: Sequence[Tensor] | None,
        targets: Sequence[Tensor] | None,
        count: int,
    ) -> None:
        self.pipeline, self.comm = pipeline, pipeline.comm
        self.inputs, self.targets = inputs or (), targets or ()
        self.streams = pipeline.streams(count)
        self.rows = sum(len(target) for target in self.targets)
        self.held: dict[Forward, Held] = {}
        self.later: dict[Forward, list[Later]] = {}  # weight gradients that are put off
        self.spans: list[Span] = []
        self.sending: list[Request] = []
        self.loss: Tensor | None = None
        self.here: dict[Key, Tensor] = {}  # received, or made on this rank, and not used yet
        self.expected: dict[int, deque[Key]] = {
            source: deque(self._sent(source, self.comm.rank)) for source in range(self.comm.size)
        }

    def all(self) -> None:
        """Carry out this rank's instructions, in order."""
        mine = self.streams[self.comm.rank]
        for instruction, after in zip(mine, [*mine[1:], None], strict=True):
            if isinstance(instruction, Forward):
                at_once = after in (
                    Backward(instruction.microbatch, instruction.chunk),
                    BackwardInput(instruction.microbatch, instruction.chunk),
                )
                self.forward(instruction, keep=at_once or not self.pipeline.recompute)
            elif isinstance(instruction, BackwardWeights):
                self.weights(instruction)
            else:
                self.backward(instruction)

    def forward(self, now: Forward, keep: bool) -> None:
        """Receive from the stage before, compute, send to the stage after."""
        stage = self._stage(now)
        if stage == 0:
            x = self.inputs[now.microbatch].to(self.comm.device)
        else:
            x = self._receive((Forward, now.microbatch, stage), stage - 1).requires_grad_()
        random = None if keep else RandomState([x])
        start = self.comm.time()
        with torch.set_grad_enabled(keep):
            output = self._compute(now, x)
        self._passes(now, start)
        self.held[now] = Held(x, output if keep else None, random)
        if stage == self.pipeline.last:
            part = output.detach()
            self.loss = part if self.loss is None else self.loss + part
        else:
            self._send(output.detach(), (Forward, now.microbatch, stage + 1))

    def backward(self, now: Backward | BackwardInput) -> None:
        """Receive the gradient from the stage after, compute, send to the stage before.

        Of a backward that is cut in two, the products for the weights are kept for later.
        """
        again = Forward(now.microbatch, now.chunk)
        stage = self._stage(now)
        x, output, random = self.held.pop(again)
        if output is None and random is not None:
            start = self.comm.time()
            with torch.enable_grad(), random.again():
                output = self._compute(again, x)
            self._passes(again, start)
        assert output is not None
        gradient = None
        if stage < self.pipeline.last:
            gradient = self._receive((Backward, now.microbatch, stage), stage + 1)
        start = self.comm.time()
        if self.pipeline.put_off is not None:
            kept = self.later.setdefault(again, []) if isinstance(now, BackwardInput) else None
            self.pipeline.put_off.into = kept
        if output.requires_grad:  # not where all that came before is frozen
            torch.autograd.backward(output, gradient)
        self._passes(now, start)
        if stage > 0:
            gradient = torch.zeros_like(x) if x.grad is None else x.grad
            self._send(gradient, (Backward, now.microbatch, stage - 1))

    def weights(self, now: BackwardWeights) -> None:
        """The other half of a backward: what was put off."""
        start = self.comm.time()
        for product in self.later.pop(Forward(now.microbatch, now.chunk)):
            product()
        self._passes(now, start)

    def _compute(self, now: Forward, x: Tensor) -> Tensor:
        """The stage's output; of the last stage, this microbatch's part of the loss."""
        stage = self._stage(now)
        chunk = self.pipeline.chunks[now.chunk]
        output = chunk(x.clone() if works_in_place(chunk) else x)
        if not (isinstance(output, Tensor) and output.is_floating_point()):
            raise TypeError(
                f"Stage {stage} returned {type(output).__name__}: a stage passes one tensor of "
                "floating point numbers to the next. Cut the model elsewhere, or pack the rest in."
            )
        if stage < self.pipeline.last:
            return output
        target = self.targets[now.microbatch].to(self.comm.device)
        return self.pipeline.loss(output, target) * (len(target) / self.rows)

    def _passes(self, now: Instruction, start: float) -> None:
        """Let its seconds pass on the virtual clock, and note when it was."""
        if self.pipeline.seconds is not None:
            self.comm.compute(self.pipeline.seconds(now))
        self.spans.append(Span(now, start, self.comm.time()))

    def _stage(self, now: Instruction) -> int:
        return now.chunk * self.comm.size + self.comm.rank

    # Messages carry no name. A pair's messages come in the order in which they were sent, and the
    # sender's order follows from its schedule, which every rank can make for itself.

    def _sent(self, source: int, to: int) -> Iterator[Key]:
        """What rank `source` sends to rank `to`, in order."""
        size = self.comm.size
        for instruction in self.streams[source]:
            if isinstance(instruction, BackwardWeights):
                continue
            ahead = 1 if isinstance(instruction, Forward) else -1
            stage = instruction.chunk * size + source + ahead
            if 0 <= stage <= self.pipeline.last and stage % size == to != source:
                kind = Forward if isinstance(instruction, Forward) else Backward
                yield kind, instruction.microbatch, stage

    def _send(self, tensor: Tensor, key: Key) -> None:
        to = key[2] % self.comm.size
        if to == self.comm.rank:
            self.here[key] = tensor
        else:
            # Never a blocking send: two neighbours that send to each other would both wait.
            self.sending.append(self.comm.isend(tensor, to))

    def _receive(self, key: Key, stage: int) -> Tensor:
        """The tensor that `stage` sent; what comes before it is kept for later."""
        source = stage % self.comm.size
        while key not in self.here:
            self.here[self.expected[source].popleft()] = self.comm.recv(source)
        return self.here.pop(key)
