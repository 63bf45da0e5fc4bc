"""The exercises of lesson 18, a file each."""
