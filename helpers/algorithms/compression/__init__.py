"""Lesson 10: fewer bits on the wire, or sums less often.

Read `two_way` first: how ranks sum what is encoded, and who remembers what an encoding left out.
`encodings` says what travels: halves, the largest few, signs. `feedback` keeps what was left out
for the next step; `power_sgd` sends the factors of a matrix instead of it; `sparse_rows` the rows
that a batch touched. All of them are `DataParallel`'s `reduce`. `loss_scale` keeps gradients of
16 bits from vanishing. `local_steps` sums less often; `step_cost` and `pays` say beforehand whether
either is worth it.
"""
