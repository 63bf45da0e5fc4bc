"""What the cells of lesson 17 draw, with captions and alt texts."""
