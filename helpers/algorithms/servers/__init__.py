"""Lessons 05 to 07: parameter servers, stale gradients and their cures, spare replicas.

Read `parameter_server` first: a server and its workers without time and processes. A `task` is what
they train, `clients` what a worker does, `rule` what a server does with a gradient. `update_rules`
are the ways to train, with `diloco` beside them, `cure` and `stale_cures` rules around them;
`sync_replicas` is TensorFlow's way to the same. `what_if` replays a run without its stragglers, and
`blame` says which worker cost what.
"""
