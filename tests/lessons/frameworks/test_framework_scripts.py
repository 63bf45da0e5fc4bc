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
SCRIPTS = ("train_torch", "train_horovod", "train_tensorflow")
MARKS = {
    "train_torch": [],
    "train_horovod": [pytest.mark.horovod],
    "train_tensorflow": [pytest.mark.tensorflow],
}
LINE = re.compile(r"50 steps on 2 ranks: loss (\S+), checksum of the weights (\S+)$", re.MULTILINE)


def printed() -> list[str]:
    """The blocks of the lesson that start a script of cluster/local."""
    if not LESSON.exists():
        return []
    cells = json.loads(LESSON.read_text(encoding="utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    blocks = [b for text in texts for b in re.findall(r"^```\w*\n(.*?)^```", text, re.M | re.S)]
    return [block for block in blocks if "cluster/local/" in block]


def from_docstring(name: str) -> str:
    """The lines that a script's own docstring prints."""
    text = (ROOT / "cluster" / "local" / f"{name}.py").read_text(encoding="utf-8")
    paragraphs = text.split('"""')[1].split("\n\n")
    return next(p for p in paragraphs if f"cluster/local/{name}.py" in p)


def shell(lines: str) -> subprocess.CompletedProcess[str]:
    """Type lines into a shell in the course's folder, with its environment active."""
    private = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TF_CONFIG"}
    environment = {k: v for k, v in os.environ.items() if k not in private}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return subprocess.run(
        ["bash", "-c", lines],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )


@pytest.mark.real
@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(n, marks=MARKS[n]) for n in SCRIPTS])
def test_the_lines_that_are_printed_train_to_the_same_end(name: str) -> None:
    lines = from_docstring(name)
    done = shell(lines)
    assert done.returncode == 0, done.stderr[-2000:]
    alone = train_alone()
    wanted = (f"{alone.losses[-1]:.4f}", f"{setting.checksum(alone.weights):.4f}")
    assert LINE.findall(done.stdout) == [wanted], done.stderr[-2000:]
    assert done.stdout.count("\n") == 1  # nothing but the line
    if name != "train_horovod":  # its launcher lets TensorFlow talk
        assert done.stderr == ""


def test_the_lesson_prints_these_lines() -> None:
    blocks = printed()
    if not blocks:
        pytest.skip("Lesson 04 is not there.")
    text = "\n".join(blocks)
    for name in SCRIPTS:
        assert from_docstring(name).strip() in text, f"the lesson prints other lines for {name}"


def test_a_file_of_ones_own_gives_the_function(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def prepare(hvd, model, optimizer):\n    return 7\n")
    assert script.function_in(str(file), "prepare")(None, None, None) == 7
    with pytest.raises(SystemExit, match="has no function resume"):
        script.function_in(str(file), "resume")
