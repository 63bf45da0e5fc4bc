"""Where in the user's code a rank is, and a traceback without the engine's own frames."""

from __future__ import annotations

import linecache
import os
import site
import sys
import sysconfig
import threading
from functools import lru_cache
from types import FrameType, TracebackType

ENGINES = os.path.dirname(os.path.abspath(__file__))
PROJECT = os.path.dirname(os.path.dirname(ENGINES))
# Folders of engines whose frames are between a run and the user's function, or a rank and it.
_OWN = {ENGINES, *(os.path.join(ENGINES, name) for name in ("cluster", "servers", "slurm"))}


def place(frame: FrameType | None) -> str:
    """The line of the user's code that a frame came from: "In[5], line 3, in fn: comm.recv(1)".

    The innermost frame outside the engines and outside installed libraries; where there is none,
    the innermost outside the engines; where there is none of these either, "".
    """
    inside = None
    while frame is not None:
        code = frame.f_code
        if not is_engine(code.co_filename):
            inside = inside or frame
            if not is_library(code.co_filename):
                return _words(frame)
        frame = frame.f_back
    return _words(inside) if inside is not None else ""


def _words(frame: FrameType) -> str:
    code = frame.f_code
    line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
    words = f"{file_name(code.co_filename)}, line {frame.f_lineno}, in {code.co_name}"
    return f"{words}: {line}" if line else words


def is_engine(filename: str) -> bool:
    """Whether a file is one of the engines', or what starts their threads."""
    return os.path.dirname(filename) in _OWN or filename == threading.__file__


@lru_cache(maxsize=4096)
def is_library(filename: str) -> bool:
    """Whether a file belongs to Python or to an installed package."""
    return filename.startswith("<frozen") or any(filename.startswith(home) for home in _libraries())


@lru_cache(maxsize=1)
def _libraries() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    found = [*site.getsitepackages(), paths["purelib"], paths["platlib"], paths["stdlib"]]
    return tuple(sorted({path + os.sep for path in found}, key=len, reverse=True))


def file_name(filename: str) -> str:
    """A file's name to show: "In[5]" for a cell, without the folders above the project."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    cell = getattr(getattr(shell, "compile", None), "format_code_name", lambda name: None)(filename)
    if cell is not None:
        return str(cell[1])
    for home in (*_libraries(), PROJECT + os.sep, os.getcwd() + os.sep):
        if filename.startswith(home):
            return filename[len(home) :]
    return filename


def without_engine(trace: TracebackType | None) -> TracebackType | None:
    """A traceback from its first frame outside the engines on."""
    while trace is not None and is_engine(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace
