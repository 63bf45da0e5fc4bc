"""Run a command in a process group of its own, and end that group when the parent is gone.

Called as `python guard.py COMMAND ...` with a pipe as standard input that only the parent holds.
However the parent ends, `kill -9` included, the pipe closes, and every compiler and pip that was
started goes with it. So an interrupted set-up leaves nothing that writes on behind its back.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading


def end_with_parent() -> None:
    """Wait until the parent's end of the pipe closes, then end the whole group."""
    while os.read(0, 1024):
        pass
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    os.setsid()
    threading.Thread(target=end_with_parent, daemon=True).start()
    code = subprocess.call(sys.argv[1:], stdin=subprocess.DEVNULL)
    # The watching thread sits in a read; ending at once spares the interpreter the wait for it.
    os._exit(code if code >= 0 else 128 - code)
