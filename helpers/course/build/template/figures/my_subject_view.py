"""The figures of lesson NN, my subject."""

from __future__ import annotations

from collections.abc import Mapping

from helpers.notebook.figures import show
from helpers.notebook.style import axes, measured, modelled


def show_mean(seconds: Mapping[int, float], latency: float) -> None:
    """Seconds of a mean on rank 0 against the number of ranks, beside a model.

    seconds: by number of ranks. latency: of a message in s, for the model (N − 1)·latency.
    """
    figure, ax = axes()
    ranks = list(seconds)
    ax.plot(ranks, [s * 1e3 for s in seconds.values()], **measured(label="on the virtual clock"))
    ax.plot(ranks, [(n - 1) * latency * 1e3 for n in ranks], **modelled(label="(N − 1) messages"))
    ax.set(xlabel="ranks", ylabel="mean is there after (ms)", xlim=(0, None), ylim=(0, None))
    ax.legend(frameon=False)
    show(
        figure,
        caption="Rank 0 takes one message after the other, so the time grows with the number of "
        "ranks.",
        alt="Time until the mean is there against the number of ranks, on the virtual clock: a "
        "straight line through the origin of N − 1, as the dashed model has it.",
    )
