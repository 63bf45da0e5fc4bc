"""The exercises of lesson 05, a file each."""
