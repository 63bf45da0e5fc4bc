"""Lesson 15: actors that play, and learners that learn from what they played.

Read `returns` first: what a reward is worth to the steps before it. `losses` makes a gradient of
that for a policy and a value, and `rms_prop` a step, in memory that actors share. `v_trace`
corrects both where the actor played by an older copy of the policy than the learner's; `staleness`
says how old copies are on average.
"""
