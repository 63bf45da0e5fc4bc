"""Keep the store through which torchrun's agents find each other, for as long as the job lives.

    python cluster/rendezvous.py --host HOST --port 29400

Otherwise the first agent keeps it, and the job dies with that one node. Start it where nothing is
killed: on the login node, or beside the batch script. How agents use it: see elastic_torch.py.
Anyone who can reach the port can change the store: start it where others cannot.
"""

from __future__ import annotations

import argparse
import signal

from torch.distributed import TCPStore


def main() -> None:
    """Serve until a signal ends the process."""
    parser = argparse.ArgumentParser(description="Keep the rendezvous of a torchrun job.")
    parser.add_argument("--host", default="127.0.0.1", help="this machine's name (127.0.0.1)")
    parser.add_argument("--port", type=int, default=29400, help="0: one that is free (29400)")
    given = parser.parse_args()
    store = TCPStore(given.host, given.port, is_master=True, wait_for_workers=False)
    print(f"The rendezvous is at {given.host}:{store.port}", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
