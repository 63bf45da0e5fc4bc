"""Lessons 03 and 14: each rank has the whole model, and then only its slice of it.

Read `data_parallel` first: replicas whose gradients are averaged, in `bucket`s. `sharding` builds
on it: a model in `sharded_unit`s, each a `sharded_row` or two, which `sharded_gather` puts together
before they are used; `sharded_sum` sums their gradients, and `sharded_guard` keeps them right.
`memory` says by formula what that saves, and `learning_rate` what many ranks change.
"""
