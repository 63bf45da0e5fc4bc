"""`helpers.run`: a function on every rank, from a cell or a script."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any

from helpers.engines.trace import Results

ENGINES = ("processes", "virtual")
FRAMEWORKS = ("torch", "tensorflow", "horovod")
MAX_PROCESSES = 64
MAX_VIRTUAL = 4096


def run(
    fn: Callable[..., Any],
    *args: Any,
    ranks: int = 4,
    engine: str = "processes",
    framework: str = "torch",
    timeout: float = 60.0,
    **options: Any,
) -> Results:
    """Run `fn(comm, *args)` on every rank and return the ranks' values in rank order.

    engine: "processes" for real ranks on this machine, "virtual" for a virtual clock.
    framework: whose world the real ranks bring up: "torch", "tensorflow" or "horovod".
    timeout: seconds after which the run is ended. show=False keeps the ranks' output for
    `.output` instead of printing it.

    Options of "processes": transport="shared memory" or "sockets" (gloo's); threads=1, the
    framework's threads a rank; device="cpu" to leave GPUs alone.
    Options of "virtual": latency=50e-6 seconds and bandwidth=1e9 bytes a second of each link.

    Raises RankFailed, RankDied, Deadlock or RunTimeout (all RunError), which name the ranks, say
    what they were doing and show their tracebacks; RunInterrupted where the cell is interrupted.
    In every case nothing of the run is left behind.

    Example: `helpers.run(lambda comm: comm.rank ** 2, ranks=3)` gives `[0, 1, 4]`.
    """
    if not callable(fn):
        raise TypeError(f"helpers.run needs a function fn(comm, ...), not {type(fn).__name__}.")
    if isinstance(ranks, bool) or not hasattr(ranks, "__index__"):
        raise TypeError(f"ranks is a whole number, not {ranks!r}.")
    most = {"processes": MAX_PROCESSES, "virtual": MAX_VIRTUAL}.get(engine)
    if most is None:
        raise ValueError(f"There is no engine {engine!r}; there are {' and '.join(ENGINES)}.")
    if framework not in FRAMEWORKS:
        known = ", ".join(FRAMEWORKS)
        raise ValueError(f"There is no framework {framework!r}; there are {known}.")
    if not 1 <= int(ranks) <= most:
        raise ValueError(f"ranks={ranks} is not possible: the {engine} engine takes 1 to {most}.")
    if isinstance(timeout, bool) or not isinstance(timeout, Real):
        raise TypeError(f"timeout is a number of seconds, not {timeout!r}.")
    if not timeout > 0:
        raise ValueError(f"timeout={timeout} is not a time; give seconds above 0.")
    start: Callable[..., Results]
    if engine == "virtual":
        from helpers.engines.virtual import run_virtual

        start = run_virtual
    else:
        from helpers.engines.processes import run_processes

        start = run_processes
        options = {"framework": framework, **options}
    check_options(start, engine, options)
    return start(fn, args, ranks=int(ranks), timeout=float(timeout), **options)


def check_options(start: Callable[..., Results], engine: str, options: dict[str, Any]) -> None:
    """Raise TypeError for an option that the engine does not have, and name those it has."""
    import inspect

    common = ("fn", "args", "ranks", "timeout", "framework")
    known = [name for name in inspect.signature(start).parameters if name not in common]
    for name in options:
        if name not in (*known, "framework"):
            raise TypeError(
                f"The {engine} engine has no option {name!r}; it has {', '.join(known)}."
            )
    transport = options.get("transport", "shared memory")
    if transport not in ("shared memory", "sockets"):
        raise ValueError(f'transport is "shared memory" or "sockets", not {transport!r}.')
    framework = options.get("framework", "torch")
    if transport == "sockets" and framework != "torch":
        raise ValueError(
            f'transport="sockets" is torch\'s gloo; ranks of {framework} have shared memory.'
        )
    device = options.get("device")
    if device not in (None, "cpu"):
        raise ValueError(f'device is "cpu", or is left out to use GPUs, not {device!r}.')
    threads = options.get("threads", 1)
    if isinstance(threads, bool) or not hasattr(threads, "__index__") or threads < 1:
        raise ValueError(f"threads is a whole number, 1 or more, not {threads!r}.")
