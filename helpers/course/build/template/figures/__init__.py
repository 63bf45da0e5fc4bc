"""What the cells of lesson NN draw, with captions and alt texts."""
