"""The exercises of lesson 03, a file each."""
