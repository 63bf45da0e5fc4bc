"""The exercises of lesson 11, a file each."""
