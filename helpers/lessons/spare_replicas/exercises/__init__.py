"""The exercises of lesson 07, a file each."""
