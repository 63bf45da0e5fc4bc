"""The process that keeps what stands for the nodes of a cluster: nothing outlives it.

It starts commands as it is told, a line of JSON each, and adopts what they leave behind. When its
standard input closes, which it does however the other end came to its end, all of them are killed,
and the folder that they wrote into goes.

    python -m helpers.lessons.cluster.experiments.elastic_keeper FOLDER
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from typing import Any

import psutil

from helpers.engine.rank import die_with_server
from helpers.engine.server import adopt_orphans, end_descendants


def main() -> None:
    """Serve until standard input closes, then end everything."""
    adopt_orphans()
    started: dict[int, subprocess.Popen[bytes]] = {}
    try:
        for line in sys.stdin:
            print(json.dumps(answer(json.loads(line), started)), flush=True)
    finally:
        end_descendants(list(started))
        shutil.rmtree(sys.argv[1], ignore_errors=True)


def answer(asked: dict[str, Any], started: dict[int, subprocess.Popen[bytes]]) -> Any:
    """Start a command and give its process id; or say how one ended, None while it runs."""
    if "ended" in asked:
        return started[asked["ended"]].poll()
    collect_orphans(started)
    with open(asked["output"], "ab") as output:
        try:
            process = subprocess.Popen(
                asked["command"],
                cwd=asked["folder"],
                env=asked["environment"],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=die_with_server,
            )
        except OSError as error:
            return str(error)
    started[process.pid] = process
    return process.pid


def collect_orphans(started: dict[int, subprocess.Popen[bytes]]) -> None:
    """Collect processes that have ended after their parents; those started here have a handle."""
    for child in psutil.Process().children():
        if child.pid not in started and child.status() == psutil.STATUS_ZOMBIE:
            os.waitpid(child.pid, os.WNOHANG)


if __name__ == "__main__":
    main()
