"""What lesson 16 builds, and what stands beside it: no process, socket or clock in it."""
