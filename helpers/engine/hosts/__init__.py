"""Virtual hosts on this machine: network namespaces whose links have a real bandwidth.

Read `network` first (what is asked for), then `namespaces` (how the machine is made to hold it),
`wires` and `comm` (what a rank sends to another host), and `run`.
"""
