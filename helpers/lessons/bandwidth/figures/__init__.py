"""What the cells of lesson 09 draw, with captions and alt texts."""
