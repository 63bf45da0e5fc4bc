"""What lesson 03 builds, and what stands beside it: no process, socket or clock in it."""
