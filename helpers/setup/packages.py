"""The Python environment and the pinned packages in it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from helpers.setup import disk, moved, places, reasons, state, wanted
from helpers.setup.errors import SetupFailed
from helpers.setup.machine import usable_cores
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
    """The versions of everything installed, by lower-case name, without importing any of it.

    torch's is the one that names its build, such as 2.13.0+cpu or 2.13.0+cu130: the package's own
    leaves that out where it came from the usual place.
    """
    folder = site(python)
    found = distributions(path=[str(folder)])
    named = {one.metadata["Name"].lower(): one.version for one in found if one.metadata["Name"]}
    with contextlib.suppress(OSError):
        text = (folder / "torch" / "version.py").read_text(encoding="utf-8")
        if build := re.search(r"^__version__ = ['\"](.+?)['\"]", text, re.MULTILINE):
            named["torch"] = build.group(1)
    return named


@contextlib.contextmanager
def scratch(environment: Path) -> Iterator[dict[str, str]]:
    """What to run venv and pip with: their temporary files go into the environment.

    /tmp may be small, and in memory. And what a killed command leaves there stays for good, while
    here it goes with the environment, or at the next start.
    """
    folder = environment / "course-tmp"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    try:
        yield {**clean_env(), "TMPDIR": str(folder)}
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove(folder: Path) -> None:
    """Remove a folder, moved out of the way first so that none sees it half removed."""
    old = folder.with_name(f"{folder.name}.old-{os.getpid()}")
    os.replace(folder, old)
    shutil.rmtree(old, ignore_errors=True)


def make_environment(environment: Path, log: Path) -> dict[str, Any]:
    """Make `.venv` unless a sound one is there. Returns its recorded state.

    An environment whose packages were being written when set-up was cut off is made anew:
    pip cannot tell a package that is half there from a whole one. One that was moved or copied
    with the folder that it is in is fitted to its new place, or made anew where that does not do.
    """
    for old in environment.parent.glob(".venv.old-*"):
        shutil.rmtree(old, ignore_errors=True)
    known = state.load(environment)
    if places.in_conda():
        return known or {}
    if environment.exists():
        why = _unsound(environment, known)
        if why is None and known and known.get("root", str(places.ROOT)) != str(places.ROOT):
            known = _fit(environment, known, log)
            why = None if known else "has not come here whole"
        if why is None:
            return known or {}
        print(f"The environment in {environment.name} {why}: it is made anew.", flush=True)
        remove(environment)
    _make(environment, log)
    return {"packages": None}


def _unsound(environment: Path, known: dict[str, Any] | None) -> str | None:
    """Why an environment that is there cannot be used, if so."""
    if known is not None and known.get("packages") is None:
        return "is half made, since set-up was cut off"
    if python_version(places.python(environment)) not in state.VERSIONS:
        return f"has no {state.ACCEPTED} that starts"
    return None


def _fit(environment: Path, known: dict[str, Any], log: Path) -> dict[str, Any] | None:
    """Fit an environment that was moved or copied to its new place.

    Returns its new state, in which it still has to be checked; None where that does not do.
    """
    step = Step(f"The course was at {known['root']} before: fitting .venv to its new place")
    python = places.python(environment)
    try:
        whole = moved.is_whole(site(python))
    except (OSError, subprocess.CalledProcessError):
        whole = False
    if not whole:
        step.done("not all of it is there")
        return None
    with scratch(environment) as env:
        # Writes the scripts that activate it; what is installed stays.
        call = [str(python), "-m", "venv", "--without-pip", str(environment)]
        if run(call, log, step, env=env) != 0:
            step.done("its Python cannot")
            return None
    moved.rewrite_scripts(environment, Path(known["root"]) / environment.name)
    make_importable(environment)
    known = {**known, "root": str(places.ROOT)}
    known.pop("checked", None)
    state.save(environment, known)
    step.done()
    return known


def _make(environment: Path, log: Path) -> None:
    """Make the environment. Raises SetupFailed where that does not work; then none is left."""
    disk.look_before_all(environment)
    step = Step("[1/4] Python environment in .venv")
    base = base_python()
    try:
        environment.mkdir()
        state.save(environment, {"packages": None})
        with scratch(environment) as env:
            made = run([base, "-m", "venv", environment], log, step, env=env) == 0
    except BaseException:
        remove(environment)
        raise
    if not made:
        full = disk.full() if reasons.disk_was_full(log) else None
        remove(environment)  # or it would be taken before the Python that is named next
        raise SetupFailed(
            full
            or f"{base} could not make an environment in {environment}:\n{tail(log)}\n"
            f"Name another {state.ACCEPTED} with COURSE_PYTHON=… in front of the command."
        )
    step.done()


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

    Raises SetupFailed with the reason where pip fails.
    """
    if "torch" not in versions(places.python(environment)):
        disk.look_before_packages(environment, pip(environment), clean_env())
    step = Step("[2/4] Python packages")
    # pip would compile one module after the other; below, all cores do.
    call = [*pip(environment), "install", "--no-compile", "--progress-bar", "off"]
    call += ["-c", str(places.ROOT / "constraints.txt")]
    with scratch(environment) as env, disk.Watch(environment) as watch:
        # pip itself first: the one that came with Python may be years older than the pinned set.
        for names in (["pip"], wanted.dependencies()):
            if run(call + names, log, step, told_by_pip, env) != 0:
                raise SetupFailed(disk.full() if watch.ran_out() else why_pip_failed(log))
        compile_modules(environment, log, step, env)
    make_importable(environment)
    step.done()


def why_pip_failed(log: Path) -> str:
    """The disk, the network, or the end of what pip said."""
    if reasons.disk_was_full(log):
        return disk.full()
    if sentence := reasons.unconnected(log):
        return f"{sentence} The whole log is {log}."
    return (
        f"pip could not install the packages:\n{tail(log)}\nThe whole log is {log}. "
        "Repeat the command: what was downloaded is kept. If that does not help, please report "
        "the lines above."
    )


def make_importable(environment: Path) -> None:
    """Let `import helpers` work from every folder: by a path file, with nothing to build."""
    pth = site(places.python(environment)) / "course.pth"
    new = pth.with_suffix(".new")
    new.write_text(f"{places.ROOT}\n", encoding="utf-8")
    os.replace(new, pth)


def compile_modules(environment: Path, log: Path, step: Step, env: dict[str, str]) -> None:
    """Compile all installed modules to byte code, on all cores.

    Its exit status says nothing: some packages bring templates and tests that are no Python.
    """
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
