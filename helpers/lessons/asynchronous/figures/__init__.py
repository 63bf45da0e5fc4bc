"""What the cells of lesson 06 draw, with captions and alt texts."""
