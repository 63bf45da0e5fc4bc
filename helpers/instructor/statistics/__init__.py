"""One lesson over several terms: which exercises were right, and which mistakes were made."""
