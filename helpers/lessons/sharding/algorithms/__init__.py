"""What lesson 14 builds, and what stands beside it: no process, socket or clock in it."""
