"""What the cells of lesson 13 draw, with captions and alt texts."""
