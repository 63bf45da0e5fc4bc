"""What one GPU did, drawn from the figures of `helpers/notebook/on_gpu.py`."""

from __future__ import annotations

from typing import Any

from helpers.notebook import on_gpu
from helpers.notebook.figures import show
from helpers.notebook.style import ACTIVITY, axes

KINDS = ("pageable", "pinned")
LANES = {"compute": ACTIVITY["computing"], "copy": ACTIVITY["sending"]}


def copies() -> Any:
    """Four products beside four copies to the GPU, from pageable and from pinned memory."""
    figure, panels = axes(rows=2, height=3.6)
    end = max(span[2] for kind in KINDS for span in on_gpu.timeline(kind))
    for panel, kind in zip(panels, KINDS, strict=True):
        for lane, begin, finished in on_gpu.timeline(kind):
            row = list(LANES).index(lane)
            panel.barh(
                row, finished - begin, 0.6, left=begin, edgecolor="#444444", linewidth=0.5,
                **LANES[lane],
            )  # fmt: skip
        panel.set_yticks(range(len(LANES)), list(LANES))
        panel.invert_yaxis()
        panel.set(xlim=(0, 1.02 * end), title=f"from {kind} memory")
    panels[0].tick_params(labelbottom=False)
    panels[1].set_xlabel("time (ms)")
    return figure


def copies_words() -> str:
    """The same for somebody who does not see it."""
    told = []
    for kind in KINDS:
        spans = on_gpu.timeline(kind)
        end = max(finished for _, _, finished in spans)
        busy = sum(finished - begin for lane, begin, finished in spans if lane == "compute")
        told.append(f"From {kind} memory all ends after {end:.0f} ms; products run in {busy:.0f}.")
    return f"Two timelines of four products beside four copies to a GPU. {' '.join(told)}"


def show_copies() -> None:
    """Show `copies`."""
    show(
        copies(),
        caption=f"{on_gpu.mark()} From pageable memory a copy keeps the program waiting, and "
        "the next product with it; from pinned memory the copies hide behind the "
        "products.",
        alt=copies_words(),
    )


def all_reduce_words() -> str:
    """Under lesson 02's table of all-reduces."""
    return (
        f"{on_gpu.mark('There')} Its two ranks share the one GPU. Ring, gloo and shared "
        "memory carry every tensor to the host and back; in CUDA's shared memory each "
        "rank adds up what lies on the GPU."
    )


def step_words() -> str:
    """Under lesson 03's table of steps."""
    return (
        f"A step with a ring of ours, and with DDP over gloo. {on_gpu.mark('There')} "
        "The ranks share the GPU, where NCCL refuses to work: 211 MB of gradients go "
        "through the host's memory, and that is most of the step."
    )
