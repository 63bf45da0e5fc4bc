"""The exercises of lesson 17, a file each."""
