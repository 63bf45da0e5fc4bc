"""The exercises of lesson 10, a file each."""
