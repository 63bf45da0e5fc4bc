"""What a cell shows: figures, timelines, widgets, predictions."""
