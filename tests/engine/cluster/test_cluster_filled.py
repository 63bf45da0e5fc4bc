"""A launcher's file filled in: its own lines changed, the rest as it was."""

from __future__ import annotations

import pytest

from helpers.engine.cluster.files import filled

TEXT = """#!/bin/bash
# A job.
#SBATCH --nodes=2
#SBATCH --time=00:10:00   # hours
#SBATCH --exclusive
##SBATCH --account=PROJECT

nodes=${NODES:-1}
set -- "$@"
srun python "$@"
"""


def test_settings_are_changed_in_their_places() -> None:
    text = filled(
        TEXT,
        ["-m", "a b"],
        {"nodes": 3, "partition": "rtx", "exclusive": None, "no-requeue": True},
        {"PATH": '/x:"$PATH"'},
    )
    assert text.splitlines() == [
        "#!/bin/bash",
        "# A job.",
        "#SBATCH --nodes=3",
        "#SBATCH --time=00:10:00   # hours",
        "#SBATCH --partition=rtx",
        "#SBATCH --no-requeue",
        "##SBATCH --account=PROJECT",
        "",
        'export PATH=/x:"$PATH"',
        "nodes=${NODES:-1}",
        "set -- -m 'a b'",
        'srun python "$@"',
    ]


def test_a_file_that_takes_no_command_is_refused() -> None:
    with pytest.raises(ValueError, match=r'needs a line set -- "\$@"'):
        filled("#SBATCH --nodes=2\nsrun python train.py\n", ["a.py"])
