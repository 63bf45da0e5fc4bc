"""What the cells of lesson 03 draw, with captions and alt texts."""
