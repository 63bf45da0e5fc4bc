"""From `solutions/` to `lessons/`, and a new lesson's skeleton."""
