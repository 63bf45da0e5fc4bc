"""The exercises of lesson 14, a file each."""
