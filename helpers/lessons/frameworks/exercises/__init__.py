"""The exercises of lesson 04, a file each."""
