"""Starting ranks: a warm server process forks them, or spawns them where nothing is forked.

The server loads a framework once. It has one thread and never computes, so that a fork is safe,
which one of the notebook's own process is not. `Client` is the notebook's side of it; they talk
over one Unix socket, and the server ends when that closes.

Where ranks are not forked (`COURSE_START=spawn`, and systems without `fork`) the server loads
nothing, and each rank is a Python of its own that loads the framework itself, which takes seconds a
run. That is for macOS, where a forked process may break in the system's own libraries.

    python -m helpers.engine.launch FRAMEWORK SOCKET_FD [hosts]     is the server
    python -m helpers.engine.launch rank                            is a rank, told on its input
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import resource
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from helpers.engine import pages
from helpers.engine.errors import NoHosts, RunError
from helpers.engine.family import adopt_orphans, end_descendants, is_ending
from helpers.engine.local import Mailbox
from helpers.engine.plan import Plan, forks
from helpers.engine.rank import be_rank, rank_fds
from helpers.engine.wire import anonymous_file, receive_message, send_message

if TYPE_CHECKING:
    from helpers.engine.hosts.namespaces import Namespaces

_ROOT = Path(__file__).resolve().parents[2]
_MOST_FILES = 20_000
_QUIET = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
    "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES",
}
_PRIVATE = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "TF_CONFIG")  # another job's
# What ranks import anyway, and would each wait for: torch._dynamo at the first use of an optimizer.
PRELOAD = {
    "torch": ("torch", "torch.distributed", "torch.nn", "torch._dynamo"),
    "tensorflow": ("torch", "torch._dynamo", "tensorflow", "tf_keras"),
    "horovod": (
        "torch", "torch.distributed", "torch._dynamo", "horovod.torch", "horovod.tensorflow",
    ),
}  # fmt: skip
_GONE = (
    "The server process from which the ranks are forked has ended; the next run starts a new one. "
    "Was memory short?"
)


# --- the notebook's side --------------------------------------------------------------------------


class Client:
    """The server of a framework, started where there is none. lock: held by the run that uses it.

    hosts: whether its ranks are on virtual hosts. given: the names that its environment had.
    """

    process: subprocess.Popen[bytes] | None = None
    socket: socket.socket
    given: Collection[str] = ()

    def __init__(self, framework: str, hosts: bool = False) -> None:
        self.framework, self.hosts = framework, hosts
        self.lock = threading.Lock()

    def ready(self) -> None:
        """Have a server. Raises NoHosts where there can be no hosts, RunError for what it lacks."""
        if self.process is not None and self.process.poll() is None:
            return
        environment = {**os.environ, **_QUIET}
        self.given = os.environ.keys() - _QUIET.keys()
        path = [str(_ROOT), os.environ.get("PYTHONPATH")]
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        if self.framework == "horovod":
            # Imported here: a grader's sandbox has no Horovod, and none of set-up.
            from helpers.course.setup.machine import without_name

            if why := without_name():
                raise RunError(f"Horovod's ranks do not start here. {why}")
            environment["TF_USE_LEGACY_KERAS"] = "1"
        self.socket, theirs = socket.socketpair()
        command = [sys.executable, "-m", "helpers.engine.launch", self.framework]
        with theirs:
            self.process = subprocess.Popen(
                [*command, str(theirs.fileno()), *["hosts"] * self.hosts],
                pass_fds=[theirs.fileno()],
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        try:
            self._expect("ready")
        except BaseException:
            self.destroy()
            raise

    def start(self, plan: Plan, fds: list[int]) -> list[int]:
        """Start the ranks of a run; returns their process ids, by rank."""
        try:
            send_message(self.socket, pickle.dumps(("start", plan)), tuple(fds))
        except OSError:
            raise RunError(_GONE) from None
        started: list[int] = self._expect("started")
        return started

    def exits(self) -> tuple[int, int]:
        """The next rank whose process has ended, and its exit code."""
        rank, code = self._expect("exit")
        return rank, code

    def end(self) -> list[tuple[int, int]]:
        """End all ranks and what they started; returns when they are gone.

        What comes back is as `exits` has it: of ranks that had ended, or were about to, by
        themselves.
        """
        found: list[tuple[int, int]] = []
        try:
            send_message(self.socket, pickle.dumps(("end", None)))
            while (told := self._expect("exit", "ended")) is not None:
                found.append(told)
        except BaseException as error:
            self.destroy()
            if not isinstance(error, OSError | RunError):
                raise
        return found

    def destroy(self) -> None:
        """End the server and everything below it, whatever state it is in."""
        if self.process is None:
            return
        self.socket.close()
        if self.process.poll() is not None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            server = psutil.Process(self.process.pid)
            server.suspend()  # forks no more while its children are counted
            for child in [*server.children(recursive=True), server]:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.kill()
        self.process.wait()

    def _expect(self, *kinds: str) -> Any:
        """What the server tells next of these kinds. Raises what it could not do."""
        while True:
            try:
                kind, told = pickle.loads(receive_message(self.socket)[0])
            except (EOFError, OSError):
                raise RunError(_GONE) from None
            if kind == "error":
                raise told
            if kind in kinds:
                return told


clients: dict[tuple[int, str, bool], Client] = {}


def client_for(framework: str, hosts: bool = False) -> Client:
    """This process's client for a framework, on this machine or on its virtual hosts."""
    return clients.setdefault((os.getpid(), framework, hosts), Client(framework, hosts))


def environment(given: Collection[str]) -> dict[str, str | None]:
    """The notebook's environment as the ranks see it, without what belongs to another job.

    given: what the server was started with; None for what the notebook has deleted since.
    """
    now = {name: value for name, value in os.environ.items() if name not in _PRIVATE}
    return {**dict.fromkeys(given), **now}


# --- the server -----------------------------------------------------------------------------------


class Server:
    """Starts ranks, reaps them, and ends what they leave behind. ranks: by process id."""

    def __init__(
        self,
        client: socket.socket,
        namespaces: Namespaces | None = None,
        modules: Sequence[str] = (),
    ) -> None:
        self.client = client
        self.modules = modules  # that ranks load which are not forked
        self.namespaces = namespaces
        self.ranks: dict[int, int] = {}
        self.parts = pages.by_parts()
        self.tidies = False
        self.wakeup, self._signal_end = socket.socketpair()
        self.wakeup.setblocking(False)
        self._signal_end.setblocking(False)
        signal.set_wakeup_fd(self._signal_end.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Answer requests until the client has gone. Raises EOFError then."""
        self.tell("ready")
        while True:
            seconds = 0 if self.tidies and not self.ranks else None
            ready, _, _ = select.select([self.client, self.wakeup], [], [], seconds)
            if not ready:
                self.tidies = next(self.parts, None) is not None
            if self.wakeup in ready:
                self.wakeup.recv(4096)
            self.reap()
            if self.client in ready:
                request, fds = receive_message(self.client)
                what, plan = pickle.loads(request)
                if what == "start":
                    self.start(plan, fds)
                else:
                    self.end()

    def start(self, plan: Plan, fds: list[int]) -> None:
        """Start the ranks of one run, or say why there cannot be so many."""
        mailbox = None
        try:
            if self.namespaces is not None and plan.network is not None:
                self.namespaces.prepare(plan.network)
            mailbox = make_mailbox(plan.size)
            if forks():
                for rank in range(plan.size):
                    self.ranks[self.fork(rank, plan, fds, mailbox)] = rank
            else:
                started = spawn(plan, fds, mailbox, self.modules)
                self.ranks.update(zip(started, range(plan.size), strict=True))
            self.tell("started", list(self.ranks))
        except OSError as error:
            end_descendants(self.ranks)
            self.ranks.clear()
            text = f"{plan.size} ranks cannot be started here: {error}. Try fewer."
            self.tell("error", RunError(text))
        finally:
            for fd in fds:
                os.close(fd)
            if mailbox is not None:
                mailbox.close()

    def fork(self, rank: int, plan: Plan, fds: list[int], mailbox: Mailbox) -> int:
        """Fork one rank; returns its process id."""
        pid = os.fork()
        if pid == 0:
            signal.set_wakeup_fd(-1)
            self.client.close()
            be_rank(rank, plan, fds, mailbox)  # does not return
        return pid

    def end(self) -> None:
        """End the ranks and what they started; of those that end by themselves, say so first."""
        ending = {pid: self.ranks[pid] for pid in self.ranks if is_ending(pid)}
        for pid, rank in ending.items():
            self.tell_end(rank, os.waitpid(pid, 0)[1])
        end_descendants(self.ranks.keys() - ending.keys())
        self.ranks.clear()
        self.tell("ended")
        self.tidies = True  # forks are quicker for it; it takes a second, in all, between runs

    def reap(self) -> None:
        """Collect processes that have ended, and report the ranks among them."""
        with contextlib.suppress(ChildProcessError):  # there are none
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                rank = self.ranks.pop(found[0], None)
                if rank is not None:
                    self.tell_end(rank, found[1])

    def tell_end(self, rank: int, status: int) -> None:
        """Tell the client how a rank's process has ended."""
        self.tell("exit", (rank, os.waitstatus_to_exitcode(status)))

    def tell(self, kind: str, what: Any = None) -> None:
        """Send the client a message."""
        send_message(self.client, pickle.dumps((kind, what)))


def make_mailbox(size: int) -> Mailbox:
    """Inboxes and files for both lanes of every rank."""
    inboxes = [
        [socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(size)]
        for _ in range(2)
    ]
    return Mailbox(inboxes, [anonymous_file() for _ in range(2 * size)])


def allow_many_files() -> None:
    """Raise the number of descriptors that a process may have: a block of memory takes one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = _MOST_FILES if hard == resource.RLIM_INFINITY else min(_MOST_FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


def be_server(framework: str, fd: int, hosts: bool) -> None:
    """Load the framework, then serve."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    client = socket.socket(fileno=fd)
    adopt_orphans()
    allow_many_files()
    server = Server(client, modules=PRELOAD[framework])
    try:
        if hosts:
            from helpers.engine.hosts.namespaces import Missing, Namespaces

            try:
                server.namespaces = Namespaces()
            except Missing as why:
                return server.tell("error", NoHosts(f"Virtual hosts cannot be had here: {why}."))
        try:
            for module in server.modules if forks() else ():
                importlib.import_module(module)
        except Exception as error:  # a missing package, or a library that it cannot load
            text = (
                f"Ranks of {framework} cannot start here: {type(error).__name__}: {error}. "
                "`./course doctor` says what this machine lacks."
            )
            return server.tell("error", RunError(text))
        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, pages that ranks share
        server.serve()
    except (EOFError, ConnectionError):
        pass
    finally:
        end_descendants(server.ranks)


# --- ranks that are not forked --------------------------------------------------------------------


def spawn(plan: Plan, fds: list[int], mailbox: Mailbox, modules: Sequence[str]) -> list[int]:
    """Start the ranks of one run; returns their process ids once all have loaded these modules.

    One that ends before is among them: whoever collects it tells.
    """
    reader, writer = os.pipe()
    lanes = [[(mine.fileno(), other.fileno()) for mine, other in lane] for lane in mailbox.inboxes]
    sockets = [fd for lane in lanes for pair in lane for fd in pair]
    started = []
    for rank in range(plan.size):
        output = rank_fds(rank, fds)[2]  # what goes wrong before a rank settles is said there
        child = subprocess.Popen(
            [sys.executable, "-m", "helpers.engine.launch", "rank"],
            pass_fds=(*fds, *mailbox.files, *sockets, writer),
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=output,
        )
        assert child.stdin is not None
        with child.stdin, contextlib.suppress(BrokenPipeError):
            pickle.dump((rank, plan, fds, lanes, mailbox.files, writer, modules), child.stdin)
        child.returncode = 0  # the server collects it
        started.append(child.pid)
    os.close(writer)
    with open(reader, "rb") as loaded:
        loaded.read(plan.size)  # a byte from each, or the end where the last of them has ended
    return started


def be_spawned() -> None:
    """Be a rank as it is told on standard input."""
    rank, plan, fds, lanes, files, writer, modules = pickle.load(sys.stdin.buffer)
    for module in modules:
        importlib.import_module(module)
    os.write(writer, b".")
    os.close(writer)
    inboxes = [
        [(socket.socket(fileno=mine), socket.socket(fileno=other)) for mine, other in lane]
        for lane in lanes
    ]
    be_rank(rank, plan, fds, Mailbox(inboxes, files))


if __name__ == "__main__":
    if sys.argv[1] == "rank":
        be_spawned()
    else:
        be_server(sys.argv[1], int(sys.argv[2]), "hosts" in sys.argv[3:])
