"""What the cells of lesson 08 draw, with captions and alt texts."""
