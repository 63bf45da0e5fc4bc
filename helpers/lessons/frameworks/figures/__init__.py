"""What the cells of lesson 04 draw, with captions and alt texts."""
