"""The process from which a search's workers are forked: it has torch loaded, and never computes.

A worker is there in milliseconds so, where a new Python takes seconds to load torch. It ends, and
with it all workers, when the socket to the caller closes.

    python -m helpers.lessons.search.experiments.crew_nursery SOCKET_FD MODULE...
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import pickle
import signal
import socket
import sys
import traceback
from typing import Any, NoReturn

from helpers.engine.rank import die_with_server
from helpers.engine.server import adopt_orphans, allow_many_files, end_descendants
from helpers.engine.wire import receive_message, send_message
from helpers.lessons.search.experiments.crew_line import packed


def main() -> None:
    """Load what workers need, then fork and collect them as asked."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    client = socket.socket(fileno=int(sys.argv[1]))
    adopt_orphans()
    allow_many_files()
    workers: set[int] = set()
    try:
        for name in sys.argv[2:]:
            module = importlib.import_module(name)
            getattr(module, "warm", lambda: None)()
        gc.collect()
        gc.freeze()  # keeps the collector from touching, and so copying, pages that all share
        send_message(client, pickle.dumps("ready"))
        while True:
            request, fds = receive_message(client)
            send_message(client, pickle.dumps(answer(request, fds, client, workers)))
    except (EOFError, ConnectionError):
        pass
    except ImportError as error:
        send_message(client, pickle.dumps(f"{type(error).__name__}: {error}"))
    finally:
        end_descendants(workers)


def answer(request: bytes, fds: list[int], client: socket.socket, workers: set[int]) -> int:
    """Start a worker and give its process id; or end one and give how it ended (-9: killed)."""
    what, detail = pickle.loads(request)
    if what == "end":
        workers.discard(detail)
        for kill in (os.killpg, os.kill):  # what it has started, and itself
            with contextlib.suppress(ProcessLookupError):
                kill(detail, signal.SIGKILL)
        return os.waitstatus_to_exitcode(os.waitpid(detail, 0)[1])
    (control,) = fds
    pid = os.fork()
    if pid == 0:
        client.close()
        be_worker(socket.socket(fileno=control), detail)
    os.close(control)
    workers.add(pid)
    return pid


def be_worker(control: socket.socket, detail: tuple[bytes, list[str], str]) -> NoReturn:
    """Train one job after the other until the caller has gone."""
    code = 0
    try:
        os.setsid()
        die_with_server()
        function, path, folder = detail
        sys.path[:] = path
        os.chdir(folder)
        import torch

        torch.set_num_threads(1)
        try:
            train = pickle.loads(function)
        except Exception as error:
            send_message(control, packed(("failed", told(error))))
            raise
        while True:
            job, state = pickle.loads(receive_message(control)[0])
            send_message(control, tried(train, job, state))
    except (EOFError, ConnectionError):
        pass
    except BaseException:
        code = 1
    finally:
        os._exit(code)


def tried(train: Any, job: Any, state: Any) -> bytes:
    """A job's answer for the caller: ("loss", (loss, state)) or ("failed", what went wrong)."""
    try:
        loss, state = train(job, state)
        return packed(("loss", (float(loss), state)))
    except Exception as error:
        return packed(("failed", told(error)))


def told(error: Exception) -> tuple[str, str]:
    """An exception in a line, and where it came from."""
    return f"{type(error).__name__}: {error}", "".join(traceback.format_exception(error))


if __name__ == "__main__":
    main()
