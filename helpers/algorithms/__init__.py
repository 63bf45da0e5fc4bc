"""What the lessons build: pure functions of `comm`, tensors and numbers, a folder a subject.

In the order of the lessons, so that a later subject imports earlier ones only: `messages`,
`data_parallel`, `servers`, `devices`, `compression`, `quantization`, `splitting`, `pipeline`,
`actors`, `search`, `failures`, `checkpoints`, `launching`.
"""
