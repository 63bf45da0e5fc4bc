"""What a stage of a pipeline is told to do: the words in which schedules are written.

A schedule is a sequence of instructions for one stage, in the order in which the stage carries
them out. It says nothing about messages: whoever runs it receives what an instruction needs before
it, and sends what it made afterwards (Huang et al. 2019, section 2.3, and Narayanan et al. 2021,
section 2.2, draw such schedules; Qi et al. 2024, section 2, those that cut backward in two).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Forward:
    """Run one microbatch forward through this stage, and keep what its backward needs.

    microbatch: which one, counted from 0. chunk: which of the stage's chunks of layers, counted
    from 0; a stage that holds one piece of the model has chunk 0 alone.
    """

    microbatch: int
    chunk: int = 0


@dataclass(frozen=True)
class Backward:
    """Run one microbatch backward through this stage: its gradients are added to those there.

    microbatch and chunk: as for `Forward`, whose instruction comes before.
    """

    microbatch: int
    chunk: int = 0


@dataclass(frozen=True)
class BackwardInput:
    """The first half of a backward: the gradient of the stage's input, which the stage before
    waits for.

    microbatch and chunk: as for `Forward`. Qi et al. (2024), section 2, call it B.
    """

    microbatch: int
    chunk: int = 0


@dataclass(frozen=True)
class BackwardWeights:
    """The other half: the gradients of the stage's weights, which nobody waits for.

    microbatch and chunk: as for `Forward`; after its `BackwardInput`, at any time. Qi et al. call
    it W.
    """

    microbatch: int
    chunk: int = 0


Instruction = Forward | Backward | BackwardInput | BackwardWeights
Kind = type[Forward] | type[Backward] | type[BackwardInput] | type[BackwardWeights]


def check_stage(stage: int, stages: int, microbatches: int) -> None:
    """Raise ValueError with a sentence where there is no such stage, or no microbatch."""
    if not 0 <= stage < stages:
        raise ValueError(f"There is no stage {stage} among {stages}: they are 0 to {stages - 1}.")
    if microbatches < 1:
        raise ValueError(f"A step needs at least one microbatch, not {microbatches}.")
