"""`helpers.run`: a function on every rank, from a cell or a script."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from helpers.engine.trace import Results

if TYPE_CHECKING:
    from helpers.engine.hosts.network import Network

FRAMEWORKS = ("torch", "tensorflow", "horovod")
MAX_PROCESSES = 64
MAX_VIRTUAL = 4096


class Engine(NamedTuple):
    """Where an engine's function is, and the most ranks that it takes."""

    module: str
    function: str
    most: int


# An engine is loaded when it is asked for.
ENGINES = {
    "processes": Engine("helpers.engine.processes", "run_processes", MAX_PROCESSES),
    "virtual": Engine("helpers.engine.virtual", "run_virtual", MAX_VIRTUAL),
    "hosts": Engine("helpers.engine.hosts.run", "run_hosts", MAX_PROCESSES),
    "cluster": Engine("helpers.engine.cluster.run", "run_cluster", MAX_VIRTUAL),
}
_OPTIONS = {
    "processes": ("transport", "device", "threads", "show", "names"),
    "virtual": ("latency", "bandwidth", "hosts", "ranks_per_host", "switch", "show"),
    "hosts": ("hosts", "ranks_per_host", "bandwidth", "threads", "show"),
    "cluster": (
        "launcher", "nodes", "ranks_per_node", "folder", "interface", "start_timeout", "hosts",
        "device", "threads", "show", "file",
    ),
}  # fmt: skip


def run(
    fn: Callable[..., Any],
    *args: Any,
    ranks: int | None = None,
    engine: str = "processes",
    framework: str = "torch",
    timeout: float = 60.0,
    **options: Any,
) -> Results:
    """Run `fn(comm, *args)` on every rank and return the ranks' values in rank order.

    ranks: how many; 4 where nothing says otherwise, on a cluster nodes * ranks_per_node.
    engine: "processes" for real ranks on this machine, "virtual" for a virtual clock, "hosts" for
    real ranks on virtual hosts of this machine, whose links have the bandwidth that is asked for,
    "cluster" for a job on the nodes of a cluster.
    framework: whose world the real ranks bring up: "torch", "tensorflow" or "horovod".
    timeout: seconds after which the run is ended, without those in which its ranks wanted a
    processor and had none.
    show=False keeps the ranks' output for `.output` instead of printing it.

    Options of "processes": transport="shared memory" or "sockets" (gloo's); threads=1, the
    framework's threads a rank; device="cpu" to leave GPUs alone.
    Options of "virtual": latency=50e-6 seconds and bandwidth=1e9 bytes a second of each link.
    Options of "hosts": hosts=4, ranks_per_host=1 (or a list, one a host), bandwidth="200mbit" or
    bytes a second or None (or a list), threads=1. The same hosts on the virtual clock, with
    switch= for what passes between all of them together: give hosts= to engine="virtual".
    Options of "cluster": launcher="slurm", "torchrun" or "horovod", nodes=2, ranks_per_node=2,
    folder= (on a disk that all nodes see), interface=, start_timeout=300, threads=1, file= (a copy
    of cluster/'s), hosts= for horovodrun, and for SLURM what its sbatch takes: partition="rtx",
    time="00:30:00", gpus=4 a node, account=. `helpers.attach(job)` takes such a run up again.

    Raises RankFailed, RankDied, Deadlock or RunTimeout (all RunError), which name the ranks, say
    what they were doing and show their tracebacks; RunInterrupted where the cell is interrupted.
    In every case nothing of the run is left behind.

    Example: `helpers.run(lambda comm: comm.rank ** 2, ranks=3)` gives `[0, 1, 4]`.
    """
    if not callable(fn):
        raise TypeError(f"helpers.run needs a function fn(comm, ...), not {type(fn).__name__}.")
    if ranks is not None and (isinstance(ranks, bool) or not hasattr(ranks, "__index__")):
        raise TypeError(f"ranks is a whole number, not {ranks!r}.")
    if engine not in ENGINES:
        *others, last = ENGINES
        raise ValueError(
            f"There is no engine {engine!r}; there are {', '.join(others)} and {last}."
        )
    if framework not in FRAMEWORKS:
        known = ", ".join(FRAMEWORKS)
        raise ValueError(f"There is no framework {framework!r}; there are {known}.")
    check_options(engine, framework, options)
    where = take_network(engine, ranks, options)
    if engine == "cluster":
        ranks = check_cluster(ranks, options)
    ranks = len(where.hosts) if where else 4 if ranks is None else int(ranks)
    module, function, most = ENGINES[engine]
    if not 1 <= ranks <= most:
        raise ValueError(f"ranks={ranks} is not possible: the {engine} engine takes 1 to {most}.")
    if isinstance(timeout, bool) or not isinstance(timeout, Real):
        raise TypeError(f"timeout is a number of seconds, not {timeout!r}.")
    if not timeout > 0:
        raise ValueError(f"timeout={timeout} is not a time; give seconds above 0.")
    timeout = float(timeout)
    if where is not None:
        options["network"] = where
    if engine != "virtual":
        options["framework"] = framework
    if engine != "cluster":  # which counts them itself, by nodes
        options["ranks"] = ranks
    run_on = getattr(import_module(module), function)
    return run_on(fn, args, timeout=timeout, **options)


LAUNCHERS = ("slurm", "torchrun", "horovod")


def take_network(engine: str, ranks: int | None, options: dict[str, Any]) -> Network | None:
    """The hosts that are asked for, taken out of the options; None where ranks have none."""
    if engine == "cluster":
        return None
    if engine != "hosts" and not {"hosts", "ranks_per_host"} & options.keys():
        if "switch" in options:
            raise ValueError("switch is what lies between hosts: give hosts= as well.")
        return None
    from helpers.engine.hosts.network import network

    bandwidth = options.pop("bandwidth", 1e9 if engine == "virtual" else None)
    each = options.pop("ranks_per_host", None)
    return network(ranks, options.pop("hosts", None), each, bandwidth)


def check_options(engine: str, framework: str, options: dict[str, Any]) -> None:
    """Raise TypeError for an option that the engine does not have, and name those it has."""
    for name in options:
        # SLURM itself says which options its sbatch has.
        slurm = engine == "cluster" and options.get("launcher", "slurm") == "slurm"
        if name not in _OPTIONS[engine] and not slurm:
            raise TypeError(
                f"The {engine} engine has no option {name!r}; it has {', '.join(_OPTIONS[engine])}."
            )
    transport = options.get("transport", "shared memory")
    if transport not in ("shared memory", "sockets"):
        raise ValueError(f'transport is "shared memory" or "sockets", not {transport!r}.')
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


def check_cluster(ranks: int | None, options: dict[str, Any]) -> int:
    """How many ranks a cluster's run has. Raises ValueError for what cannot be."""
    launcher = options.get("launcher", "slurm")
    if launcher not in LAUNCHERS:
        known = ", ".join(f'"{name}"' for name in LAUNCHERS)
        raise ValueError(f"There is no launcher {launcher!r}; there are {known}.")
    for name in ("nodes", "ranks_per_node"):
        count = options.setdefault(name, 2)
        if isinstance(count, bool) or not hasattr(count, "__index__") or count < 1:
            raise ValueError(f"{name} is a whole number, 1 or more, not {count!r}.")
    size = int(options["nodes"]) * int(options["ranks_per_node"])
    if ranks is not None and ranks != size:
        raise ValueError(
            f"ranks={ranks} is not {options['nodes']} nodes of {options['ranks_per_node']}: leave "
            "ranks out, or set nodes= and ranks_per_node=."
        )
    return size
