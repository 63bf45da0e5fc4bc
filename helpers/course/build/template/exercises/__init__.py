"""The exercises of lesson NN, a file each."""
