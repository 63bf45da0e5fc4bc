"""What the cells of lesson 05 draw, with captions and alt texts."""
