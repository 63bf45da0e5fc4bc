"""`./course lab` ends when the server does, with a request still open too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from helpers.course.setup.places import ROOT

ENDS = """
import threading
from helpers.course import lab

def serve(options, listens):
    threading.Thread(target=threading.Event().wait).start()  # as a request that is cut off leaves
    return 3

lab.serve = serve
print("started")
lab.lab(None, False, ("--debug",))
"""


@pytest.mark.real
def test_a_thread_of_a_request_that_was_cut_off_is_not_waited_for() -> None:
    done = subprocess.run([sys.executable, "-c", ENDS], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (3, "started\n"), done.stderr
