r"""Train one network of a search on a TensorFlow server: one command a trial, many at once.

Start two servers, each in a shell of its own in the course's folder (on two machines, give their
names instead of 127.0.0.1):

    python cluster/search_server.py --cluster 127.0.0.1:2222,127.0.0.1:2223 --task 0
    python cluster/search_server.py --cluster 127.0.0.1:2222,127.0.0.1:2223 --task 1

Then clients, as many at once as you like, each with a container of its own:

    python cluster/search_client.py --server 127.0.0.1:2222 --container trial-0 --rate 0.1 &
    python cluster/search_client.py --server 127.0.0.1:2223 --container trial-1 --rate 0.3 \
        --device /job:worker/task:1/device:CPU:0 --width 64 &
    wait

Each prints one line of JSON. `--help` lists all options.
"""

from __future__ import annotations

from helpers.lessons.search.experiments.search_client import main

if __name__ == "__main__":
    main()
