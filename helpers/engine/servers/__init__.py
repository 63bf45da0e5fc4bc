"""Engines for parameter servers: the same rules on a virtual clock and on real processes."""
