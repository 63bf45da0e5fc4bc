"""Data, models and runs of the cells of lesson 18."""
