"""The exercises of lesson 15, a file each."""
