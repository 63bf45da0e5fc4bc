"""What the cells of lesson 16 draw, with captions and alt texts."""
