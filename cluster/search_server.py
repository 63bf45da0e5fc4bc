"""Be one TensorFlow server of a cluster, for the clients of a search; how: see search_client.py.

TensorFlow's servers answer anyone who can reach their port: start them where others cannot.
"""

from __future__ import annotations

from helpers.lessons.search.experiments.search_server import main

if __name__ == "__main__":
    main()
