"""A rank on a node, as the launcher starts it: a keeper, and the process that it keeps.

The keeper loads no framework. It says every second that the node lives, whatever the rank is
deep in, and writes down how the rank ended, which nobody else would: a killed process says nothing.

    python -m helpers.engine.cluster.rank FOLDER
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import NoReturn

import psutil

from helpers.engine.cluster.folder import Outcome, Plan, RunFolder
from helpers.engine.cluster.notes import Notes
from helpers.engine.cluster.place import Place, place

BEAT = 1.0  # seconds
LATE = 30.0  # seconds beyond the time-out: the notebook ends a run, and the keeper if it has gone
_HEARD = (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main(path: Path) -> int:
    """Keep one rank until it has ended; returns the exit status for the launcher."""
    here, folder = place(), RunFolder(path)
    plan = folder.plan()
    why = ""
    if here is None:
        why = "This is started by srun, torchrun or horovodrun."
    elif here.size != plan.size:
        why = f"The job has {here.size} tasks, and the run was packed for {plan.size}."
    elif folder.outcome(here.rank) is not None:
        why = f"Rank {here.rank} has ended before: this run is not started again."
    if here is None or why:
        print(why, file=sys.stderr)
        return 2
    end_with_parent(signal.SIGTERM)  # the launcher's end is this rank's
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    notes = Notes(here.rank, plan.size)
    pid = os.fork()
    if pid == 0:
        be_kept(here, plan, folder, notes)
    return keep(pid, here, plan, folder, notes)


def be_kept(here: Place, plan: Plan, folder: RunFolder, notes: Notes) -> NoReturn:
    """Be the rank's own process."""
    code = 1
    try:
        end_with_parent(signal.SIGKILL)
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        from helpers.engine.cluster.member import be_rank

        code = be_rank(here, plan, folder, notes)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def keep(pid: int, here: Place, plan: Plan, folder: RunFolder, notes: Notes) -> int:
    """Beat until the rank's process has ended, and say how it did."""
    limit = time.monotonic() + plan.start_timeout + plan.timeout + LATE
    beat, told, done, status = 0, "", 0, 0
    while not done:
        beat += 1
        now = {"beat": beat, "node": here.node, "cpu": processor(pid), **notes.read()}
        with contextlib.suppress(OSError):  # a full disk must not end the rank
            folder.write_now(here.rank, now)
        heard = signal.sigtimedwait(_HEARD, BEAT)
        if heard is not None and heard.si_signo != signal.SIGCHLD:
            told = "ended"
        elif time.monotonic() > limit:
            told = "late"
        if told:
            end_group(pid)
        done, status = os.waitpid(pid, 0 if told else os.WNOHANG)
    end_group(pid)  # what it had started
    code = os.waitstatus_to_exitcode(status)
    if folder.outcome(here.rank) is None:
        folder.write_now(here.rank, {**now, **notes.read()})  # the last word of one that was killed
        folder.put_outcome(here.rank, Outcome(told or "died", here.node, time.time(), code=code))
    return code if code >= 0 else 128 - code


def processor(pid: int) -> float:
    """Seconds of processor time that a process has used."""
    with contextlib.suppress(psutil.Error):
        return float(sum(psutil.Process(pid).cpu_times()[:2]))
    return 0.0


def end_group(pid: int) -> None:
    """Kill a process and those that it has started."""
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def end_with_parent(number: signal.Signals) -> None:
    """Ask Linux for a signal when the parent ends, however it ends."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(number), 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
