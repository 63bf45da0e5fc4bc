"""Show a figure as a small picture with alt text and a caption under it."""

from __future__ import annotations

import base64
import html
import io
from functools import cache
from typing import Any

from helpers.notebook.style import style

DPI = 110


def show(figure: Any, caption: str, alt: str) -> None:
    """Display a matplotlib figure with its caption.

    caption: the figure's one message, in a sentence. alt: what somebody hears who cannot see
    it: the kind of figure, what is on the axes, what to notice. Raises ValueError without either.
    """
    from IPython.display import display

    if not caption.strip() or not alt.strip():
        raise ValueError("A figure needs a caption and an alt text: say what there is to see.")
    display_picture(png(figure), alt)
    look = "max-width:46em;margin:.2em 0 1em;opacity:.85"
    text = f'<p style="{look}">{html.escape(caption)}</p>'
    display({"text/plain": caption, "text/html": text}, raw=True)
    forget(figure)


def forget(figure: Any) -> None:
    """Close a figure that pyplot made, so that the cell does not show it a second time."""
    import sys

    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def display_picture(data: bytes, alt: str, handle: str = "", update: bool = False) -> None:
    """Display a PNG with alt text. handle: names the place, so that it can be updated there."""
    from IPython.display import display

    picture = {"image/png": base64.b64encode(data).decode("ascii"), "text/plain": alt}
    placed = {"display_id": handle, "update": update} if handle else {}
    display(picture, metadata={"image/png": {"alt": alt}}, raw=True, **placed)


def png(figure: Any, quick: bool = False) -> bytes:
    """The figure as a PNG with a small palette; a picture of lines takes 10 to 30 KB.

    quick: take a fifth of the time to pack it, and a sixth more bytes.
    """
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    with style():
        figure.set_dpi(DPI)
        canvas.get_renderer().mathtext_parser = _math()
        canvas.draw()  # once; `savefig` goes through the artists twice where there is a layout
    flat = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    # The octree keeps a colour that few dots have; a median cut would turn it brown.
    octree = Image.Quantize.FASTOCTREE
    small = flat.quantize(colors=64, method=octree, dither=Image.Dither.NONE)
    small.putpalette([255 if value > 251 else value for value in small.getpalette() or []])
    out = io.BytesIO()
    small.save(out, format="png", optimize=not quick)
    return out.getvalue()


@cache
def _math() -> Any:
    """Reads the powers of ten beside a log scale. It remembers them; a figure's own would not."""
    from matplotlib.backends.backend_agg import RendererAgg

    return RendererAgg(1, 1, DPI).mathtext_parser
