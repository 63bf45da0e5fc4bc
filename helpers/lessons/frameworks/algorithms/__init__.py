"""What lesson 04 builds, and what stands beside it: no process, socket or clock in it."""
