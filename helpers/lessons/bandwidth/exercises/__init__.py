"""The exercises of lesson 09, a file each."""
