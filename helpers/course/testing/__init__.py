"""`./course test`: which tests a change reaches, and running them in two parts."""
