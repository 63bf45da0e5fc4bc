"""Data sets, models and published figures: small enough for a laptop, real enough to learn from."""
