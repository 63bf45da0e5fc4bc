"""Lessons 12 and 14: one model cut between ranks, by layer or through every layer.

Read `model_split` first: by layer. `vertical_split` cuts through every layer, `partly_connected`
and `halo_split` where little crosses, `wave` a deep recurrent network, `tensor_parallel` and
`vocabulary_parallel` a Transformer. `stages` cuts a model in a row, and `split_cost` counts what a
cut costs before it is run.
"""
