"""`./course lab`: JupyterLab at the first lesson, on this machine only, behind a token."""

from __future__ import annotations

import os
import queue
import secrets
import socket
import sys
import threading
import time
import traceback
import urllib.error
import urllib.request
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from helpers.commands.quiet import errors_go_to, log_for
from helpers.setup import horovod, state
from helpers.setup.places import ROOT
from helpers.setup.progress import tail

FIRST_PORT = 8888
PORTS_TRIED = 50

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


class PortTaken(Exception):
    """The port that was asked for is in use; the message says so."""


def is_free(port: int) -> bool:
    """Whether nothing listens on this port of this machine."""
    with socket.socket() as probe:
        # As the server itself does: a port whose last connections linger is free.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def choose_port(asked: int | None) -> int:
    """The port asked for, or the first free one from 8888 on. Raises PortTaken."""
    if asked is not None:
        if not is_free(asked):
            raise PortTaken(
                f"Port {asked} is in use on this machine; leave --port out to get a free one."
            )
        return asked
    for port in range(FIRST_PORT, FIRST_PORT + PORTS_TRIED):
        if is_free(port):
            return port
    raise PortTaken(
        f"Ports {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1} are all in use; name another "
        "with --port."
    )


def address(port: int, token: str) -> str:
    """Where the first lesson that is there is; the list of files while there is none."""
    lessons = sorted((ROOT / "lessons").glob("[0-9][0-9]_*.ipynb"))
    page = f"lab/tree/lessons/{lessons[0].name}" if lessons else "lab"
    return f"http://127.0.0.1:{port}/{page}?token={token}"


def when_it_answers(port: int, then: Callable[[], None], patience: float = 600.0) -> None:
    """Call `then` once the server answers, from a thread; give up after `patience` seconds."""

    def wait() -> None:
        end = time.monotonic() + patience
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        while time.monotonic() < end:
            try:
                opener.open(f"http://127.0.0.1:{port}/api", timeout=5).close()
            except (OSError, urllib.error.URLError):
                time.sleep(0.05)
            else:
                then()
                return

    threading.Thread(target=wait, daemon=True).start()


def settings(port: int, token: str) -> list[str]:
    """JupyterLab's options. The token is not among them: arguments are there for all to see."""
    options = [
        "--no-browser",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
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


def lab(port: int | None, browser: bool, extra: tuple[str, ...] = ()) -> int:
    """Start JupyterLab and stay until it ends. Raises PortTaken.

    The server answers on this machine only. Its token is a new one each time unless JUPYTER_TOKEN
    is set.
    """
    port = choose_port(port)
    token = os.environ.setdefault("JUPYTER_TOKEN", secrets.token_urlsafe(24))
    ours = str(Path(__file__).with_name("jupyter"))
    others = os.environ.get("JUPYTER_CONFIG_PATH")
    os.environ["JUPYTER_CONFIG_PATH"] = f"{ours}{os.pathsep}{others}" if others else ours
    os.environ["JUPYTER_PREFER_ENV_PATH"] = "1"  # our python3 kernel before the user's other ones
    page = address(port, token)

    # JupyterLab takes an option once: what the learner gives stands instead of ours.
    given = {option.split("=")[0] for option in extra}
    options = [option for option in settings(port, token) if option.split("=")[0] not in given]
    options += extra
    log = None if given.intersection(TALKATIVE) else log_for(f"lab-{port}")

    def tell() -> None:
        print(f"JupyterLab answers at\n\n    {page}\n\nStop it with Ctrl+C.", flush=True)
        if browser:
            webbrowser.open(page)
        if not state.horovod_settled():
            print("Horovod is built meanwhile, in a few minutes; until then it is left out.")
            horovod.ensure(quiet=True)

    when_it_answers(port, tell)
    if log is None:
        return serve(options)
    # Its warnings are meant for those who run servers: certificates, signatures, requests.
    with errors_go_to(log):
        code = serve(options)
    if code:
        print(f"JupyterLab ended:\n{tail(log, 4)}\nAll it said is in {log}", file=sys.stderr)
    return code


def serve(options: list[str]) -> int:
    """Run JupyterLab until it ends; returns its exit status, 1 where it broke."""
    from jupyterlab.labapp import LabApp

    try:
        LabApp.launch_instance(options)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception:
        traceback.print_exc()
        return 1
    finally:
        let_threads_end()
    return 0


def let_threads_end() -> None:
    """Tell anyio's threads that no work comes any more: Python waits for them before it ends.

    Each ends with the request that began it. One that the server's end has cut off, as of a browser
    that is still open, leaves it waiting for ever.
    """
    for thread in threading.enumerate():
        work = getattr(thread, "queue", None)
        if thread.name == "AnyIO worker thread" and isinstance(work, queue.Queue):
            with suppress(queue.Full):  # it has been told
                work.put_nowait(None)
