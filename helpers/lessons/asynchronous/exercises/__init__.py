"""The exercises of lesson 06, a file each."""
