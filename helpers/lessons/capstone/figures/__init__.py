"""What the cells of lesson 18 draw, with captions and alt texts."""
