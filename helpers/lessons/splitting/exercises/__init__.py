"""The exercises of lesson 12, a file each."""
