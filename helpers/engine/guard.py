"""A process that guards a command: nothing that came of the command outlives it.

What the command's processes leave behind the guard adopts (on Linux), so that all of it is below
the guard, whoever started it. When the command has ended, or at SIGTERM, the guard ends the rest,
and ends with the command's exit status; 128 + 9 where signal 9 has ended it.

    python -m helpers.engine.guard FOLDER [tied] COMMAND ...

FOLDER names the guard to whoever looks for it. Tied, it ends as well when its standard input
closes, and so with whoever holds the other end, however that ends; the folder then goes, too.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys

from helpers.engine.family import adopt_orphans, die_with_parent, end_descendants

LOOK = 0.1  # seconds between two looks at the command; a closed input is seen at once


def main(folder: str, tied: bool, command: list[str]) -> int:
    """Guard a command until it has ended or is to end; returns its exit status."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))  # end as below
    adopt_orphans()
    try:
        kept = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
        while (ended := exit_code(kept.pid)) is None:
            if select.select([sys.stdin] if tied else [], [], [], LOOK)[0]:
                break  # nobody ever writes into it: it is closed
        else:
            return ended if ended >= 0 else 128 - ended
    except OSError as error:
        print(f"{command[0]}: {error}", file=sys.stderr, flush=True)
        return 127
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        end_descendants()
    shutil.rmtree(folder, ignore_errors=True)  # nobody else may be left to do it
    return 0


def exit_code(pid: int) -> int | None:
    """How a child has ended, None while it runs. Collects all others that have ended."""
    while True:
        done, status = os.waitpid(-1, os.WNOHANG)
        if done == pid:
            return os.waitstatus_to_exitcode(status)
        if not done:
            return None


if __name__ == "__main__":
    words = sys.argv[2:]
    is_tied = words[0] == "tied"
    sys.exit(main(sys.argv[1], is_tied, words[is_tied:]))
