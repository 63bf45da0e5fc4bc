"""What the cells of lesson 11 draw, with captions and alt texts."""
