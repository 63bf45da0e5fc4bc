"""What the cells of lesson 12 draw, with captions and alt texts."""
