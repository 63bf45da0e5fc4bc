"""The exercises of lesson 08, a file each."""
