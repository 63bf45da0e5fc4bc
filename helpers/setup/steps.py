"""All of set-up, in order: environment, packages, Horovod, and a check that they load together."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import Any

from helpers.setup import horovod, packages, places, state, system
from helpers.setup.errors import DiskFull, SetupFailed
from helpers.setup.lock import locked
from helpers.setup.progress import Step, tail
from helpers.setup.reasons import has_written, is_full

WAITING = "Another set-up of this course is at work; this one goes on when that has ended."


def ensure() -> None:
    """Set everything up; quick where it already is. Raises SetupFailed."""
    environment = places.environment()
    with locked(places.ROOT / ".venv.lock", WAITING):
        if state.ready():
            return
        print("Setting up the course. You may interrupt it and go on later.", flush=True)
        known = _packages(environment)
        known = _horovod(environment, known)
        _check(environment, known)
        ensure_sandbox()


def _log(name: str) -> Path:
    """A fresh log of this checkout, in the user's cache."""
    log = places.logs() / f"{name}.log"
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        log.touch()
    except OSError as error:
        if is_full(error):
            raise
        raise SetupFailed(
            f"The cache folder {places.cache()} cannot be written to ({error.strerror}); name "
            "another with XDG_CACHE_HOME=… in front of the command."
        ) from None
    return log


def _packages(environment: Path) -> dict[str, Any]:
    log = _log("packages")
    known = packages.make_environment(environment, log)
    python = places.python(environment)
    told = packages.python_version(python)
    made = {"packages": state.key(), "python": told, "root": str(places.ROOT)}
    if made.items() <= known.items():
        return known
    # Until pip is through, the state says that the environment is half made.
    state.save(environment, {"packages": None})
    try:
        packages.install(environment, log)
    except BaseException:
        if not has_written(log):  # it is as sound as it was
            with contextlib.suppress(OSError):
                state.save(environment, {**known, "packages": known.get("packages") or "none yet"})
        raise
    state.save(environment, made)
    return made


def _horovod(environment: Path, known: dict[str, Any]) -> dict[str, Any]:
    """Install Horovod where it can be built; where it cannot, say so and go on."""
    if state.horovod_settled(known):
        return known
    step = Step("[3/4] Horovod")
    outcome = _install_horovod(environment, step)
    if "missing" in outcome:
        step.done("left out")
        print(f"      {outcome['missing']}", flush=True)
    else:
        step.done()
    known = {**known, "horovod": outcome}
    known.pop("checked", None)
    state.save(environment, known)
    return known


def _install_horovod(environment: Path, step: Step) -> dict[str, str]:
    """Returns {"wheel": …}, or {"missing": a sentence, "wants" or "log": when to try again}."""
    if sys.platform == "win32":
        return {"missing": "Horovod does not build on Windows; use WSL 2 to have it."}
    python = places.python(environment)
    key = horovod.cache_key(packages.python_version(python) or "", packages.versions(python))
    log = places.cache() / f"{key}.log"
    with locked(places.cache() / "horovod.lock", "Horovod is being built by another set-up."):
        wheel = horovod.cached(key)
        if wheel is None:
            missing = _build_tools(environment, step)
            if missing:
                return {"missing": missing, "wants": "tools"}
        try:
            if wheel is None:
                log.unlink(missing_ok=True)
                wheel = horovod.build(environment, key, log, step)
            horovod.install(environment, wheel, log, step)
        except DiskFull as failure:
            return {"missing": f"{failure} It is tried again once there is room.", "wants": "room"}
        except SetupFailed as failure:
            return {"missing": f"{failure} Delete {log} to have it tried again.", "log": str(log)}
    return {"wheel": str(wheel)}


def _build_tools(environment: Path, step: Step) -> str:
    """Install what compiling needs where we may; returns a sentence on what is still missing."""
    header = system.header_of(places.python(environment))
    missing = system.missing_build_tools(header)
    if missing and system.may_install():
        system.install(missing, _log("system"), step)
        missing = system.missing_build_tools(header)
    if not missing:
        return ""
    return (
        f"Horovod needs {' and '.join(missing)} to be built. "
        f"Type this and repeat the command to have it: {system.install_line(missing)}"
    )


def _check(environment: Path, known: dict[str, Any]) -> None:
    """See that the frameworks load together; leave Horovod out where it spoils that."""
    step = Step("[4/4] torch, TensorFlow and Horovod together")
    log = _log("check")
    with_horovod = "wheel" in known["horovod"]
    if not packages.import_together(environment, with_horovod, log, step):
        if not with_horovod or not packages.import_together(environment, False, log, step):
            raise SetupFailed(
                f"torch and TensorFlow do not load here:\n{tail(log)}\n"
                "Delete the folder .venv and repeat the command; if that does not help, please "
                "report the lines above."
            )
        horovod.uninstall(environment, log, step)
        Path(known["horovod"]["wheel"]).unlink(missing_ok=True)
        missing = f"Horovod does not load here; the reason stands in {log}. Delete it to try again."
        known = {**known, "horovod": {"missing": missing, "log": str(log)}}
        print(f"\n      {missing}", flush=True)
    step.done("they load")
    state.save(environment, {**known, "checked": known["packages"]})


def ensure_browser() -> None:
    """Install the browser of one test where we may; elsewhere say what to type, and go on."""
    if system.browser() is not None:
        return
    if system.may_install() and system.is_debian():
        step = Step("chromium, for the browser test")
        system.install(["chromium"], _log("system"), step)
        step.done("installed" if system.browser() else "not to be had")
    if system.browser() is None:
        line = system.install_line(["chromium"])
        print(f"No Chromium was found, so the browser test is left out. To have it: {line}")


def ensure_slurm() -> None:
    """Install what the tests' own SLURM needs where we may; elsewhere say what to type, and go on.

    Only on Debian itself: that of other systems is another version, which no test has seen.
    """
    if sys.platform != "linux" or not (missing := system.missing_slurm_tools()):
        return
    if system.may_install() and system.is_debian():
        step, log = Step(f"{' and '.join(missing)}, for the tests of lesson 17"), _log("system")
        system.install(missing, log, step, recommended=False)
        system.stop_services(missing, log, step)
        missing = system.missing_slurm_tools()
        step.done("not to be had" if missing else "installed")
    if missing:
        print(
            f"There is no {' and no '.join(missing)}, so the tests on a SLURM of two nodes are "
            f"left out. To have them: {system.install_line(missing)}"
        )


def ensure_sandbox() -> None:
    """Install what grading's sandbox needs where we may; elsewhere say what to type, and go on.

    A learner's copy of the course does not grade, so it is told nothing.
    """
    if not places.grades() or not (missing := system.missing_sandbox_tools()):
        return
    if sys.platform != "linux":
        print("Grading in a sandbox needs Linux, so ./course grade and its tests are left out.")
        return
    if system.may_install():
        step = Step(f"{' and '.join(missing)}, for grading in a sandbox")
        system.install(missing, _log("system"), step)
        missing = system.missing_sandbox_tools()
        step.done("not to be had" if missing else "installed")
    if missing:
        print(
            f"There is no {' and no '.join(missing)}, so ./course grade and its tests are left "
            f"out. To have them: {system.install_line(missing)}"
        )
