"""What the cells of lesson 00 draw, with captions and alt texts."""
