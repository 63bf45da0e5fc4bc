"""The exercises of lesson 01, a file each."""
