"""A site: SLURM with two nodes on this machine, started, asked and ended.

    site = up()                     # stays until down(), and the engine finds it by itself
    with started() as site:         # ends with the block, or with this process however it ends
        subprocess.run(["srun", "-N2", "hostname"], env=site.environment())

It works for root and for an ordinary user, whose jobs then run as that user. A site's folder lies
with temporary files: munge's socket must have a short path.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from helpers.engine.slurm import settings
from helpers.engine.slurm.running import START, TIES, Site, SiteFailed, clean
from helpers.setup import places, system
from helpers.setup.lock import locked

TRIES = 3  # another process may take a port between our choosing and SLURM's listening


def missing() -> str:
    """Why no site can be started here and how to have it; "" where one can."""
    if sys.platform != "linux":
        return f"SLURM runs on Linux, and this is {sys.platform}."
    tools = system.missing_slurm_tools()
    if not tools:
        return ""
    return f"{' and '.join(tools)} missing: {system.install_line(tools)}"


def up() -> Site:
    """The user's site: the one that runs, mended where a node is down, or a new one.

    It stays until `down`, whoever started it. Raises SiteFailed.
    """
    with locked(_record().with_suffix(".lock"), "Another command starts SLURM; waiting for it."):
        site = found()
        if site is not None:
            site.revive()
            return site
        _forget()
        return start(tied=False, record=_record())


def down() -> bool:
    """End the user's site, or what is left of it; returns whether there was one."""
    with locked(_record().with_suffix(".lock"), "Another command starts SLURM; waiting for it."):
        return _forget()


def found() -> Site | None:
    """The user's site, if it is up."""
    site = _recorded()
    return site if site and site.is_up() else None


def environment() -> dict[str, str]:
    """This process's environment, in which SLURM's commands find a SLURM without being told.

    SLURM_CONF that is set already stands. Otherwise the user's site, if it is up, is what they
    find; otherwise what the machine itself is set up for.
    """
    if os.environ.get("SLURM_CONF"):
        return dict(os.environ)
    site = found()
    return site.environment() if site else dict(os.environ)


@contextlib.contextmanager
def started() -> Iterator[Site]:
    """A site of one's own, which ends with the block or with this process. Raises SiteFailed."""
    site = start(tied=True)
    try:
        yield site
    finally:
        site.stop()


def start(tied: bool, record: Path | None = None) -> Site:
    """Start a new site and wait until its nodes are idle; tied, it ends with this process.

    record: the file to name its folder in, before anything runs. Raises SiteFailed.
    """
    if why := missing():
        raise SiteFailed(why)
    for last in [*[False] * (TRIES - 1), True]:
        folder = _new_folder()
        if record is not None:
            record.write_text(f"{folder}\n", encoding="utf-8")
        settings.write(folder)
        site = Site(folder)
        _start_keeper(folder, tied)
        try:
            site.wait()
            return site
        except BaseException as error:
            words = site.last_words()
            site.stop()
            if last or not isinstance(error, SiteFailed) or "in use" not in words:
                raise
    raise AssertionError("unreachable")


def _new_folder() -> Path:
    """A folder of a short name that only this user may read."""
    for place in (tempfile.gettempdir(), "/tmp"):
        if len(place) + 40 < settings.LONGEST_SOCKET:
            return Path(tempfile.mkdtemp(prefix="course-slurm-", dir=place)).resolve()
    raise AssertionError("unreachable")


def _start_keeper(folder: Path, tied: bool) -> None:
    command = [sys.executable, "-m", "helpers.engine.slurm.keeper", str(folder)]
    env = {**clean(os.environ), "SLURM_CONF": str(folder / settings.CONF)}
    others = os.environ.get("PYTHONPATH")
    env["PYTHONPATH"] = os.pathsep.join([str(places.ROOT), *([others] if others else [])])
    env["PATH"] = f"{env.get('PATH', os.defpath)}:{':'.join(system.SBIN)}"
    reading, writing = os.pipe() if tied else (os.open(os.devnull, os.O_RDONLY), -1)
    try:
        with (folder / "keeper.out").open("ab") as out:
            keeper = subprocess.Popen(
                [*command, *(["tied"] if tied else [])],
                stdin=reading, stdout=out, stderr=out, env=env, cwd="/", start_new_session=True,
            )  # fmt: skip
    finally:
        os.close(reading)
    if tied:
        TIES[folder] = writing
    end = time.monotonic() + START
    while not (folder / settings.PIDS).exists() and keeper.poll() is None:
        if time.monotonic() > end:
            break
        time.sleep(0.01)


def _record() -> Path:
    """The file that names the user's site."""
    places.cache().mkdir(parents=True, exist_ok=True)
    return places.cache() / "slurm"


def _recorded() -> Site | None:
    try:
        folder = Path((places.cache() / "slurm").read_text(encoding="utf-8").strip())
    except OSError:
        return None
    return Site(folder) if folder.name.startswith("course-slurm-") else None


def _forget() -> bool:
    site = _recorded()
    if site is not None:
        site.stop()
    _record().unlink(missing_ok=True)
    return site is not None
