"""The exercises of lesson 13, a file each."""
