"""The exercises of lesson 02, a file each."""
