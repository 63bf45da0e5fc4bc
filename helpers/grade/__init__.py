"""What an instructor uses: what students get, what they hand in, and the grades for it."""
