"""What the cells of lesson 07 draw, with captions and alt texts."""
