"""The exercises of lesson 00, a file each."""
