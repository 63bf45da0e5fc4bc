"""Lessons 01, 04 and 08: where an op runs and what it keeps there, in TensorFlow and torch.

Read `placement` first. `device_memory` and `device_graphs` are small models of one device,
`four_ways` trains one graph on several, and `framework_steps` holds the lines that each framework
wants of a program.
"""
