"""The Python environment and the pinned packages in it."""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from helpers.setup import places, state
from helpers.setup.errors import SetupFailed
from helpers.setup.progress import Step, base_python, run, tail

# A Python that was built without ssl or sqlite3 would fail later, in pip or in JupyterLab.
WORKS = "import ensurepip, sqlite3, ssl, sys, venv; print('%d.%d' % sys.version_info[:2])"


def clean_env() -> dict[str, str]:
    """Our environment without what would make pip or Python look elsewhere."""
    # PIP_USER may come from a configuration file too: 0 says no to that as well.
    dropped = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PIP_USER": "0", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def python_version(python: Path) -> str | None:
    """The version of an interpreter, as in "3.11"; None where it does not run or has no venv."""
    try:
        told = subprocess.run([python, "-c", WORKS], capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return told.stdout.strip() if told.returncode == 0 else None


def site(python: Path) -> Path:
    """The environment's folder of installed packages."""
    code = "import sysconfig; print(sysconfig.get_paths()['purelib'])"
    told = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    return Path(told.stdout.strip())


def versions(python: Path) -> dict[str, str]:
    """The versions of everything installed, by lower-case name, without importing any of it."""
    found = distributions(path=[str(site(python))])
    return {one.metadata["Name"].lower(): one.version for one in found if one.metadata["Name"]}


def remove(folder: Path) -> None:
    """Remove a folder, moved out of the way first so that none sees it half removed."""
    old = folder.with_name(f"{folder.name}.old-{os.getpid()}")
    os.replace(folder, old)
    shutil.rmtree(old, ignore_errors=True)


def make_environment(environment: Path, log: Path) -> dict[str, Any]:
    """Make `.venv` unless a sound one is there. Returns its recorded state.

    An environment whose packages were being written when set-up was cut off is made anew:
    pip cannot tell a package that is half there from a whole one. So is one that was moved or
    copied with the folder that it is in: its commands start the Python of the old place.
    """
    for old in environment.parent.glob(".venv.old-*"):
        shutil.rmtree(old, ignore_errors=True)
    known = state.load(environment)
    python = places.python(environment)
    if places.in_conda():
        return known or {}
    half_made = known is not None and known.get("packages") is None
    moved = known is not None and known.get("root", str(places.ROOT)) != str(places.ROOT)
    unsound = half_made or moved or python_version(python) not in state.VERSIONS
    if environment.exists() and unsound:
        remove(environment)
        known = None
    if environment.exists():
        return known or {}

    step = Step("[1/4] Python environment in .venv")
    environment.mkdir()
    state.save(environment, {"packages": None})
    base = base_python()
    if run([base, "-m", "venv", environment], log, step, env=clean_env()) != 0:
        remove(environment)  # or it would be taken before the Python that is named next
        raise SetupFailed(
            f"{base} could not make an environment in {environment}:\n{tail(log)}\n"
            "Free some disk space, or name another Python 3.11, 3.12 or 3.13 with "
            "COURSE_PYTHON=… in front of the command."
        )
    step.done()
    return {"packages": None}


def told_by_pip(line: str) -> str | None:
    """The part of pip's output that tells where it is."""
    words = line.split()
    if line.startswith("Installing collected packages"):
        return f"writing {len(words) - 3} packages"
    if words[:1] in (["Collecting"], ["Downloading"]):
        return " ".join(words[:2])[:70]
    return None


def pip(environment: Path) -> list[str]:
    """How pip is called: through the interpreter, so that no path is too long for a script."""
    return [str(places.python(environment)), "-m", "pip", "--no-input"]


def install(environment: Path, log: Path) -> None:
    """Install the pinned set, and make the project itself importable.

    Raises SetupFailed with the end of the log where pip fails.
    """
    step = Step("[2/4] Python packages")
    # pip holds all downloads in a temporary folder: /tmp may be small, and in memory.
    temporary = environment / "pip-tmp"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    env = {**clean_env(), "TMPDIR": str(temporary)}
    constraints = places.ROOT / "constraints.txt"
    # pip would compile one module after the other; below, all cores do.
    call = [*pip(environment), "install", "--no-compile", "--progress-bar", "off"]
    call += ["-c", str(constraints)]
    # pip itself first: the one that came with Python may be years older than the pinned set.
    for wanted in (["pip"], state.dependencies()):
        if run(call + wanted, log, step, told_by_pip, env) != 0:
            raise SetupFailed(
                f"pip could not install the packages:\n{tail(log)}\n"
                f"The whole log is {log}. Check the network and the disk, then repeat the "
                "command: what was downloaded is kept."
            )
    compile_modules(environment, log, step, env)
    shutil.rmtree(temporary, ignore_errors=True)
    # A path file makes `import helpers` work from every folder, with nothing to build.
    pth = site(places.python(environment)) / "course.pth"
    new = pth.with_suffix(".new")
    new.write_text(f"{places.ROOT}\n", encoding="utf-8")
    os.replace(new, pth)
    step.done()


def compile_modules(environment: Path, log: Path, step: Step, env: dict[str, str]) -> None:
    """Compile all installed modules to byte code, on all cores.

    Its exit status says nothing: some packages bring templates and tests that are no Python.
    """
    from helpers.doctor import usable_cores

    python = places.python(environment)
    cores = str(max(1, round(usable_cores())))
    call = [str(python), "-m", "compileall", "-q", "-j", cores, str(site(python))]
    run(call, log, step, lambda line: "compiling", env)


CHECK = """
import os, sys
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["TF_USE_LEGACY_KERAS"] = "1"
import torch, tensorflow
if "horovod" in sys.argv:
    import horovod.torch, horovod.tensorflow, horovod.tensorflow.keras
    assert horovod.torch.gloo_built() and horovod.tensorflow.gloo_built()
    horovod.torch.init()
import helpers
"""


def import_together(environment: Path, horovod: bool, log: Path, step: Step) -> bool:
    """Whether torch, TensorFlow and, if asked, Horovod load in one process."""
    command = [str(places.python(environment)), "-c", CHECK]
    if horovod:
        command.append("horovod")
    return run(command, log, step, lambda line: None, clean_env()) == 0
