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
    if here is None or (why := refused(here, plan, folder)):
        why = "This is started by srun, torchrun or horovodrun." if here is None else why
        print(why, file=sys.stderr)
        return 2
    end_with(signal.SIGTERM)  # the launcher's end is this rank's
    signal.pthread_sigmask(signal.SIG_BLOCK, _HEARD)
    notes = Notes(here.rank, plan.size)
    pid = os.fork()
    if pid == 0:
        be_kept(here, plan, folder, notes)
    return keep(pid, here, plan, folder, notes)


def refused(here: Place, plan: Plan, folder: RunFolder) -> str:
    """Why a rank cannot be this run's; "" where it can."""
    if here.size != plan.size:
        return f"The job has {here.size} tasks, and the run was packed for {plan.size}."
    if folder.outcome(here.rank) is not None:
        return f"Rank {here.rank} has ended before: this run is not started again."
    return ""


def be_kept(here: Place, plan: Plan, folder: RunFolder, notes: Notes) -> NoReturn:
    """Be the rank's own process."""
    code = 1
    try:
        end_with(signal.SIGKILL)
        os.setpgid(0, 0)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _HEARD)
        from helpers.engine.cluster.member import be_rank

        code = be_rank(here, plan, folder, notes)
    except BaseException:
        import traceback

        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def keep(pid: int, here: Place, plan: Plan, folder: RunFolder, notes: Notes) -> int:
    """Beat until the rank's process has ended, and say how it did."""
    begin, beat, told, noted = time.monotonic(), 0, "", notes.read()
    limit = plan.start_timeout + plan.timeout + LATE
    while True:
        with contextlib.suppress(OSError):  # a full disk must not end the rank
            told_now = {"beat": beat, "node": here.node, "pid": pid, "cpu": processor(pid)}
            folder.write(here.rank, "beat", told_now)
            if (now := notes.read()) != noted:
                folder.write(here.rank, "now", now)
                noted = now
        beat += 1
        heard = signal.sigtimedwait(_HEARD, BEAT)
        if heard is not None and heard.si_signo != signal.SIGCHLD:
            told = "ended"
        elif time.monotonic() - begin > limit:
            told = "late"
        if told:
            end_group(pid)
        done, status = os.waitpid(pid, 0 if told else os.WNOHANG)
        if done:
            break
    end_group(pid)  # what it had started
    code = os.waitstatus_to_exitcode(status)
    if folder.outcome(here.rank) is None:
        folder.write(here.rank, "now", notes.read())  # the last word of one that was killed
        outcome = Outcome(told or "died", here.node, time.time(), code=code)
        folder.put_outcome(here.rank, outcome)
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


def end_with(number: signal.Signals) -> None:
    """Ask Linux for a signal when the parent ends, however it ends."""
    if sys.platform == "linux":
        import ctypes

        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, int(number), 0, 0, 0)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
