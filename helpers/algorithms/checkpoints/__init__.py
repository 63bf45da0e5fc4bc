"""Lesson 17: what a training needs to go on after a kill, and how it gets onto a disk whole.

Read `files` first, the few operations on a folder, then `folder`, the one way to write so that a
kill at any byte leaves what was there before. `crashes` is a folder that forgets what was not
synced, to try that out. `format` says what lies in a folder and finds the latest that can be
loaded, `saving` writes it, `resharding` cuts what N ranks have saved for M ranks. `sharded_state`
takes a sharded model apart and puts it together, `order` knows which batch comes next, and
`randomness` which random number.
"""
