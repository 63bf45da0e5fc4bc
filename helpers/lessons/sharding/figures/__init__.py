"""What the cells of lesson 14 draw, with captions and alt texts."""
