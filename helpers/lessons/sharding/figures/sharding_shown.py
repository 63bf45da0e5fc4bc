"""Figures of lesson 14, as its cells show them: each with its caption and alt text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from helpers.engine.trace import Trace
from helpers.lessons.sharding.figures import (
    experts_view,
    ring_view,
    sharding_view,
    tensor_parallel_view,
)
from helpers.notebook.figures import show


def column_then_row() -> None:
    """A layer cut by columns, and the next by rows."""
    show(
        tensor_parallel_view.column_then_row(2),
        caption="A by columns, then B by rows: the ranks meet once, at the end.",
        alt="x times A, whose columns belong to two ranks; each applies GELU to its own "
        "units and multiplies by its rows of B; an all-reduce sums the two terms to y.",
    )


def row_first() -> None:
    """The same with the first layer cut by rows."""
    show(
        tensor_parallel_view.row_first(2),
        caption="The other way round each rank has a part of every hidden unit, and GELU has "
        "to wait for an all-reduce.",
        alt="x cut by columns and A by rows: each rank has a term of all hidden units; an "
        "all-reduce comes before GELU.",
    )


def block_messages() -> None:
    """A Transformer block on two ranks."""
    show(
        tensor_parallel_view.block_messages(2),
        caption="A block on two ranks: two all-reduces forward (g), two backward (f). Norms "
        "and sums run on every rank alike.",
        alt="Two rows of boxes, one a rank: norm, f, query key value, attend, out, g, plus "
        "x, then norm, f, up, GELU, down, g, plus x. Arrows between the ranks stand at "
        "the two g and the two f.",
    )


def vocabulary() -> None:
    """Scores cut by tokens over three ranks."""
    show(
        tensor_parallel_view.cut_vocabulary(),
        caption="Three numbers a position travel, however many tokens there are.",
        alt="A table of scores, four positions by twelve tokens, cut by tokens over three "
        "ranks; under each rank an arrow says max, sum, target.",
    )


def tokens_or_weights() -> None:
    """What tensor and data parallelism send on 8 ranks."""
    show(
        tensor_parallel_view.tokens_or_weights(1024, ranks=8),
        caption="Past 3 · width tokens in the whole batch, 384 for each of 8 data-parallel "
        "ranks, cutting the matrices sends more than averaging the gradients.",
        alt="MB sent for a block and step in float32 over tokens in the batch of all 8 "
        "ranks, width 1024: a rising line for tensor parallelism crosses a flat one "
        "for data parallelism, 88 MB, at 3072 tokens. Both by formula.",
    )


def stages() -> None:
    """Memory of 7.5 billion parameters on 64 ranks, by stage."""
    show(
        sharding_view.stage_bars(7.5, 64),
        caption="The optimizer's state is the largest part, so the first stage saves most; "
        "only the third has no floor.",
        alt="Bars of GB a rank for 7.5 billion parameters on 64 ranks: 120 unsharded, 31.4 "
        "in stage 1, 16.6 in stage 2, 1.88 in stage 3, each stacked of parameters, "
        "gradients and optimizer state. By formula.",
    )


def by_ranks(printed: Any, formula: Callable[[int, int, int], float]) -> None:
    """Memory over ranks by formula, beside what ZeRO's table 1 prints."""
    away = max(
        abs(formula(7_500_000_000, ranks, stage) / 1e9 / gb - 1)
        for stage, column in enumerate(("optimizer", "optimizer+gradients", "all"), 1)
        for ranks, gb in zip(printed.data["n"], printed.data[column], strict=True)
    )
    show(
        sharding_view.by_ranks(printed.data, formula),
        caption="Stages 1 and 2 run into a floor, 4 Ψ and 2 Ψ; with stage 3 twice the ranks "
        "always hold twice the model's 16 Ψ.",
        alt="GB a rank over 1 to 1024 ranks, both axes logarithmic, for 7.5 billion "
        "parameters. Stage 1 levels off at 30 GB, stage 2 at 15, stage 3 falls in a "
        "straight line to 0.12. White diamonds, as printed in ZeRO's table 1, lie "
        f"within {100 * away:.1g} % of the lines.",
    )


def held(measured: Mapping[int, Any], expected: Mapping[int, Any]) -> None:
    """Bytes counted from tensors beside those by formula."""
    show(
        sharding_view.held_bars(measured, expected),
        caption="Bytes counted from rank 0's tensors end where the formulas say, part by part.",
        alt="Stacked bars of KB for stages 1 to 3 on 3 ranks: parameters, gradients and "
        "optimizer state. White diamonds, the formulas, stand at the end of each part.",
    )


def prefetching(words: str, step: Trace, took: Mapping[str, float]) -> None:
    """A step with or without prefetching. took: ms of both, by these words."""
    figure = step.plot(width=8.6, arrows=False)
    figure.axes[0].set_xlim(0, 1.01 * took["without"])  # one scale for both
    told = (
        "six stretches of computing with messages underneath. Three waits of 33 ms are left, at "
        "the start, before backward and at the end; the step is over at 391 ms."
        if words == "with"
        else "a wait of 33 to 66 ms in front of each of six stretches of computing, and one at the "
        "end; the step is over at 585 ms."
    )
    show(
        figure,
        caption=f"A step of three units on 3 ranks over InfiniBand HDR, {words} prefetching: "
        f"{took[words]:.0f} ms. Thin rows: messages.",
        alt=f"Timeline of 3 ranks over a step {words} prefetching, 0 to 590 ms: {told}",
    )


def by_link(rows: Mapping[str, Mapping[str, float]], computing: float) -> None:
    """Seconds of a step by link and way."""
    told = "; ".join(
        f"{link}: " + ", ".join(f"{way} {1e3 * s:.0f} ms" for way, s in by_way.items())
        for link, by_way in rows.items()
    )
    show(
        sharding_view.seconds_by_link(rows, computing),
        caption="Prefetching hides as much of stage 3's messages as there is computing to hide "
        "them behind. Modelled: A100 at half their peak, links at their published "
        "peaks.",
        alt=f"{told}. Computing alone takes {1e3 * computing:.0f} ms.",
    )


def held_in_a_step(runs: Mapping[str, Sequence[tuple[float, float]]]) -> None:
    """What a rank holds over the time of a step, by stage."""
    show(
        sharding_view.held_in_a_step(runs),
        caption="In passing stage 3 holds two units' parameters in forward, and up to two rows "
        "of gradients more in backward; stage 2 up to two rows of gradients.",
        alt="GB a rank holds over the time of a step, 8 ranks, 7.2 billion parameters: "
        "stage 1 flat at 40, stage 2 at 27 in forward and near 30 through backward, "
        "stage 3 at 17 in forward and 19 through backward.",
    )


def mesh() -> None:
    """Four ranks in a mesh."""
    show(
        tensor_parallel_view.mesh(2, 2),
        caption="Ranks of a row hold parts of the same layers; ranks of a column hold the same "
        "part and see other rows of the batch.",
        alt="Four ranks in two rows and two columns. Red arrows along rows: activations, 4 "
        "sums a block. Blue dashed arrows along columns: gradients, one average a step.",
    )


def round_the_ring() -> None:
    """Whose keys each of four ranks works on, step by step."""
    show(
        ring_view.round_the_ring(4),
        caption="Queries stay, keys and values go round: each block is everywhere once.",
        alt="A table with a row for each of four ranks and a column for each of four "
        "steps. In step 0 each rank works on its own keys and values; in every further "
        "step on those that its left neighbour had in the step before.",
    )


def dealt(traces: Mapping[str, Trace]) -> None:
    """Attention in a ring with positions in order, and dealt out in turn."""
    show(
        ring_view.side_by_side(traces),
        caption="In order, rank 0 has a seventh of the last rank's work, and waits; dealt out "
        "in turn, all work alike. 4 A100 over NVLink on the clock, 8,192 positions "
        "each.",
        alt="Two timelines of four ranks. With positions in order rank 0 has one short box "
        "and then waits, each further rank has one more long box, and rank 3 computes "
        f"to the end, {1e3 * traces['positions in order'].duration:.1f} ms. Dealt "
        "out in turn all four ranks have four equal boxes and end at "
        f"{1e3 * traces['positions dealt out in turn'].duration:.1f} ms.",
    )


def to_their_experts() -> None:
    """The tokens of four ranks on their way to four experts."""
    show(
        experts_view.to_their_experts(
            [[1, 0, 2, 0, 0, 1], [2, 0, 0, 3, 0, 1], [3, 0, 1, 0, 2, 0], [0, 3, 1, 0, 2, 0]],
            capacity=2,
        ),
        caption="A rank may send each expert two tokens here. The third one for expert 0 is "
        "dropped on every rank, and still expert 0 has most to do.",
        alt="Four rows of six boxes, the tokens of four ranks, filled by the expert that "
        "they chose; one box in each row is crossed out. Below, what each expert gets: "
        "expert 0 eight tokens, two from each rank, expert 1 five, expert 2 four, "
        "expert 3 three.",
    )


def experts(runs: Mapping[str, tuple[Sequence[Sequence[float]], float]]) -> None:
    """Shares of tokens by expert, without the balancing loss and with it.

    runs: for each name the shares in each step, and the part that was dropped in the end.
    """
    crowds = [max(shares[-1]) for shares, _ in runs.values()]
    told = " and ".join(f"{100 * dropped:.0f} %" for _, dropped in runs.values())
    said = " and ".join(f"{100 * most:.0f} %" for most in crowds)
    show(
        experts_view.shares({name: shares for name, (shares, _) in runs.items()}),
        caption=f"Eight experts, trained on the digits. In the last 20 steps {told} of the "
        "tokens are dropped, without the balancing loss and with it.",
        alt="Two panels, percent of tokens that chose each of eight experts over 80 steps, "
        "and a dashed line at the equal share, 12.5 %. The largest share in the last "
        f"step is {said}, with the task's loss alone and with the balancing loss.",
    )


def real_steps(took: Mapping[str, Mapping[str, float]]) -> None:
    """Milliseconds of a step on two real ranks."""
    told = "; ".join(
        f"{g}: " + ", ".join(f"{n} {ms:.0f}" for n, ms in two.items()) for g, two in took.items()
    )
    show(
        sharding_view.real_steps(took),
        caption="A step of a Transformer with four blocks of width 128 on 2 real ranks, "
        "measured in turn.",
        alt=f"Dots of milliseconds a step: {told}",
    )
