"""The experiments of lesson 01: each is a function that runs in a fresh process.

    helpers.run(memory.train_until_full, 96, ranks=1)                          # torch
    helpers.run(control.live_memory, True, ranks=1, framework="tensorflow")
    run_cluster(lost_client.train_and_find, folder, servers=2, workers=2)

A process of its own is not a nicety: devices are split, hidden and limited before a framework
first uses them, and only once.
"""
