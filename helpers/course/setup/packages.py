"""The Python environment and the pinned packages in it.

uv installs them, in seconds where its cache has them. Where it cannot be had, pip does.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
from pathlib import Path

from helpers.course.setup import places, state
from helpers.course.setup.progress import SetupFailed, Step, base_python, run, tail

ROOM = 5e9  # bytes, measured as the most that is taken without CUDA
INSTALLER = "COURSE_INSTALLER"  # "pip" in it: without uv
# pip's settings, and the variables in which uv has the same; what it has several of, and how apart.
AS_UV_HAS_THEM = {
    "index-url": ("UV_DEFAULT_INDEX", ""),
    "extra-index-url": ("UV_INDEX", " "),
    "find-links": ("UV_FIND_LINKS", ","),
    "constraint": ("UV_CONSTRAINT", " "),
    "trusted-host": ("UV_INSECURE_HOST", " "),
    "no-index": ("UV_NO_INDEX", ""),
    "cert": ("SSL_CERT_FILE", ""),
    "proxy": ("ALL_PROXY", ""),
    "timeout": ("UV_HTTP_TIMEOUT", ""),
}


def clean_env() -> dict[str, str]:
    """Our environment without what would make pip or Python look elsewhere."""
    # PIP_USER may come from a configuration file too: 0 says no to that as well.
    dropped = ("PYTHONPATH", "PYTHONHOME", "PIP_TARGET", "PIP_PREFIX", "PIP_REQUIRE_VIRTUALENV")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, "PIP_USER": "0", "PYTHONUNBUFFERED": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


def pip() -> list[str]:
    """How pip is called: through the interpreter, so that no path is too long for a script."""
    return [str(places.python()), "-m", "pip", "--no-input"]


def make_environment(log: Path) -> None:
    """Make `.venv` unless a sound one is there, whose packages are only to be brought up to date.

    One whose packages were being written when set-up was cut off is made anew, for no installer
    can tell a package that is half there. So is one that was moved or copied with its folder: its
    scripts name the old place. What was downloaded is kept elsewhere.
    """
    environment = places.environment()
    for old in environment.parent.glob(".venv.old-*"):
        shutil.rmtree(old, ignore_errors=True)
    if places.in_conda():
        return
    if environment.exists():
        if is_sound(environment):
            return
        print(
            "The environment in .venv is half made, since set-up was cut off, or was moved, or has "
            "lost its Python: it is made anew.",
            flush=True,
        )
        remove(environment)
    if (left := shutil.disk_usage(places.ROOT).free) < ROOM:
        raise SetupFailed(
            f"The disk has too little room: {left / 1e9:.1f} GB is free for {environment}, and the "
            f"packages need {ROOM / 1e9:g} GB, or twice that with PyTorch's CUDA build. Free some "
            "space, or move the course to a larger disk, then repeat the command."
        )
    step = Step("[1/3] Python environment in .venv")
    environment.mkdir()
    state.save({"packages": None})
    with tempfile.TemporaryDirectory(dir=environment) as folder:
        env = {**clean_env(), "TMPDIR": folder}
        failed = run([base_python(), "-m", "venv", environment], log, step, env)
    if failed:
        remove(environment)  # or it would be taken before the Python that is named next
        raise SetupFailed(
            f"{base_python()} could not make an environment in {environment}:\n{tail(log)}\n"
            f"Name another {state.ACCEPTED} with COURSE_PYTHON=… in front of the command."
        )
    step.done()


def is_sound(environment: Path) -> bool:
    """Whether an environment that is there can be used. Raises SetupFailed for somebody else's."""
    known = state.load()
    if not known:
        raise SetupFailed(
            f"{environment} is not of the course's making, or is a part of a copy. Delete it, or "
            "move it away, then repeat the command."
        )
    here = {**state.complete(), "packages": known["packages"]}  # other pins are brought up to date
    return bool(known["packages"]) and here.items() <= known.items() and places.python().exists()


def remove(folder: Path) -> None:
    """Remove a folder, moved out of the way first so that none sees it half removed."""
    old = folder.with_name(f"{folder.name}.old-{os.getpid()}")
    os.replace(folder, old)
    shutil.rmtree(old, ignore_errors=True)


def install(log: Path) -> None:
    """Install the pinned set, and see that it loads. Raises SetupFailed with what was said."""
    step = Step("[2/3] Python packages")
    state.save({"packages": None})
    pins = ["-c", str(places.ROOT / "constraints.txt")]
    # Temporary files go into the environment: /tmp may be small, and what a killed command leaves
    # there would stay for good.
    with tempfile.TemporaryDirectory(dir=places.environment()) as folder:
        env = {**clean_env(), "TMPDIR": folder}
        wanted = ["pip", *state.dependencies(), *pins]
        if uv := _uv(log, step, env):
            env = {**as_uv_has_them(_pip_settings(env)), **env}
            call = [str(uv), "pip", "install", "--python", str(places.python()), *wanted]
            call += ["--compile-bytecode", "--index-strategy", "unsafe-best-match"]  # as pip's
            # What its cache has needs no network, as after the folder was moved.
            failed = run([*call, "--offline"], log, step, env) and run(call, log, step, env)
        else:
            failed = run([*pip(), "install", "--progress-bar", "off", *wanted], log, step, env)
    if failed:
        raise SetupFailed(
            f"The packages could not be installed:\n{tail(log)}\n\n"
            "Repeat the command: what was downloaded is kept. Where nothing could be resolved or "
            "reached, connect this machine, or name a proxy in front of the command with "
            "HTTPS_PROXY=…, and its certificate with PIP_CERT=…. All of set-up takes about "
            f"{ROOM / 1e9:g} GB of disk, twice that with PyTorch's CUDA build. {INSTALLER}=pip "
            f"goes without uv. The whole log is {log}."
        )
    make_importable()
    if not loads(False, log, step):
        raise SetupFailed(
            f"torch and TensorFlow do not load here:\n{tail(log)}\n"
            "Repeat the command; if that does not help, please report the lines above."
        )
    state.save(state.complete())
    step.done()


def _uv(log: Path, step: Step, env: dict[str, str]) -> Path | None:
    """The program uv, which stays in the cache; None where it cannot be had."""
    wanted = state.pinned("uv")
    program = places.cache() / wanted.replace("==", "-")
    if os.environ.get(INSTALLER) == "pip":
        return None
    if not program.exists():
        if run([*pip(), "install", "--retries", "1", wanted], log, step, env):
            return None
        keep(places.scripts() / "uv", program)
    return program


def _pip_settings(env: dict[str, str]) -> str:
    """pip's settings, from its files and from the environment, as it lists them."""
    asked = subprocess.run([*pip(), "config", "list"], env=env, capture_output=True, text=True)
    return asked.stdout


def as_uv_has_them(listed: str) -> dict[str, str]:
    """pip's settings in uv's variables, and the system's certificates where it has any."""
    told = {}
    for section in ("global", "install", ":env:"):  # a later one counts
        for name, value in re.findall(rf"^{section}\.([\w-]+)=(.*)$", listed, re.MULTILINE):
            if name in AS_UV_HAS_THEM:
                variable, between = AS_UV_HAS_THEM[name]
                text = str(ast.literal_eval(value))
                told[variable] = between.join(text.split()) if between else text
    paths = ssl.get_default_verify_paths()
    if sys.platform == "darwin" or paths.cafile or (paths.capath and os.listdir(paths.capath)):
        told["UV_SYSTEM_CERTS"] = "1"
    return told


def keep(file: Path, place: Path) -> Path:
    """Copy a file into the cache, where it appears whole or not at all."""
    place.parent.mkdir(parents=True, exist_ok=True)
    partial = place.with_name(f"{place.name}.{os.getpid()}")
    shutil.copy(file, partial)
    os.replace(partial, place)
    return place


def make_importable() -> None:
    """Let `import helpers` work from every folder: by a path file, with nothing to build."""
    for folder in places.environment().glob("lib/python3*/site-packages"):
        (folder / "course.pth").write_text(f"{places.ROOT}\n", encoding="utf-8")


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


def loads(horovod: bool, log: Path, step: Step) -> bool:
    """Whether torch, TensorFlow and, if asked, Horovod load in one process."""
    command = [str(places.python()), "-c", CHECK, *["horovod"] * horovod]
    return run(command, log, step, clean_env()) == 0
