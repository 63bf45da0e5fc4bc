"""What the cells of lesson 01 draw, with captions and alt texts."""
