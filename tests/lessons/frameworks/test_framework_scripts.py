"""The scripts of lesson 04 start from a shell with the very lines that the lesson prints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from helpers.lessons.frameworks.experiments import script, setting
from helpers.lessons.frameworks.experiments.in_torch import train_alone

ROOT = Path(__file__).resolve().parents[3]
LESSON = ROOT / "solutions" / "04_frameworks.ipynb"
SCRIPTS = {
    "train_torch": [],
    "train_horovod": [pytest.mark.horovod],
    "train_tensorflow": [pytest.mark.tensorflow],
}
LINE = re.compile(r"50 steps on 2 ranks: loss (\S+), checksum of the weights (\S+)$", re.MULTILINE)


def from_docstring(name: str) -> str:
    """The lines that a script's own docstring prints."""
    text = (ROOT / "cluster" / "local" / f"{name}.py").read_text(encoding="utf-8")
    paragraphs = text.split('"""')[1].split("\n\n")
    return next(p for p in paragraphs if f"cluster/local/{name}.py" in p)


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=m) for n, m in SCRIPTS.items()])
def test_the_lines_that_are_printed_train_to_the_same_end(name: str) -> None:
    """Typed into a shell in the course's folder, with its environment active."""
    private = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG"}
    environment = {k: v for k, v in os.environ.items() if k not in private}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    typed = ["bash", "-c", from_docstring(name)]
    done = subprocess.run(typed, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    alone = train_alone()
    wanted = (f"{alone.losses[-1]:.4f}", f"{setting.checksum(alone.weights):.4f}")
    assert LINE.findall(done.stdout) == [wanted], done.stderr[-2000:]
    assert done.stdout.count("\n") == 1  # nothing but the line
    if name != "train_horovod":  # its launcher lets TensorFlow talk
        assert done.stderr == ""


def test_the_lesson_prints_these_lines() -> None:
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    for name in SCRIPTS:
        assert from_docstring(name).strip() in text, f"the lesson prints other lines for {name}"


def test_a_file_of_ones_own_gives_the_function(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def prepare(hvd, model, optimizer):\n    return 7\n")
    assert script.function_in(str(file), "prepare")(None, None, None) == 7
    with pytest.raises(SystemExit, match="has no function resume"):
        script.function_in(str(file), "resume")
