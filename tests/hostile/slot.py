"""A process that grades what it is told to: the grader's slot, as its orchestrator would have it.

Started as `python -m hostile.slot LESSON NUMBER`; a line of JSON in, a line of JSON out.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path


def main() -> None:
    """Grade until the input ends."""
    from helpers.grade.judge import Budgets, Judge

    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    # What does not come to an end is to cost these tests little.
    budgets = Budgets(step=3.0, cells=8.0, call=4.0, exercise=14.0, submission=60.0)
    judge = Judge(sys.argv[1], "bubblewrap", int(sys.argv[2]), budgets)
    for line in sys.stdin:
        wanted = json.loads(line)
        graded = judge.grade(Path(wanted["path"]), wanted["submission"], wanted["seed"])
        said = {
            "grade": graded.grade.as_json(),
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
            "open_files": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task")),
        }
        print(json.dumps(said), file=out, flush=True)
    judge.close()


if __name__ == "__main__":
    main()
