"""Lessons 03 and 14: each rank has the whole model, and then only its slice of it.

Read `data_parallel` first: replicas whose gradients are averaged, in `bucket`s. `sharding` builds
on it: a model in `sharded_unit`s, which `sharded_gather` puts together before they are used.
`memory` says by formula what that saves, and `learning_rate` what many ranks change.
"""
