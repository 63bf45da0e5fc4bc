"""What lesson 02 builds, and what stands beside it: no process, socket or clock in it."""
