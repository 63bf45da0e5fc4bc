"""A progress bar for long work in a notebook, gone when the work is done."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TypeVar

from helpers.notebook.failed_cells import in_notebook
from helpers.notebook.widgets import show_widget

T = TypeVar("T")


def progress(items: Iterable[T], label: str, rank: int = 0) -> Iterator[T]:
    """Go through `items` and show how far it is. Shows on rank 0 alone, in a notebook alone.

    label: what is being done, such as "Training". The saved notebook keeps nothing of it.
    """
    if rank != 0 or not in_notebook():
        yield from items
        return
    import ipywidgets

    total = len(items) if isinstance(items, Sized) else 0
    style = {"description_width": "min(11em, 38%)"}
    bar = ipywidgets.IntProgress(max=max(total, 1), description=label, style=style)
    show_widget(bar)
    try:
        for count, item in enumerate(items):
            bar.value = count if total else 0
            yield item
    finally:
        bar.close()
