"""What the cells of lesson 15 draw, with captions and alt texts."""
