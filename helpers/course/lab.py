"""`./course lab`: JupyterLab at the first lesson, on this machine only, behind a token."""

from __future__ import annotations

import os
import secrets
import sys
import threading
import traceback
import webbrowser
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NoReturn

from helpers.course.setup import horovod, places, state
from helpers.course.setup.places import ROOT
from helpers.course.setup.progress import tail
from helpers.engine.chatter import stderr_to

# Server extensions that the course does not use: each costs start-up time or clutters the page.
UNUSED_EXTENSIONS = (
    "jupyter_lsp",
    "nbgrader.server_extensions.assignment_list",
    "nbgrader.server_extensions.course_list",
    "nbgrader.server_extensions.formgrader",
    "nbgrader.server_extensions.validate_assignment",
    "notebook",
)


# Who asks for one of these wants to read what JupyterLab says.
TALKATIVE = ("--debug", "--log-level", "--Application.log_level", "--ServerApp.log_level")


def address(port: int, token: str) -> str:
    """Where the first lesson that is there is; the list of files while there is none."""
    lessons = sorted((ROOT / "lessons").glob("[0-9][0-9]_*.ipynb"))
    page = f"lab/tree/lessons/{lessons[0].name}" if lessons else "lab"
    return f"http://127.0.0.1:{port}/{page}?token={token}"


def settings(port: int | None) -> list[str]:
    """JupyterLab's options. The token is not among them: arguments are there for all to see."""
    options = [
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port or 8888}",
        f"--ServerApp.port_retries={0 if port else 50}",
        f"--ServerApp.root_dir={ROOT}",
        "--ServerApp.answer_yes=True",
        "--Application.log_level=WARN",
    ]
    import zmq

    if zmq.has("curve"):  # then others on this machine cannot read along what goes to a kernel
        options.append("--KernelManager.transport_encryption=auto")
    options += [f"--ServerApp.jpserver_extensions={name}=False" for name in UNUSED_EXTENSIONS]
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    return options


def lab(port: int | None, browser: bool, extra: tuple[str, ...] = ()) -> NoReturn:
    """Start JupyterLab, stay until it ends, and end this process with its exit status.

    The server answers on this machine only. Its token is a new one each time unless JUPYTER_TOKEN
    is set.
    """
    token = os.environ.setdefault("JUPYTER_TOKEN", secrets.token_urlsafe(24))
    ours = str(Path(__file__).with_name("jupyter"))
    others = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = f"{ours}{os.pathsep}{others}" if others else ours
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # our python3 kernel before the user's other ones

    # JupyterLab takes an option once: what the learner gives stands instead of ours.
    given = {option.split("=")[0] for option in extra}
    options = [option for option in settings(port) if option.split("=")[0] not in given]
    options += extra

    def listens(at: int) -> None:
        page = address(at, token)
        print(f"JupyterLab answers at\n\n    {page}\n\nStop it with Ctrl+C.", flush=True)
        threading.Thread(target=meanwhile, args=(page if browser else "",), daemon=True).start()

    if given.intersection(TALKATIVE):
        code = serve(options, listens)
    else:
        # Its warnings are meant for those who run servers: certificates, signatures, requests.
        log = places.logs() / "lab.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.unlink(missing_ok=True)
        private = partial(os.open, mode=0o600)
        with open(log, "a", opener=private) as file, stderr_to(file.fileno()):
            code = serve(options, listens)
        if code:
            print(f"JupyterLab ended:\n{tail(log, 4)}\nAll it said is in {log}", file=sys.stderr)
    # Python would wait for the thread of a request that the server's end has cut off, as of a
    # browser that is still open: it waits for ever.
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def meanwhile(page: str) -> None:
    """Open a page in a browser, if any, and build what set-up has left for this time."""
    if page:
        webbrowser.open(page)
    if not state.horovod_settled():
        print("Horovod is built meanwhile, in a few minutes; until then it is left out.")
        horovod.ensure(quiet=True)


def serve(options: list[str], listens: Callable[[int], None]) -> int:
    """Run JupyterLab until it ends; returns its exit status, 1 where it broke.

    listens: told the port as soon as the server listens there.
    """
    from jupyterlab.labapp import LabApp

    try:
        server = LabApp.initialize_server(options)
        server.io_loop.add_callback(listens, server.port)  # behind its own, which binds the port
        server.start()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    return 0
