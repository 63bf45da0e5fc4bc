"""What the cells of lesson 10 draw, with captions and alt texts."""
