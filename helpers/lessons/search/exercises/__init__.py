"""The exercises of lesson 16, a file each."""
