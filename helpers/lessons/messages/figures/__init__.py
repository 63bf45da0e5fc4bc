"""What the cells of lesson 02 draw, with captions and alt texts."""
